"""Plays faults on purpose: an upstream that refuses, stalls, breaks off or dawdles as its plan says."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Self

from benchflow.gateway.altered import altered
from benchflow.gateway.changing import answer_error
from benchflow.gateway.handling import FaultKind, PlayedFault
from benchflow.gateway.message import Body, Headers, RawRequest, RawResponse, UpstreamCut
from benchflow.gateway.upstream import TrialContext, Upstream
from benchflow.gateway.wrapping.fault_plan import SERVER_ERRORS, FaultPlan
from benchflow.gateway.wrapping.pacing import HELD

TICK_S = 0.05
"""How often a slow answer sends a piece."""


class Faults:
    """An upstream on whose requests faults are played.

    What is played depends on the plan's seed, the scenario, the iteration, the try, and the number of the request in
    it: not on what else goes on. A request that is sent again is another one.
    """

    def __init__(self, upstream: Upstream, plan: FaultPlan) -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self._upstream = upstream
        self._plan = plan
        self._numbers: Counter[tuple[str, int]] = Counter()

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Answer the request, or play a fault on it. Errors are in the dialect's own form."""
        kind, number = self._choose(context)
        played = self._played(kind, number) if kind else None
        if context.handling:
            context.handling.fault = played
        if played is None:
            return await self._upstream.send(request, context)
        match played.kind:
            case "429":
                asked = ("Retry-After", f"{played.value:g}")
                return _refuse(request, context, 429, "too many requests", (asked,))
            case "5xx":
                return _refuse(request, context, int(played.value), "the server failed")
            case "stall":
                await asyncio.sleep(played.value)
                return await self._upstream.send(request, context)
        response = await self._upstream.send(request, context)
        body = _Cut if played.kind == "cut" else _Slow
        return altered(response, chunks=body(response.chunks, played.value))

    def _choose(self, context: TrialContext) -> tuple[FaultKind | None, int]:
        """Say what is played on this request."""
        plan = self._plan
        if context.route is None or context.route.kind not in HELD:
            return None, 0
        if plan.requests == "main" and (context.role != "main" or context.route.kind != "generate"):
            return None, 0
        number = self._numbers[context.trial, context.attempt]
        self._numbers[context.trial, context.attempt] += 1
        if plan.first is not None and number >= plan.first:
            return None, 0
        return plan.roll(context.scenario_id or context.trial, context.iteration, context.attempt, number)

    def _played(self, kind: FaultKind, number: int) -> PlayedFault:
        plan = self._plan
        values: dict[FaultKind, float] = {
            "429": plan.retry_after_s,
            "5xx": SERVER_ERRORS[number % len(SERVER_ERRORS)],
            "stall": plan.stall_s,
            "cut": plan.cut_at,
            "slow": plan.slow_bytes_per_s,
        }
        return PlayedFault(kind=kind, value=values[kind])

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._upstream.aclose()


def _refuse(request: RawRequest, context: TrialContext, status: int, text: str, headers: Headers = ()) -> RawResponse:
    message = f"{text} (a fault, played on purpose)"
    refusal = context.dialect.refuse(request, status, message) if context.dialect else answer_error(status, message)
    return altered(refusal, origin="upstream", headers=(*refusal.headers, *headers))


class _Cut:
    """A body that breaks off after a part of its bytes. It is read to its end first, to know how many they are."""

    def __init__(self, body: Body, part: float) -> None:
        self._body = body
        self._part = part
        self._passing: Iterator[bytes] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._passing is None:
            self._passing = iter(_beginning([chunk async for chunk in self._body], self._part))
        for chunk in self._passing:
            return chunk
        raise UpstreamCut("the answer broke off (a fault, played on purpose)")

    async def aclose(self) -> None:
        await self._body.aclose()


def _beginning(chunks: list[bytes], part: float) -> Iterator[bytes]:
    """Yield the chunks, the last of them shortened, that make a part of all bytes, but never all of them."""
    size = sum(map(len, chunks))
    left = min(int(size * part), size - 1)
    for chunk in chunks:
        if left <= 0:
            return
        yield chunk[:left]
        left -= len(chunk)


class _Slow:
    """A body that comes slowly: its chunks are cut into pieces, a piece at each tick."""

    def __init__(self, body: Body, bytes_per_s: float) -> None:
        self._body = body
        self._piece = max(1, int(bytes_per_s * TICK_S))
        self._wait_s = self._piece / bytes_per_s
        self._rest = b""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if not self._rest:
            self._rest = await self._body.__anext__()
        await asyncio.sleep(self._wait_s)
        piece, self._rest = self._rest[: self._piece], self._rest[self._piece :]
        return piece

    async def aclose(self) -> None:
        await self._body.aclose()
