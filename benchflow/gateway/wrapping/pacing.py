"""Paces an upstream: one queue for all trials of a run, first come first served, under the limits of the upstream.

When the upstream asks one of them to wait, all of them wait.
"""

import asyncio
import heapq
import time
from itertools import count
from typing import Self

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.altered import altered
from benchflow.gateway.changing import answer_error
from benchflow.gateway.handling import Handling
from benchflow.gateway.message import RawRequest, RawResponse, RouteKind
from benchflow.gateway.upstream import TrialContext, Upstream
from benchflow.gateway.upstreams.playing import BYTES_PER_TOKEN
from benchflow.gateway.wrapping.limits import Limits, Pace, Spent
from benchflow.gateway.wrapping.waits import ASKING, asked_wait_s

HELD: frozenset[RouteKind] = frozenset({"generate", "count_tokens"})
"""What may be held. Lists of models and probes cost a provider nothing, and agents wait for them while they start."""
READ = 64 * 1024
"""Bytes of a refusal that are read for the wait that it asks for."""


class Pacing:
    """An upstream whose requests begin when its limits, and the waits that it asked for, allow it."""

    def __init__(self, upstream: Upstream, pace: Pace) -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self._upstream = upstream
        self._limits = Limits(pace)
        self._max_wait_s = pace.max_wait_s
        self._tickets = count()
        self._queue: list[_Place] = []

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Send the request on when its turn has come. One that the upstream would let wait for too long is refused."""
        if context.route is None or context.route.kind not in HELD:
            return await self._upstream.send(request, context)
        tokens, handling = len(request.body) / BYTES_PER_TOKEN, context.handling or Handling()
        if handling.ticket is None:  # else it is sent again, and stands where it stood
            handling.ticket = next(self._tickets)
        try:
            await self._admit(tokens, handling)
        except _TooLong as refusal:
            return self._refuse(request, context, refusal.pause_s)
        handling.admitted_s = time.monotonic()
        begun = _Begun(self, self._limits.begin(handling.admitted_s, tokens))
        handling.on_metered = begun.metered
        try:
            response = await self._upstream.send(request, context)
        except BaseException:
            begun.end()
            raise
        if response.status >= 400:
            begun.took(0)  # what is refused uses nothing
        asked = self.heed(response)
        return altered(response, chunks=_Paced(response, begun, read=response.status in ASKING and not asked))

    async def _admit(self, tokens: float, handling: Handling) -> None:
        """Wait until it is this request's turn, and the limits allow it to begin. Raises _TooLong."""
        if not self._queue and not self._wait_s(tokens):
            return
        place = _Place(handling.ticket or 0)
        heapq.heappush(self._queue, place)
        try:
            with handling.held():
                await self._stand(place, tokens)
        finally:
            self._queue.remove(place)
            heapq.heapify(self._queue)
            self.look()

    async def _stand(self, place: "_Place", tokens: float) -> None:
        while True:
            wait_s = self._wait_s(tokens)
            if self._queue[0] is not place:
                wait_s = float("inf")
            if not wait_s:
                return
            place.called.clear()
            try:
                async with asyncio.timeout(None if wait_s == float("inf") else wait_s):
                    await place.called.wait()
            except TimeoutError:
                continue

    def _wait_s(self, tokens: float) -> float:
        now = time.monotonic()
        pause_s = self._limits.paused_until_s - now
        if pause_s > self._max_wait_s:
            raise _TooLong(pause_s)
        return self._limits.wait_s(now, tokens)

    def look(self) -> None:
        """Let the first in the queue look again whether it can go."""
        if self._queue:
            self._queue[0].called.set()

    def ended(self) -> None:
        """A request is over."""
        self._limits.end()
        self.look()

    def heed(self, response: RawResponse, content: bytes = b"") -> bool:
        """Let everybody wait where a refusal, of which `content` was read so far, asks for it. Say whether it does."""
        seconds = asked_wait_s(response.status, response.headers, content)
        if seconds is None:
            return False
        self._limits.pause(time.monotonic(), seconds)
        for place in self._queue:
            place.called.set()  # the wait may be too long for them
        return True

    def _refuse(self, request: RawRequest, context: TrialContext, pause_s: float) -> RawResponse:
        """Refuse in the upstream's name what it would refuse itself."""
        message = (
            f"{self.name} asked for a wait, of which {pause_s:.0f} s are left; "
            f"no request is held for more than {self._max_wait_s:g} s"
        )
        refusal = context.dialect.refuse(request, 429, message) if context.dialect else answer_error(429, message)
        headers = (*refusal.headers, ("Retry-After", str(round(pause_s))))
        return altered(refusal, origin="upstream", headers=headers)

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._upstream.aclose()


class _TooLong(Exception):
    """The upstream asked for a wait that is longer than any request is held."""

    def __init__(self, pause_s: float) -> None:
        self.pause_s = pause_s


class _Place:
    """A place in the queue."""

    def __init__(self, ticket: int) -> None:
        self.ticket = ticket
        self.called = asyncio.Event()

    def __lt__(self, other: "_Place") -> bool:
        return self.ticket < other.ticket


class _Begun:
    """A request under way, and what it has taken from the limits."""

    def __init__(self, pacing: Pacing, spent: Spent | None) -> None:
        self.pacing = pacing
        self._spent = spent
        self._over = False

    def metered(self, tokens: TokenBreakdown) -> None:
        """Put what was used in the place of what was estimated."""
        self.took(tokens.total)

    def took(self, tokens: float) -> None:
        if self._spent:
            self._spent.amount = tokens
            self.pacing.look()

    def end(self) -> None:
        """It is over; may be called again."""
        if not self._over:
            self._over = True
            self.pacing.ended()


class _Paced:
    """A body whose end is the end of its request."""

    def __init__(self, response: RawResponse, begun: _Begun, *, read: bool) -> None:
        self._response = response
        self._begun = begun
        self._read = read
        self._content = b""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._response.chunks.__anext__()
        if self._read and len(self._content) < READ:
            self._content += chunk
        return chunk

    async def aclose(self) -> None:
        """Let the next one go, and let go of the sender. A wait may be asked for in what was read."""
        if self._content:
            self._begun.pacing.heed(self._response, self._content)
            self._content = b""
        self._begun.end()
        await self._response.chunks.aclose()
