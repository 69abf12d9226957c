"""Takes a response down while it passes by: in memory while it is short, into a file of its own from then on."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from benchflow.errors import InputError
from benchflow.gateway.message import Assembled
from benchflow.gateway.records.assembly import Assembly
from benchflow.gateway.records.bodies import Stored, store_compressed
from benchflow.gateway.records.bodyfiles import BodyFile
from benchflow.redact import Redactor

SHORT = 1 << 20
"""Bytes of a response that are kept in memory, and of an assembled body that stand in the log's line."""
BATCH = 256 * 1024
"""Bytes of a long response that are worked on together."""

CODED = "a secret is in the compressed body, or may be"
SPREAD = "a secret is spread over several pieces of the stream"
TOO_LONG = "too long to be shown as one value"


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A response, taken down."""

    stored: Stored
    """Its own bytes."""
    size: int
    sha256: str
    answer: Assembled
    body: Any
    """The response as one value, as JSON that is written already; None: there is none."""
    note: str | None
    """Why there is none, although there might."""


class Tape:
    """One response. Whoever makes it ends it."""

    def __init__(self, redactor: Redactor, assembly: Assembly, begin_file: Callable[[], BodyFile]) -> None:
        self.size = 0
        self._redactor = redactor
        self._assembly = assembly
        self._begin_file = begin_file
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._file: BodyFile | None = None
        self._digest = sha256()
        self._unwritten: str | None = None

    def take(self, piece: bytes) -> None:
        """Take the next bytes. Raises InputError, once, where a file cannot be written; it goes on without it."""
        self._pieces.append(piece)
        self.size += len(piece)
        self._waiting += len(piece)
        if self._waiting > (SHORT if self.size == self._waiting else BATCH):
            self._unroll()

    def end(self) -> Taken:
        """Return what became of it. Raises InputError where a file cannot be written; it may then be asked again."""
        if self.size == self._waiting:
            return self._short(b"".join(self._pieces))
        self._unroll()
        answer = self._assembly.result()
        return self._taken(self._store_file(), answer)

    def _short(self, raw: bytes) -> Taken:
        self._digest.update(raw)
        self._assembly.feed(raw)
        answer = self._assembly.result()
        return self._taken(self._store_short(raw), answer)

    def _store_short(self, raw: bytes) -> Stored:
        if self._assembly.hides:
            return {"withheld": CODED}
        clean = self._redactor.redact(raw)
        if clean is raw and self._assembly.spread:
            return {"withheld": SPREAD}
        return store_compressed(clean)

    def _store_file(self) -> Stored:
        file, self._file = self._file, None
        if file is None:
            return {"withheld": self._unwritten}
        try:
            file.finish()
            if self._assembly.hides or (self._assembly.spread and not file.scrubbed):
                file.drop()
                return {"withheld": CODED if self._assembly.hides else SPREAD}
            return {"file": file.keep(self._digest.hexdigest())}
        except InputError as exc:
            self._lose(file, exc)
            raise

    def _unroll(self) -> None:
        """Pass what waits on to the file and to the assembly."""
        raw = b"".join(self._pieces)
        first = self._waiting == self.size
        self._pieces.clear()
        self._waiting = 0
        self._digest.update(raw)
        self._assembly.feed(raw)
        try:
            if first:
                self._file = self._begin_file()
            if self._file:
                self._file.write(raw)
        except InputError as exc:
            self._lose(self._file, exc)
            raise

    def _lose(self, file: BodyFile | None, error: InputError) -> None:
        self._unwritten = str(error)
        self._file = None
        if file:
            file.drop()

    def _taken(self, stored: Stored, answer: Assembled) -> Taken:
        body = self._assembly.written
        long = self._assembly.shortened or (body is not None and len(body) > SHORT)
        return Taken(
            stored=stored,
            size=self.size,
            sha256=self._digest.hexdigest(),
            answer=answer,
            body=None if body is None or long else orjson.Fragment(body),
            note=TOO_LONG if long else None,
        )
