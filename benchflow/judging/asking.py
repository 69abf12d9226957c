"""Asks one question of a model behind a gateway, in the dialect that its upstream speaks, and meters the answer."""

from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

import anyio
import orjson

from benchflow.contracts import JudgeRequest, JudgeResponse
from benchflow.errors import TrialError
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.http.client import HttpClient
from benchflow.gateway.message import Exchange, Headers, UpstreamCut
from benchflow.gateway.upstreams.spoken import PATHS
from benchflow.report.text import one_line

SPOKEN = ("openai-completions", "anthropic-messages")
"""The dialects that we ask in; of those that an upstream speaks the first is taken."""
PATIENCE_S = 900.0
"""For one answer, with all that the gateway repeats for it."""
ENTERED_S = 10.0
"""For an exchange that is over to be entered in the log."""
_REFUSING = frozenset({"content_filter", "refusal"})


class NoAnswer(TrialError):
    """A judge gave no answer; what it took all the same is to be metered."""

    def __init__(self, message: str, spent: JudgeResponse | None = None) -> None:
        super().__init__("scorer", message)
        self.spent = spent


class LastExchange:
    """The exchange that ended last."""

    def __init__(self) -> None:
        self._there = anyio.Event()
        self._last: Exchange | None = None

    def add(self, exchange: Exchange) -> None:
        """An exchange has ended."""
        self._last = exchange
        self._there.set()

    async def take(self) -> Exchange:
        """Wait for the next one."""
        await self._there.wait()
        self._there = anyio.Event()
        assert self._last is not None
        return self._last


@dataclass(frozen=True, kw_only=True)
class Asker:
    """A judge at the other end of a gateway's socket. One question at a time."""

    id: str
    client: HttpClient
    base: str
    """The gateway's address, without a path."""
    key: str
    """What the gateway lets in."""
    dialect: str
    cap: str
    """What chat completions of the provider call the most tokens of an answer."""
    ended: LastExchange
    """Is told of each exchange by the gateway."""

    async def judge(self, request: JudgeRequest) -> JudgeResponse:
        """Ask. Raises NoAnswer where the upstream fails or refuses."""
        try:
            with anyio.fail_after(PATIENCE_S):
                exchange = await self._ask(request)
        except TimeoutError as exc:
            raise NoAnswer(f"no answer in {PATIENCE_S:g} s") from exc
        response = JudgeResponse(text=exchange.answer.text, tokens=exchange.tokens, cost=exchange.cost)
        if complaint := complaint_of(exchange):
            raise NoAnswer(complaint, response)
        return response

    async def _ask(self, request: JudgeRequest) -> Exchange:
        """Send the request, and return its exchange as the gateway entered it."""
        url = self.base + PATHS[self.dialect]
        body = orjson.dumps(write_body(self.dialect, request, cap=self.cap))
        with suppress(UpstreamCut):  # then the exchange says what broke
            _, chunks = await self.client.send("POST", url, self._headers(), body, lambda: None)
            async with aclosing(chunks):
                async for _ in chunks:
                    pass
        with anyio.move_on_after(ENTERED_S):
            return await self.ended.take()
        raise NoAnswer("its answer could not be put on record")

    def _headers(self) -> Headers:
        dialect = DIALECTS[self.dialect]
        named = (("anthropic-version", "2023-06-01"),) if self.dialect == "anthropic-messages" else ()
        return (
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
            ("User-Agent", "benchflow"),
            (dialect.key_header, dialect.key_prefix + self.key),
            *named,
        )


def write_body(dialect: str, request: JudgeRequest, *, cap: str) -> dict[str, Any]:
    """Return the request's body. The temperature is left to the provider: some models take no other."""
    return {
        "model": request.model,
        "messages": [{"role": "user", "content": request.prompt}],
        "max_tokens" if dialect == "anthropic-messages" else cap: request.max_output_tokens,
    }


def complaint_of(exchange: Exchange) -> str | None:
    """Say why an exchange gave no answer; None: it did."""
    answer = exchange.answer
    said = f": {one_line(answer.error, 300)}" if answer.error else ""
    if not exchange.succeeded:
        cut = ", cut off" if exchange.end == "upstream_cut" else ""
        return (f"status {exchange.status}{cut}" if exchange.status is not None else "no answer") + said
    if answer.error or answer.refused:
        return f"it refused{said}"
    if answer.finish in _REFUSING:
        return f"it refused to answer ({answer.finish})"
    if not answer.text.strip():
        return f"it said nothing (finish: {answer.finish})"
    return None
