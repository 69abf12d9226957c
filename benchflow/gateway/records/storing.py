"""Stores the bodies of one trial's log: short ones in its lines, long ones in files beside it, all without secrets."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from benchflow.gateway.dialects.dialect import Assembler, Dialect
from benchflow.gateway.http.encoding import Undecodable, decode
from benchflow.gateway.message import Headers, RawRequest
from benchflow.gateway.records.assembly import Assembly, JsonAssembler
from benchflow.gateway.records.bodies import BodyStore, Stored
from benchflow.gateway.records.bodyfiles import BodyFile, stored_body
from benchflow.gateway.records.scrubbing import Scrubber
from benchflow.gateway.records.tape import CODED, Tape
from benchflow.redact import Redactor


class Storage:
    """Where the bodies of one trial go."""

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        self._folder = folder
        self._redactor = redactor
        self._bodies = BodyStore(redactor)

    def request(self, seq: int, request: RawRequest) -> Stored:
        """Store the request's own bytes, unless they are compressed and a secret is, or may be, in them."""
        if request.header("content-encoding") and self._may_hide(request.body, request.headers):
            return {"withheld": CODED}
        return self._bodies.store(seq, request.body)

    async def long_request(self, seq: int, request: RawRequest) -> Stored:
        """Store a long request in a file of its own, while others have their turns. Raises InputError."""
        if request.long is None:
            return self.request(seq, request)
        spool = request.long.spool
        if spool.trouble:
            raise spool.trouble
        if request.header("content-encoding") and not await self._is_clean(request):
            return {"withheld": CODED}
        if name := stored_body(self._folder, spool.sha256):
            return {"file": name}  # sent again
        file = BodyFile(self._folder, f"{seq}-request", self._redactor)
        try:
            for piece in spool.pieces(0, spool.size):
                file.write(piece)
                await asyncio.sleep(0)
            file.finish()
            return {"file": file.keep(spool.sha256)}
        except BaseException:
            file.drop()
            raise

    async def _is_clean(self, request: RawRequest) -> bool:
        """Whether a long coded body can be read to its end, and has no secret in it."""
        plain = request.long and request.long.plain
        if not plain or plain is request.long or not request.body:
            return False
        sought = Scrubber(self._redactor.fresh())
        for piece in plain.pieces():
            sought.feed(piece)
            await asyncio.sleep(0)
        sought.end()
        return not sought.found

    def _may_hide(self, body: bytes, headers: Headers) -> bool:
        try:
            return self._redactor.finds(decode(body, headers))
        except Undecodable:
            return True

    def tape(self, seq: int, headers: Headers, dialect: Dialect | None) -> Tape:
        """Begin to take a response down. Without a dialect it is no answer of a model."""
        assembler: Callable[[], Assembler] = dialect.assembler if dialect else JsonAssembler
        assembly = Assembly(assembler, headers, self._redactor)
        return Tape(self._redactor, assembly, lambda: BodyFile(self._folder, f"{seq}-response", self._redactor))
