"""One budget of a trial: how much of what is allowed, and from where on the agent is warned. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchflow.budgets.counts import Counts
from benchflow.contracts import LimitHit, Limits

TURNS, SUBAGENT_TURNS = "max_turns", "max_subagent_turns"
TIME, IDLE = "timeout_s", "idle_timeout_s"
TIMED = frozenset({TIME, IDLE})
"""The budgets that end in `timeout`; all others end in `tool_limit`."""
WORDS: Mapping[str, str] = {
    TURNS: "turn",
    TIME: "time",
    IDLE: "idle time",
    "max_tool_calls": "tool call",
    "max_tokens": "token",
    "max_output_tokens": "output token",
    "max_cost_usd": "cost",
}
"""How the agent is told of them."""


@dataclass(frozen=True, kw_only=True)
class Used:
    """How much of a budget is used."""

    amount: float | None
    """None: nobody can say."""
    counter: str
    """What was counted."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """So much of one thing."""

    kind: str
    """The name of the limit."""
    allowed: float
    soft: float | None = None
    """From here on the agent is warned. None: it is not."""

    def warns(self, used: Used) -> bool:
        """Whether the soft limit is reached."""
        return self.soft is not None and used.amount is not None and used.amount >= self.soft

    def spent(self, used: Used) -> bool:
        """Whether all of it is used."""
        return used.amount is not None and used.amount >= self.allowed

    def exceeded(self, used: Used) -> bool:
        """Whether more than all of it is used."""
        return used.amount is not None and used.amount > self.allowed

    def hit(self, used: Used, *, hard: bool) -> LimitHit:
        """Say that it was reached."""
        return LimitHit(
            kind=self.kind,
            allowed=self.allowed,
            used=round(used.amount or 0.0, 6),
            phase="hard" if hard else "soft",
            counter=used.counter,
        )


def budgets_of(limits: Limits) -> Sequence[Budget]:
    """Return the budgets that a trial has, but for turns' soft limit, which moves, and the subagents'."""
    share = limits.grace
    given = {
        TURNS: limits.max_turns,
        "max_tool_calls": limits.max_tool_calls,
        "max_tokens": limits.max_tokens,
        "max_output_tokens": limits.max_output_tokens,
        "max_cost_usd": limits.max_cost_usd,
        TIME: limits.timeout_s,
        IDLE: limits.idle_timeout_s,
    }
    return [
        Budget(
            kind=kind, allowed=allowed, soft=allowed * (1.0 - share) if share is not None and kind != TURNS else None
        )
        for kind, allowed in given.items()
        if allowed is not None
    ]


def subagents_of(limits: Limits) -> Budget | None:
    """Return the budget of all subagents together, who are never warned; None: they have none."""
    allowed = limits.max_subagent_turns if limits.max_subagent_turns is not None else limits.max_turns
    return None if allowed is None else Budget(kind=SUBAGENT_TURNS, allowed=allowed)


def used_of(kind: str, counts: Counts, *, wall_s: float, idle_s: float) -> Used:
    """Say how much of a budget is used."""
    match kind:
        case "max_turns" if counts.captured:
            return Used(amount=counts.turns, counter="main_exchanges")
        case "max_turns":
            return Used(amount=counts.ended_calls, counter="tool_calls")
        case "max_subagent_turns":
            return Used(amount=counts.subagent_turns, counter="subagent_exchanges")
        case "max_tool_calls" if counts.shown_calls:
            return Used(amount=counts.shown_calls, counter="tool_calls")
        case "max_tool_calls":
            return Used(amount=counts.asked_calls, counter="asked_tool_calls")
        case "max_tokens":
            return Used(amount=counts.tokens if counts.captured else None, counter="usage")
        case "max_output_tokens":
            return Used(amount=counts.output_tokens if counts.captured else None, counter="usage")
        case "max_cost_usd":
            return Used(amount=counts.cost_usd, counter="prices" if counts.captured else "acp")
        case "timeout_s":
            return Used(amount=wall_s, counter="wall_clock")
        case "idle_timeout_s":
            return Used(amount=idle_s, counter="idle_clock")
    raise ValueError(f"no budget is called {kind}")
