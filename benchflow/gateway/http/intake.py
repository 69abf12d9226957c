"""Takes a request's body in: in memory while it is short, into a spool from then on, with a short form to be read."""

from pathlib import Path

from benchflow.gateway.http.encoding import Decoder, Undecodable
from benchflow.gateway.http.spool import LongBody, Spool
from benchflow.gateway.message import Headers, find_header
from benchflow.gateway.records.eliding import Eliding

SHORT = 16 << 20
"""Bytes of a body that are kept in memory, and of the short form of a long one."""
BATCH = 256 * 1024
"""Bytes of a long body that are worked on together."""
MOST = 1 << 30
"""Bytes that a coded body may stand for, to be read."""


class Intake:
    """One body. Whoever makes it closes it."""

    def __init__(self, headers: Headers, folder: Path | None) -> None:
        self._headers = headers
        self._folder = folder
        self._pieces: list[bytes] = []
        self._size = self._waiting = 0
        self._spool: Spool | None = None
        self._text: Spool | None = None
        """The body decoded, where it is coded."""
        self._decoder: Decoder | None = None
        self._eliding = Eliding()
        self._short: list[bytes] = []
        self._shown = 0
        self._unread = False

    def take(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._size += len(piece)
        self._waiting += len(piece)
        self._pieces.append(piece)
        if self._waiting > (BATCH if self._spool else SHORT):
            self._unroll()

    def body(self) -> tuple[bytes, LongBody | None]:
        """Return the body, or the short form of a long one and where it lies; empty where it cannot be read."""
        if self._spool is None:
            return (self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)), None
        self._unroll()
        plain = LongBody(self._text, self._eliding.cuts) if self._text and not self._unread else None
        long = LongBody(self._spool, () if plain else self._eliding.cuts, plain)
        return b"" if self._unread else b"".join(self._short), long

    def close(self) -> None:
        """Let go of the files."""
        for spool in (self._spool, self._text):
            if spool:
                spool.close()

    def _unroll(self) -> None:
        if self._spool is None:
            self._spool = Spool(self._folder)
            if find_header(self._headers, "content-encoding"):
                self._begin_decoding()
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        self._spool.write(data)
        if self._unread:
            return
        try:
            for text in self._decoder.feed(data) if self._decoder else (data,):
                self._read(text)
        except Undecodable:
            self._give_up()

    def _begin_decoding(self) -> None:
        self._text = Spool(self._folder)
        try:
            self._decoder = Decoder(self._headers)
        except Undecodable:
            self._give_up()

    def _read(self, text: bytes) -> None:
        if self._text:
            self._text.write(text)
        self._short.append(self._eliding.feed(text))
        self._shown += len(self._short[-1])
        if self._shown > SHORT or (self._text and (self._text.trouble or self._text.size > MOST)):
            self._give_up()

    def _give_up(self) -> None:
        self._unread = True
        self._short.clear()
