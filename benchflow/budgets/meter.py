"""How much of each budget a trial has used, told by its exchanges, by what the agent shows, and by the clock."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import anyio

from benchflow.budgets.budget import IDLE, TIME, Budget, Used, budgets_of, subagents_of, used_of
from benchflow.budgets.counts import Counts
from benchflow.budgets.idle import IdleClock
from benchflow.contracts import EventType, Limits
from benchflow.gateway.message import Exchange


class Meter:
    """Measures one trial against its budgets."""

    def __init__(self, limits: Limits) -> None:
        self.counts = Counts()
        self.now: Callable[[], float] = anyio.current_time
        """The clock of the trial's agent."""
        self.subagents = subagents_of(limits)
        """The budget of all subagents together; None: they have none."""
        self._budgets = {budget.kind: budget for budget in budgets_of(limits)}
        self._idle = IdleClock(pause_in_tools=limits.idle_in_tools is False)
        self._begun_s: float | None = None

    def __iter__(self) -> Iterator[Budget]:
        return iter(self._budgets.values())

    def find(self, kind: str) -> Budget | None:
        """Return a budget; None: the trial has no such."""
        return self._budgets.get(kind)

    def has_no_time_left(self) -> Budget:
        """Return the budget of the time that is up, which may be the caller's and not the trial's."""
        return self._budgets.setdefault(TIME, Budget(kind=TIME, allowed=self._wall_s()))

    def forget_time(self) -> None:
        """There is no budget of time any more."""
        self._budgets.pop(TIME, None)

    def began(self) -> None:
        """A prompt is about to be sent."""
        self._begun_s = self.now() if self._begun_s is None else self._begun_s
        self._idle.heard(self.now())

    def exchange_began(self) -> None:
        """A request has arrived."""
        self._idle.under_way += 1

    def exchange_ended(self, exchange: Exchange) -> None:
        """An exchange is over."""
        self._idle.under_way -= 1
        self._idle.heard(self.now())
        self.counts.exchange_ended(exchange)

    def acp_event(self, kind: EventType, data: Mapping[str, Any]) -> bool:
        """The agent has shown something. Return whether that counts."""
        now = self.now()
        self._idle.heard(now)
        self.counts.acp_event(kind, data, now * 1000)
        counts = kind in ("tool_call", "tool_call_update", "usage")
        if counts:
            self._idle.open_calls = self.counts.open_calls
        return counts

    def used(self, kind: str) -> Used:
        """Say how much of a budget is used."""
        return used_of(kind, self.counts, wall_s=self._wall_s(), idle_s=self._idle.idle_s(self.now()))

    def look_again_s(self, *, warns: bool) -> float | None:
        """In how many seconds a budget may be reached although nothing happens; None: none will.

        `warns`: soft limits matter. The time of an agent that asks the gateway is looked at when it next does.
        """
        waits: list[float] = []
        for kind in (IDLE,) if self.counts.captured else (IDLE, TIME):
            budget = self._budgets.get(kind)
            if budget is None:
                continue
            used = self.used(kind).amount or 0.0
            marks = [budget.soft if warns else None, budget.allowed if kind == IDLE else None]
            waits += [max(mark - used, 0.001) for mark in marks if mark is not None and mark > used]
        return min(waits, default=None)

    def facts(self) -> dict[str, Any]:
        """Return what was used of each budget but those of time, which the row's timing has."""
        found = {kind: self.used(kind) for kind in self._budgets if kind not in (TIME, IDLE)}
        return {kind: {"amount": used.amount, "counter": used.counter} for kind, used in found.items()}

    def _wall_s(self) -> float:
        return 0.0 if self._begun_s is None else self.now() - self._begun_s
