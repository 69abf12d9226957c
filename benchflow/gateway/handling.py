"""What became of a request between the gateway and its upstream: how long it was held, and how often it was tried.

The upstream chain writes it down, whoever records the exchange reads it; neither knows the other.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from benchflow.contracts import LimitHit, TokenBreakdown

FaultKind = Literal["429", "5xx", "stall", "cut", "slow"]


@dataclass(frozen=True, kw_only=True)
class PlayedFault:
    """A fault that was played on purpose."""

    kind: FaultKind
    value: float
    """Seconds of the Retry-After for `429`, the status for `5xx`, seconds for `stall`, the fraction that passed for
    `cut`, bytes per second for `slow`.
    """


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One sending of a request that the gateway may repeat."""

    status: int | None
    """None: no response came."""
    error: str | None
    """What the upstream said, or what broke; None for an attempt that was answered."""
    ts: str
    """When it was let through."""
    waited_ms: float
    """How long it was held before, since the request came or the attempt before it ended."""
    duration_ms: float
    """To the head of its response, or to what broke it."""
    fault: FaultKind | None = None
    """What was played on purpose."""


@dataclass(kw_only=True)
class Handling:
    """One request on its way. Times are of `time.monotonic`."""

    number: int = 0
    """Order of arrival in the trial, from 0."""
    arrived_s: float = field(default_factory=time.monotonic)
    ended_s: float | None = None
    """None: it is under way."""
    admitted_s: float | None = None
    """When it was last let through to the upstream; None: it was not."""
    ticket: int | None = None
    """Its place in the order of all requests of the run; None: nobody keeps such an order."""
    holds: list[tuple[float, float]] = field(default_factory=list)
    """From when to when it was held, in order. The last is still open where its end is infinite."""
    attempts: Sequence[Attempt] = ()
    fault: PlayedFault | None = None
    """What was played on the last attempt."""
    on_metered: Callable[[TokenBreakdown], None] | None = None
    """Is told what the answer used, once it is known."""
    limit: LimitHit | None = None
    """The budget of which the agent is warned in it, or that stopped it; None: none."""
    stopped: bool = False
    """A budget of the trial does not let it through: it is no part of the agent's work."""

    @property
    def held_ms(self) -> float:
        """How long it was held, in milliseconds."""
        now = time.monotonic()
        return round(sum(min(until, now) - since for since, until in self.holds) * 1000.0, 3)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Note that the request is held while the block runs."""
        begun = time.monotonic()
        self.holds.append((begun, float("inf")))
        try:
            yield
        finally:
            self.holds[-1] = (begun, time.monotonic())


class AgentTime:
    """The time of one trial's agent: it stands still while all that the agent has asked for is held by the gateway."""

    def __init__(self) -> None:
        self._under_way: list[Handling] = []
        self._open = 0
        self._begun = 0
        self._stood_s = 0.0

    def begin(self) -> Handling:
        """Take a request in."""
        handling = Handling(number=self._begun)
        self._begun += 1
        self._under_way.append(handling)
        self._open += 1
        return handling

    def end(self, handling: Handling) -> None:
        """A request is over."""
        handling.ended_s = time.monotonic()
        self._open -= 1
        if not self._open:  # what was is settled: the list stays as short as an agent has requests at once
            self._stood_s += stood_still(self._under_way, handling.ended_s)
            self._under_way.clear()

    def now(self) -> float:
        """Return the seconds on this clock; only differences mean anything."""
        now = time.monotonic()
        return now - self._stood_s - stood_still(self._under_way, now)


def stood_still(requests: Sequence[Handling], now: float) -> float:
    """Add up the seconds during which requests were under way and all of them were held."""
    if not any(request.holds for request in requests):
        return 0.0
    steps: list[tuple[float, int, int]] = []
    for request in requests:
        steps.append((request.arrived_s, 1, 0))
        steps.append((now if request.ended_s is None else request.ended_s, -1, 0))
        for since, until in request.holds:
            steps += [(since, 0, 1), (min(until, now), 0, -1)]
    steps.sort(key=lambda step: step[0])
    total, before, under_way, held = 0.0, 0.0, 0, 0
    for at, more, more_held in steps:
        if held and held == under_way:
            total += at - before
        before, under_way, held = at, under_way + more, held + more_held
    return total
