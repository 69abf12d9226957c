"""Makes one value of a response of any length, in bounded memory: of a very long one not all, but what counts.

Pictures and files in base64 are cut first. What is too long all the same is read in parts, if it is a stream: texts
and calls are then those of the first part, and the usage is that of all.
"""

from collections.abc import Callable
from dataclasses import replace

import orjson

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.dialect import Assembler
from benchflow.gateway.dialects.refusals import refuses_content
from benchflow.gateway.http.encoding import Decoder, Undecodable
from benchflow.gateway.message import Assembled, Headers, find_header
from benchflow.gateway.records.eliding import Eliding
from benchflow.gateway.records.scrubbing import Scrubber
from benchflow.redact import Redactor

LONGEST = 16 << 20
"""Bytes of a decoded body that are read at once."""


class Assembly:
    """Reads a response while it passes by. With a redactor it also says whether there are secrets in it."""

    def __init__(self, assembler: Callable[[], Assembler], headers: Headers, redactor: Redactor | None = None) -> None:
        self.shortened = False
        """Not all of the body is in the result."""
        self.spread = False
        """A secret is spread over several pieces of the stream."""
        self.written: bytes | None = None
        """The result's body as JSON; None where there is none."""
        self._assembler = assembler
        self._redactor = redactor
        self._undecodable: str | None = None
        self._decoder: Decoder | None = None
        try:
            self._decoder = Decoder(headers)
        except Undecodable as exc:
            self._undecodable = str(exc)
        coded = redactor and find_header(headers, "content-encoding")
        self._sought = Scrubber(redactor.fresh()) if redactor and coded else None
        self._eliding: Eliding | None = None
        self._pieces: list[bytes] = []
        self._size = 0
        self._first: Assembled | None = None
        self._hopeless = False

    @property
    def hides(self) -> bool:
        """A secret is in the coded body, or may be."""
        return self._sought is not None and (self._sought.found or self._undecodable is not None)

    def feed(self, raw: bytes) -> None:
        """Take the next bytes of the body, as they came."""
        if self._decoder is None:
            return
        try:
            for text in self._decoder.feed(raw):
                self._take(text)
        except Undecodable as exc:
            self._undecodable, self._decoder = str(exc), None

    def result(self) -> Assembled:
        """Return what was made of all bytes; its body is None where it is not whole."""
        if self._sought:
            self._sought.end()
        if self._undecodable:
            return Assembled(body=None, error=self._undecodable)
        if self._hopeless:
            return Assembled(body=None, complete=True)
        last = self._assemble(b"".join(self._pieces))
        if self._first:
            last = _joined(self._first, last)
        return replace(last, body=None) if self.shortened else last

    def _take(self, text: bytes) -> None:
        if self._sought:
            self._sought.feed(text)
        if self._hopeless:
            return
        self._pieces.append(self._eliding.feed(text) if self._eliding else text)
        self._size += len(self._pieces[-1])
        if self._size > LONGEST:
            self._shorten()

    def _shorten(self) -> None:
        self.shortened = True
        text = b"".join(self._pieces)
        if self._eliding is None:
            self._eliding = Eliding()
            text = self._eliding.feed(text)
        if len(text) > LONGEST // 2:
            text = self._part(text)
        self._pieces, self._size = [text], len(text)

    def _part(self, text: bytes) -> bytes:
        """Read the events that are there whole. Return the rest."""
        end = max(text.rfind(b"\n\n") + 2, text.rfind(b"\r\n\r\n") + 4)
        if end < 4 or text.lstrip()[:1] in (b"{", b"["):
            self._hopeless = True
            return b""
        part = self._assemble(text[:end])
        self._first = _joined(self._first, part) if self._first else part
        return text[end:]

    def _assemble(self, text: bytes) -> Assembled:
        assembler = self._assembler()
        assembler.feed(text)
        part = assembler.result()
        if part.error and refuses_content(text):
            part = replace(part, refused=True)
        try:
            self.written = orjson.dumps(part.body) if part.body is not None else None
        except orjson.JSONEncodeError:
            self.written = None
            part = replace(part, body=None, tool_calls=(), error=part.error or "it is nested too deeply to be kept")
        if self._redactor and self.written:
            self.spread = self.spread or self._redactor.finds(self.written)
        return part


class JsonAssembler:
    """Reads what is no answer of a model: the body as it is, where it is JSON."""

    def __init__(self) -> None:
        self._content = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        self._content += chunk

    def result(self) -> Assembled:
        """Return what was made of all bytes so far."""
        try:
            return Assembled(body=orjson.loads(self._content), complete=True)
        except ValueError:
            return Assembled(body=None, complete=True)


def _joined(first: Assembled, last: Assembled) -> Assembled:
    return replace(
        first,
        body=None,
        model=first.model or last.model,
        finish=last.finish or first.finish,
        tokens=_most(first.tokens, last.tokens),
        complete=last.complete,
        error=first.error or last.error,
        refused=first.refused or last.refused,
    )


def _most(first: TokenBreakdown | None, last: TokenBreakdown | None) -> TokenBreakdown | None:
    """Each count as it was said last: streams count upwards, and some say the input at the beginning alone."""
    if first is None or last is None:
        return first or last
    return TokenBreakdown.of(
        input=max(first.input, last.input),
        output=max(first.output, last.output),
        reasoning=max(first.reasoning, last.reasoning),
        cache_read=max(first.cache_read, last.cache_read),
        cache_write=max(first.cache_write, last.cache_write),
    )
