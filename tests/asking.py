"""Asks an upstream without a wire between: one request of a trial, understood as the gateway does, read to its end."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from wire import CHAT, MODEL, PROMPT, chat_body

from benchflow.gateway.altered import altered
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.handling import Handling
from benchflow.gateway.message import Chunks, ModelAnswer, RawRequest, RawResponse, UpstreamCut
from benchflow.gateway.reading import understand
from benchflow.gateway.upstream import TrialContext, Upstream


@dataclass(frozen=True, kw_only=True)
class Got:
    """What a request got."""

    status: int
    headers: dict[str, str]
    chunks: tuple[bytes, ...]
    handling: Handling
    cut: str | None = None
    """Why the answer broke off; None: it did not."""

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


async def ask(upstream: Upstream, trial: str = "trial-0001", *, handling: Handling | None = None, **more: Any) -> Got:
    """Send a chat completion request and read what comes of its answer. Raises UpstreamCut where there is none."""
    request = RawRequest(
        method=more.pop("method", "POST"),
        path=more.pop("path", CHAT),
        query="",
        headers=(("Host", "gateway"),),
        body=more.pop("body", None) or chat_body(),
    )
    known = understand(request, TrialContext(trial=trial, attempt=1, model=MODEL, prompts=(PROMPT,), **more), DIALECTS)
    handling = handling or Handling()
    response = await upstream.send(request, altered(known, handling=handling))
    chunks, broken = [], None
    try:
        async for chunk in response.chunks:
            chunks.append(chunk)  # noqa: PERF401 - what came before a cut is kept
    except UpstreamCut as cut:
        broken = str(cut)
    finally:
        await response.chunks.aclose()
    headers = {name.lower(): value for name, value in response.headers}
    return Got(status=response.status, headers=headers, chunks=tuple(chunks), handling=handling, cut=broken)


@dataclass
class Failing:
    """An upstream that gives its answers in order, whoever asks, and a good one when they are used up."""

    answers: list[RawResponse | UpstreamCut]
    name: str = "failing"
    priced_as: str | None = None
    begun: list[str] = field(default_factory=list)
    """The trials of the requests, in order."""

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        assert context.dialect
        assert context.parsed
        self.begun.append(context.trial)
        context.on_sent(request)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, UpstreamCut):
            raise answer
        return answer or context.dialect.write(ModelAnswer(text="Hello"), context.parsed)

    async def aclose(self) -> None: ...


def refusal(status: int, text: str = "not now", *, body: bytes = b"", **headers: str) -> RawResponse:
    """A refusal of an upstream."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    content = body or json.dumps({"error": {"message": text}}).encode()
    return RawResponse(status=status, headers=named, chunks=Chunks([content]))


@dataclass
class Gated:
    """An upstream that answers when the test opens the gate, and knows which requests have begun."""

    name: str = "gated"
    priced_as: str | None = None
    begun: list[str] = field(default_factory=list)
    """Their trials, in order."""
    at_once: int = 0
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        assert context.dialect
        self.begun.append(context.trial)
        self.at_once += 1
        try:
            await self.gate.acquire()
        finally:
            self.at_once -= 1
        if context.parsed is None:
            return context.dialect.write_models([MODEL])
        return context.dialect.write(ModelAnswer(text="Hello"), context.parsed)

    async def aclose(self) -> None: ...
