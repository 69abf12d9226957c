"""Stores the bodies of one trial's log: short ones in its lines, long ones in files beside it, all without secrets."""

from collections.abc import Callable
from pathlib import Path

from benchflow.gateway.assembly import Assembly, JsonAssembler
from benchflow.gateway.bodies import BodyStore, Stored
from benchflow.gateway.bodyfiles import BodyFile
from benchflow.gateway.dialect import Assembler, Dialect
from benchflow.gateway.encoding import Undecodable, decode
from benchflow.gateway.message import Headers, RawRequest
from benchflow.gateway.tape import CODED, Tape
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
