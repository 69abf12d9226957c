"""Takes the secrets out of a body while it passes by, in pieces of any size."""

from benchflow.redact import Redactor, mark

BLOCK = 256 * 1024
"""Bytes that are looked at together."""
MOST = 4 << 20
"""Bytes that are held back because a secret goes on in them, at most."""
BEFORE = 64
"""Bytes that are looked at again: what stands before a secret tells whether it is one."""


class Scrubber:
    """Replaces secrets as a redactor does, wherever a body is cut in pieces."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._before = b""
        self._held: list[bytes] = []
        self._size = 0
        self.found = False
        """A secret was replaced."""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes; return what is surely clean of those so far."""
        self._held.append(data)
        self._size += len(data)
        if self._size < BLOCK + 2 * self._redactor.longest:
            return b""
        return self._clean(self._size - self._redactor.longest)  # a secret may begin in what is still to come

    def end(self) -> bytes:
        """Return the rest."""
        return self._clean(self._size)

    def _clean(self, until: int) -> bytes:
        data = b"".join((self._before, *self._held))
        first = len(self._before)
        until += first
        spans = [span for span in self._redactor.find(data) if span.end > first]
        crossing = next((span.start for span in spans if span.start < until < span.end), until)
        if len(data) < MOST:
            until = max(crossing, first)
        clean, at = [], first
        for start, end, category in spans:
            if start < until:
                clean += [data[at:start], mark(category)]
                self._redactor.counts[category] += 1
                self.found = True
                at = min(end, until)
        clean.append(data[at:until])
        self._before, self._held = data[max(0, until - BEFORE) : until], [data[until:]]
        self._size = len(data) - until
        return b"".join(clean)
