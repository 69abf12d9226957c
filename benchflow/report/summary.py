"""The figures of a whole run, made of its rows. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.row import ProfileRow


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a run's rows say together. Unscored trials are in no score, and counted beside it."""

    trials: int
    passed: int
    failed: int
    unscored: int
    success_rate: float | None
    """passed / scored trials; None where nothing is scored."""
    score: float | None
    """Mean of the scored trials; None where nothing is scored."""
    agent_turns: int
    tool_calls: int
    input_tokens: int | None
    """Prompt tokens, cache reads and writes included; None where nothing was metered."""
    output_tokens: int | None
    cost_usd: float | None
    """Of the trials whose cost is known; None where none is."""
    cost_unknown: int
    """Trials whose cost is not known."""
    wall_ms: float
    """Sum of the trials' wall times, not of the run's."""


def summarize(rows: Sequence[ProfileRow]) -> Summary:
    """Make the summary of `rows`."""
    scores = [row.score for row in rows if row.success is not None and row.score is not None]
    passed = sum(row.success is True for row in rows)
    failed = sum(row.success is False for row in rows)
    tokens = [row.tokens for row in rows if row.tokens is not None]
    costs = [row.cost.total_usd for row in rows if row.cost.total_usd is not None]
    return Summary(
        trials=len(rows),
        passed=passed,
        failed=failed,
        unscored=len(rows) - passed - failed,
        success_rate=passed / (passed + failed) if passed + failed else None,
        score=sum(scores) / len(scores) if scores else None,
        agent_turns=sum(row.agent_turns for row in rows),
        tool_calls=sum(row.tool_calls.total for row in rows),
        input_tokens=sum(each.total - each.output for each in tokens) if tokens else None,
        output_tokens=sum(each.output for each in tokens) if tokens else None,
        cost_usd=sum(costs) if costs else None,
        cost_unknown=len(rows) - len(costs),
        wall_ms=round(sum(row.timing.wall_ms for row in rows), 3),
    )
