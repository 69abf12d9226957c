"""Repeats in the gateway what failed at the upstream, so that the agent sees none of it. Each attempt is on record."""

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Self

from benchflow.clock import iso
from benchflow.gateway.altered import altered
from benchflow.gateway.dialects.dialect import Dialect
from benchflow.gateway.handling import Attempt, Handling
from benchflow.gateway.http.encoding import Undecodable, decode
from benchflow.gateway.message import Body, RawRequest, RawResponse, UpstreamCut
from benchflow.gateway.upstream import TrialContext, Upstream
from benchflow.gateway.wrapping.pacing import HELD, READ
from benchflow.gateway.wrapping.waits import asked_wait_s


@dataclass(frozen=True, kw_only=True)
class Retries:
    """How often, and after which waits, a request is repeated that failed at the upstream."""

    times: int = 0
    """At most, for one request."""
    max_wait_s: float = 300.0
    """All waits of one request together; one that would need more gets its last failure."""
    backoff_s: float = 1.0
    """Before the first repetition, where the upstream asks for no wait; doubled each time, and varied by a half."""
    longest_backoff_s: float = 60.0

    def backoff(self, number: int, dice: random.Random) -> float:
        """Return the wait before repetition `number`, from 1."""
        whole_s = min(self.longest_backoff_s, self.backoff_s * 2.0 ** (number - 1))
        return whole_s * (0.5 + dice.random())


class Retrying:
    """An upstream whose failures, a 429, a 5xx, or no answer at all, are repeated before the agent hears of them."""

    def __init__(self, upstream: Upstream, retries: Retries) -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self._upstream = upstream
        self._retries = retries

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Send the request until it is answered, or as often as may be. Raises UpstreamCut where the last attempt did.

        A response is returned when its first bytes are there: one that breaks off before them is repeated too.
        """
        if context.route is None or context.route.kind not in HELD:
            return await self._upstream.send(request, context)
        handling = context.handling or Handling()
        context = altered(context, handling=handling)
        dice = random.Random(f"{context.trial}:{context.attempt}:{handling.number}")
        waited_s, free_s = 0.0, time.monotonic()
        while True:
            tried = await self._try(request, context, free_s)
            free_s = time.monotonic()
            handling.attempts = (*handling.attempts, tried.attempt)
            backoff_s = self._retries.backoff(len(handling.attempts), dice)
            waited_s += backoff_s if tried.asked_s is None else tried.asked_s
            if not tried.failed or len(handling.attempts) > self._retries.times or waited_s > self._retries.max_wait_s:
                return tried.outcome()
            await tried.close()
            try:
                if tried.asked_s is None:
                    await asyncio.sleep(backoff_s)
            finally:
                handling.holds.append((tried.begun_s, time.monotonic()))

    async def _try(self, request: RawRequest, context: TrialContext, free_s: float) -> "_Tried":
        """Send the request once; it could have been sent at `free_s`."""
        handling = context.handling or Handling()
        handling.admitted_s = free_s  # whoever holds it back corrects this
        response, content, cut = None, b"", None
        try:
            response = await self._upstream.send(request, context)
            response, content = await _look_into(response)
        except UpstreamCut as exc:
            response, cut = None, exc
        took_s = time.monotonic() - handling.admitted_s
        attempt = Attempt(
            status=response.status if response else None,
            error=str(cut) if response is None else _error(response, content, context.dialect),
            ts=iso(time.time_ns() - round(took_s * 1e9)),
            waited_ms=round((handling.admitted_s - free_s) * 1000, 3),
            duration_ms=round(took_s * 1000, 3),
            fault=handling.fault.kind if handling.fault else None,
        )
        return _Tried(attempt=attempt, begun_s=handling.admitted_s, response=response, content=content, cut=cut)

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._upstream.aclose()


@dataclass(frozen=True, kw_only=True)
class _Tried:
    """What came of an attempt."""

    attempt: Attempt
    begun_s: float
    response: RawResponse | None
    """None: there was none, and `cut` says why."""
    content: bytes
    """The beginning of its body."""
    cut: UpstreamCut | None

    @property
    def failed(self) -> bool:
        """Whether another attempt may help."""
        return self.response is None or _failed(self.response)

    @property
    def asked_s(self) -> float | None:
        """The wait that the upstream asks for. Its pacing keeps it, for all requests alike."""
        response = self.response
        return asked_wait_s(response.status, response.headers, self.content) if response else None

    def outcome(self) -> RawResponse:
        """Return the response. Raises UpstreamCut where there was none."""
        if self.response is None:
            assert self.cut is not None
            raise self.cut
        return self.response

    async def close(self) -> None:
        """Let go of the response."""
        if self.response:
            await self.response.chunks.aclose()


class _LookedInto:
    """A body of which the first chunks were read already."""

    def __init__(self, read: list[bytes], rest: Body) -> None:
        self._read = iter(read)
        self._rest = rest

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        for chunk in self._read:
            return chunk
        return await self._rest.__anext__()

    async def aclose(self) -> None:
        await self._rest.aclose()


async def _look_into(response: RawResponse) -> tuple[RawResponse, bytes]:
    """Read the first bytes of a response, of a failure as much as is needed to know what it says."""
    enough, size = READ if _failed(response) else 1, 0
    read: list[bytes] = []
    try:
        while size < enough:
            read.append(await response.chunks.__anext__())
            size += len(read[-1])
    except StopAsyncIteration:
        pass
    except BaseException:
        await response.chunks.aclose()
        raise
    return altered(response, chunks=_LookedInto(read, response.chunks)), b"".join(read)


def _failed(response: RawResponse) -> bool:
    return response.origin == "upstream" and (response.status == 429 or response.status >= 500)


def _error(response: RawResponse, content: bytes, dialect: Dialect | None) -> str | None:
    """Return what a refusal says; None for an answer."""
    if response.status < 400:
        return None
    if dialect is not None:
        assembler = dialect.assembler()
        try:
            assembler.feed(decode(content, response.headers))
        except Undecodable as exc:
            return str(exc)
        said = assembler.result().error
        if said:
            return said
    return f"status {response.status}"
