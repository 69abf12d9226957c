"""The lines of `llm.jsonl`, one exchange each: how they are written, and how everything is got back from them."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from benchflow.contracts import CostBreakdown, LimitHit, TokenBreakdown
from benchflow.errors import InputError
from benchflow.gateway.dialects.queries import hide_credentials
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.handling import Attempt, PlayedFault
from benchflow.gateway.http.intake import Intake
from benchflow.gateway.message import Assembled, Change, Exchange, Headers, ModelRequest, RawRequest
from benchflow.gateway.reading import plain
from benchflow.gateway.records.assembly import Assembly
from benchflow.gateway.records.bodies import BodyReader, Stored, restorable, restore, restore_pieces

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One side of an exchange as it is stored."""

    headers: Headers
    stored: Stored
    size: int
    """Bytes of the real body."""
    sha256: str
    """Of the real body, before anything was redacted."""


def write_line(
    exchange: Exchange,
    *,
    trial: str,
    attempt: int,
    upstream: str,
    dialect: str | None,
    request: RawRequest,
    received: Recorded,
    sha256_forwarded: str | None,
    response: Recorded | None,
    body: Any,
    note: str | None = None,
) -> bytes:
    """Write one exchange as a line of JSON. `body` is the response as one value, streamed or not; `note` says why it is
    not there, although it might.
    """
    line = {
        "schema": SCHEMA,
        "id": exchange.id,
        "seq": exchange.seq,
        "trial": trial,
        "try": attempt,
        "ts": exchange.ts,
        "mono_ms": exchange.mono_ms,
        "ttft_ms": exchange.ttft_ms,
        "duration_ms": exchange.duration_ms,
        "dialect": dialect,
        "kind": exchange.kind,
        "method": request.method,
        "path": request.path,
        "query": hide_credentials(request.query),
        "role": exchange.role,
        "role_reason": exchange.role_reason,
        "turn": exchange.turn,
        "after_prompt": exchange.after_prompt,
        "held_ms": exchange.held_ms,
        "attempts": exchange.attempts,
        "fault": exchange.fault,
        "limit": exchange.limit,
        "stopped": exchange.stopped,
        "origin": exchange.origin,
        "status": exchange.status,
        "end": exchange.end,
        "error": exchange.answer.error,
        "model": {"asked": exchange.model_asked, "sent": exchange.model_sent, "answered": exchange.model_answered},
        "request": {
            "headers": received.headers,
            "body": received.stored,
            "bytes": received.size,
            "sha256_received": received.sha256,
            "sha256_forwarded": sha256_forwarded,
        },
        "changes": exchange.changes,
        "response": None
        if response is None
        else {
            "headers": response.headers,
            "body": body,
            **({"note": note} if note else {}),
            "raw": response.stored,
            "bytes": response.size,
            "sha256": response.sha256,
        },
        "usage": exchange.tokens,
        "usage_source": "response" if exchange.tokens else None,
        "cost": exchange.cost,
        "upstream": upstream,
    }
    return orjson.dumps(line) + b"\n"


