"""`--record`: wraps the upstream chain of a run, and writes down every exchange as it passes. Changes nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Self

import orjson

from benchflow.contracts import CostBreakdown
from benchflow.gateway.altered import altered
from benchflow.gateway.cassettes.cassette import Answer, Take, TrialId
from benchflow.gateway.cassettes.request import neutral_request, places_of
from benchflow.gateway.cassettes.streams import pack
from benchflow.gateway.cassettes.writer import Bases, CassetteFile
from benchflow.gateway.http.encoding import Undecodable, decode
from benchflow.gateway.http.http11 import HOP_BY_HOP
from benchflow.gateway.message import Assembled, Headers, RawRequest, RawResponse, UpstreamCut, find_header
from benchflow.gateway.prices import Pricing
from benchflow.gateway.upstream import TrialContext, Upstream
from benchflow.redact import Redactor

LEFT_OUT = HOP_BY_HOP | {"content-length", "content-encoding", "date", "set-cookie"}
"""Headers of a response that are of its own connection, of its own day, or secret."""
_EVENT = re.compile(rb".*?\n\r?\n|.+", re.DOTALL)
_MEMORY = "cassette recorder"


@dataclass
class _Memory:
    """What is known of one try."""

    counts: dict[str, int] = field(default_factory=dict)
    """How many requests of each role have come."""
    bases: dict[str, Bases] = field(default_factory=dict)


class CassetteRecorder:
    """Records what one upstream answers."""

    def __init__(self, upstream: Upstream, file: CassetteFile, *, pricing: Pricing, redactor: Redactor) -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self._upstream = upstream
        self._file = file
        self._pricing = pricing
        self._redactor = redactor

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Send the request on. Raises UpstreamCut."""
        memory: _Memory = context.memory.setdefault(_MEMORY, _Memory())
        index = memory.counts.get(context.role, 0)
        memory.counts[context.role] = index + 1
        take = Take(
            trial=TrialId(context.scenario_id, context.iteration, context.attempt),
            role=context.role,
            index=index,
            prompt=context.prompt,
            request=neutral_request(request, context, self._redactor.fresh()),
            answer=Answer(),
        )
        try:
            response = await self._upstream.send(request, context)
        except UpstreamCut as cut:
            self._write(take, context, Answer(cut=str(cut)))
            raise
        return altered(response, chunks=_Taped(self, response, take, context))

    def ended(
        self, take: Take, context: TrialContext, response: RawResponse, chunks: Sequence[bytes], cut: str | None
    ) -> None:
        """Write down an exchange whose response is over."""
        coding = find_header(response.headers, "content-encoding")
        withheld = None
        try:
            plain = _decoded(chunks, response.headers) if coding else list(chunks)
        except Undecodable as exc:
            plain, withheld = [], str(exc)
        assembled = _assemble(b"".join(plain), context)
        if assembled and self._is_spread(b"".join(plain), assembled):
            plain, withheld = [], "a secret is spread over several pieces of the stream"
        answer = Answer(
            status=response.status,
            reason="" if response.reason == _usual_reason(response.status) else response.reason,
            headers=tuple((name, value) for name, value in response.headers if name.lower() not in LEFT_OUT),
            coding=coding,
            chunks=pack(plain, places_of(context)),
            cut=cut,
            origin=response.origin,
            unplayable=response.unplayable,
            withheld=withheld,
            cost=self._cost(context, assembled, response),
        )
        self._write(altered(take, says={} if withheld else _says(assembled, context)), context, answer)

    def _write(self, take: Take, context: TrialContext, answer: Answer) -> None:
        memory: _Memory = context.memory[_MEMORY]
        self._file.write(altered(take, answer=answer), memory.bases.setdefault(take.role, Bases()))

    def _is_spread(self, raw: bytes, assembled: Assembled) -> bool:
        """Whether there is a secret in what the answer says that cannot be replaced in its bytes."""
        redactor = self._redactor.fresh()
        clean = redactor.redact(raw)
        return clean is raw and assembled.body is not None and redactor.finds(orjson.dumps(assembled.body))

    def _cost(self, context: TrialContext, assembled: Assembled | None, response: RawResponse) -> CostBreakdown | None:
        if assembled is None or response.cost:
            return response.cost
        asked = context.parsed.model if context.parsed else None
        return self._pricing.price((assembled.model, asked), assembled.tokens, datetime.now(UTC).isoformat())

    async def aclose(self) -> None:
        """Close what is behind it, and finish the file."""
        try:
            await self._upstream.aclose()
        finally:
            self._file.finish()


class _Taped:
    """A body whose chunks are kept as they pass. The exchange is written down when it is closed."""

    def __init__(self, recorder: CassetteRecorder, response: RawResponse, take: Take, context: TrialContext) -> None:
        self._recorder = recorder
        self._response = response
        self._take = take
        self._context = context
        self._chunks: list[bytes] = []
        self._cut: str | None = None
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._response.chunks.__anext__()
        except UpstreamCut as cut:
            self._cut = str(cut)
            raise
        self._chunks.append(chunk)
        return chunk

    async def aclose(self) -> None:
        """Write the exchange down, and let go of the sender."""
        try:
            if not self._closed:
                self._closed = True
                self._recorder.ended(self._take, self._context, self._response, self._chunks, self._cut)
        finally:
            await self._response.chunks.aclose()


def _decoded(chunks: Sequence[bytes], headers: Headers) -> list[bytes]:
    """Undo the coding; what was one stream comes in its events, or as one chunk. Raises Undecodable."""
    body = decode(b"".join(chunks), headers)
    is_stream = "event-stream" in (find_header(headers, "content-type") or "")
    return _EVENT.findall(body) if is_stream else [body]


def _assemble(body: bytes, context: TrialContext) -> Assembled | None:
    if context.dialect is None or context.route is None or context.route.kind != "generate":
        return None
    assembler = context.dialect.assembler()
    assembler.feed(body)
    return assembler.result()


def _says(assembled: Assembled | None, context: TrialContext) -> dict[str, Any]:
    """Tell readers of the file what the answer says, in one piece."""
    if assembled is None:
        return {}
    places = places_of(context)
    told: dict[str, Any] = {"thought": assembled.thought, "text": assembled.text}
    if assembled.tool_calls:
        told["calls"] = [{call.name: call.arguments} for call in assembled.tool_calls]
    neutral = {name: value for name, value in told.items() if value}
    return orjson.loads(places.neutral(orjson.dumps(neutral).decode())[0])


def _usual_reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
