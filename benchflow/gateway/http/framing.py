"""Tells a body from what is around it, as its bytes arrive, for requests and responses alike. Pure."""

from typing import Protocol

LAST_CHUNK = b"0\r\n\r\n"
HELD = 64 * 1024
"""Bytes of a chunk that are waited for, so that it goes on as the one chunk that it was; longer ones go on in parts."""
LONGEST = 1 << 60
LINE_LIMIT = 16 * 1024
"""Bytes of the line before a chunk, and of a trailer."""


class BadFraming(ValueError):
    """The bytes are no body in the framing that was announced."""


class Piece(bytes):
    """Bytes of a body, with the chunks that they came in."""

    framed: bytes


class Framing(Protocol):
    done: bool
    """The body is complete."""
    surplus: bytes
    """What came after its end."""
    ends_with_connection: bool
    """The end of the connection is the end of the body, and no accident."""

    def feed(self, data: bytes) -> bytes:
        """Return the bytes of the body among those that have arrived. Raises BadFraming."""
        ...

    def rest(self) -> bytes:
        """Return what has arrived of the body and was held back, once nothing more can come."""
        ...


class Sized:
    """A body of known length."""

    ends_with_connection = False

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = length == 0
        self.surplus = b""

    def feed(self, data: bytes) -> bytes:
        self.surplus = data[self._left :]
        body = data[: self._left] if self.surplus else data
        self._left -= len(body)
        self.done = self._left == 0
        return body

    def rest(self) -> bytes:
        return b""


class UntilClose:
    """A body that ends with its connection."""

    done = False
    surplus = b""
    ends_with_connection = True

    def feed(self, data: bytes) -> bytes:
        return data

    def rest(self) -> bytes:
        return b""


class Chunked:
    """A body in chunks. What it gives knows the chunks that it came in."""

    ends_with_connection = False

    def __init__(self) -> None:
        self.done = False
        self.surplus = b""
        self._held = b""
        """A chunk, or a line, that has not come whole yet."""
        self._left = 0
        """Bytes that a long chunk under way still lacks, with its end."""
        self._trailers = False

    def feed(self, data: bytes) -> Piece:
        if self._held:
            data, self._held = self._held + data, b""
        bodies: list[bytes] = []
        frames: list[bytes] = []
        at = self._go_on(data, bodies, frames) if self._left else 0
        if not self._left and not self._trailers:
            try:
                at = self._take_chunks(data, at, bodies, frames)
            except BadFraming:
                raise
            except ValueError as exc:
                raise BadFraming(f"not the size of a chunk: {exc}") from exc
        if self._trailers and not self.done:
            at = self._take_trailers(data, at)
        if self.done:
            self.surplus = data[at:]
        elif not self._left:
            self._held = data[at:]
        piece = Piece(bodies[0] if len(bodies) == 1 else b"".join(bodies))
        piece.framed = frames[0] if len(frames) == 1 else b"".join(frames)
        return piece

    def rest(self) -> bytes:
        line, end, chunk = self._held.partition(b"\r\n")
        return chunk[: _chunk_size(line)] if end and not self._trailers else b""

    def _take_chunks(self, data: bytes, begin: int, bodies: list[bytes], frames: list[bytes]) -> int:
        """Take the chunks that are there whole, framed as they are but for extensions. Return where the rest begins.

        Raises ValueError.
        """
        at = begin
        while (line_end := data.find(b"\r\n", at)) >= 0:
            line = data[at:line_end]
            plain = line.isalnum()  # most have nothing but the size
            size = int(line, 16) if plain else _chunk_size(line)
            start = line_end + 2
            end = start + size
            if not size:
                self._trailers = True
                frames.append(data[begin:at])
                return start
            if end + 2 > len(data):
                frames.append(data[begin:at])
                if size <= HELD:
                    return at
                if size > LONGEST:
                    raise BadFraming(f"a chunk of {size:x} bytes")
                self._left = end + 2 - start
                return start + self._go_on(data[start:], bodies, frames)
            if data[end : end + 2] != b"\r\n":
                raise BadFraming("a chunk is longer than it says")
            bodies.append(data[start:end])
            if not plain:
                frames += (data[begin:at], write_chunk(bodies[-1]))
                begin = end + 2
            at = end + 2
        frames.append(data[begin:at])
        if len(data) - at > LINE_LIMIT:
            raise ValueError(f"{data[at : at + 80]!r}")
        return at

    def _go_on(self, data: bytes, bodies: list[bytes], frames: list[bytes]) -> int:
        """Take what there is of a long chunk, as a chunk of its own. Return where the rest begins."""
        taken = min(self._left, len(data))
        body = data[: min(max(self._left - 2, 0), len(data))]
        if body:
            bodies.append(body)
            frames.append(write_chunk(body))
        end = data[len(body) : taken]
        if end and end != b"\r\n"[2 - self._left + len(body) :][: len(end)]:
            raise BadFraming("a chunk is longer than it says")
        self._left -= taken
        return taken

    def _take_trailers(self, data: bytes, at: int) -> int:
        """Leave trailers out: they concern the connection alone."""
        while (end := data.find(b"\r\n", at)) >= 0:
            self.done = end == at
            at = end + 2
            if self.done:
                return at
        if len(data) - at > LINE_LIMIT:
            raise BadFraming("a trailer is too long")
        return at


def _chunk_size(line: bytes) -> int:
    """Read the line before a chunk. Raises ValueError."""
    size = line.partition(b";")[0].rstrip(b" \t")
    if not size.isalnum():
        raise ValueError(f"{line[:80]!r}")
    return int(size, 16)


def write_chunk(data: bytes) -> bytes:
    """Frame bytes as one chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)