@dataclass(frozen=True)
class RecordedExchange:
    """One line of `llm.jsonl`, with its bodies within reach."""

    line: Mapping[str, Any]
    """The line as it was written."""
    bodies: BodyReader
    folder: Path
    """Where the log is, and the files of long bodies."""

    @property
    def id(self) -> str:
        return self.line["id"]

    @property
    def seq(self) -> int:
        return self.line["seq"]

    @cached_property
    def request_body(self) -> bytes | None:
        """The request's body as the agent sent it, secrets replaced; None: it was withheld."""
        return self.bodies.body(self.seq)

    @cached_property
    def response_body(self) -> bytes | None:
        """The response's body as it was passed on, secrets replaced; None: there was none, or it was withheld."""
        response = self.line["response"]
        return None if response is None else restore(response["raw"], self.folder)

    @property
    def request(self) -> RawRequest:
        """The request as it came in; its body is empty where it was withheld."""
        return replace(self._head, body=self.request_body or b"")

    @property
    def _head(self) -> RawRequest:
        return RawRequest(
            method=self.line["method"],
            path=self.line["path"],
            query=self.line["query"],
            headers=_headers(self.line["request"]["headers"]),
            body=b"",
            changes=self.changes,
        )

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was changed in the request."""
        return tuple(Change(**change) for change in self.line["changes"])

    @cached_property
    def parsed(self) -> ModelRequest | None:
        """What the request says; None: it is no generate request, or cannot be read."""
        dialect = DIALECTS.get(self.line["dialect"] or "")
        if dialect is None or self.line["kind"] != "generate":
            return None
        try:
            return dialect.read(plain(self._readable))
        except ValueError:
            return None

    @property
    def _readable(self) -> RawRequest:
        """The request, with the short form of a long body."""
        stored = self.line["request"]["body"]
        if stored is None or "file" not in stored:
            return self.request
        headers = _headers(self.line["request"]["headers"])
        with closing(Intake(headers, None)) as intake:
            for piece in restore_pieces(stored, self.folder):
                intake.take(piece)
            body, long = intake.body()
        return replace(self._head, body=body, long=long)

    @cached_property
    def answer(self) -> Assembled:
        """What was made of the response."""
        dialect = DIALECTS.get(self.line["dialect"] or "")
        response = self.line["response"]
        if dialect is None or response is None or self.line["kind"] != "generate":
            return Assembled(body=response and response["body"], error=self.line["error"])
        if restorable(response["raw"]):
            assembly = Assembly(dialect.assembler, _headers(response["headers"]))
            pieces = restore_pieces(response["raw"], self.folder)
        else:
            assembly = Assembly(dialect.assembler, ())
            pieces = (orjson.dumps(response["body"]),) if response["body"] is not None else ()
        for piece in pieces:
            assembly.feed(piece)
        return assembly.result()

    @property
    def exchange(self) -> Exchange:
        """The exchange as observers saw it when it ended."""
        line = self.line
        usage, cost = line["usage"], line["cost"]
        return Exchange(
            **{name: line[name] for name in _SAME},
            model_asked=line["model"]["asked"],
            model_sent=line["model"]["sent"],
            model_answered=line["model"]["answered"],
            answer=self.answer,
            tokens=TokenBreakdown(**usage) if usage else None,
            cost=CostBreakdown(**cost),
            changes=self.changes,
            sha256_received=line["request"]["sha256_received"],
            sha256_forwarded=line["request"]["sha256_forwarded"],
            held_ms=line["held_ms"],
            attempts=tuple(Attempt(**attempt) for attempt in line["attempts"]),
            fault=PlayedFault(**line["fault"]) if line["fault"] else None,
            limit=LimitHit(**line["limit"]) if line.get("limit") else None,
            stopped=line.get("stopped", False),
        )


_SAME = (
    "id",
    "seq",
    "kind",
    "path",
    "ts",
    "mono_ms",
    "duration_ms",
    "ttft_ms",
    "role",
    "role_reason",
    "turn",
    "origin",
    "status",
    "end",
    "after_prompt",
)


def _headers(pairs: list[list[str]]) -> Headers:
    return tuple((name, value) for name, value in pairs)


def read_exchanges(path: Path) -> Iterator[RecordedExchange]:
    """Read `llm.jsonl` in the order in which exchanges ended. A last line that was cut in mid-write is left out.

    Raises InputError for any other bad line, and where there is no such file.
    """
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise InputError(f"{path}: cannot be read ({exc.strerror}); a trial with captured exchanges has one") from exc
    bodies = BodyReader(path.parent)
    *lines, rest = content.split(b"\n")
    for number, text in enumerate(lines, start=1):
        yield _read_line(path, number, text, bodies)
    if rest:
        try:
            yield _read_line(path, len(lines) + 1, rest, bodies)
        except InputError:
            return  # the writer was killed here


def _read_line(path: Path, number: int, text: bytes, bodies: BodyReader) -> RecordedExchange:
    try:
        line = orjson.loads(text)
        schema = line["schema"]
        bodies.add(line["seq"], line["request"]["body"])
    except (ValueError, KeyError, TypeError) as exc:
        raise InputError(f"{path}: line {number} is no exchange ({exc}); restore the file or delete the line") from exc
    if schema > SCHEMA:
        raise InputError(f"{path}: line {number} has schema {schema}; this BenchFlow reads up to {SCHEMA}: upgrade it")
    return RecordedExchange(line, bodies, path.parent)
