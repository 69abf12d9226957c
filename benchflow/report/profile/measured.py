"""What the figures need of a trial: its row without all that no figure is made of."""

import sys
from dataclasses import dataclass
from typing import Literal

from benchflow.contracts import TokenBreakdown
from benchflow.errors import InputError
from benchflow.report.profile.metrics import MetricName
from benchflow.report.profile.naming import CellName
from benchflow.row import ProfileRow

Ending = Literal["untouched", "wrapped up", "capped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom:
    """A number that a plugin measured."""

    name: str
    unit: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One trial in numbers. The fields that metrics are named after have the metric's value; None: not known."""

    cell: CellName
    run_id: str
    trial: str
    scenario: str
    digest: str
    success: float | None
    """1 or 0; None, always with `score`: unscored."""
    score: float | None
    wall_ms: float | None
    tokens: float | None
    cost_usd: float | None
    turns: float | None
    tool_calls: float | None
    used: TokenBreakdown | None = None
    ending: Ending = "untouched"
    unscored_code: str | None = None
    """Why it is unscored."""
    agent_version: str | None = None
    model_served: str | None = None
    custom: tuple[Custom, ...] = ()

    @property
    def scored(self) -> bool:
        return self.success is not None

    def value(self, metric: MetricName) -> float | None:
        """Return the value of a metric; None: not known."""
        return getattr(self, metric)


def measure(row: ProfileRow) -> Measured:
    """Read what the figures need from a row. Raises InputError for a score that is not within [0, 1]."""
    scored = row.success is not None and row.score is not None
    if row.score is not None and not 0 <= row.score <= 1:
        raise InputError(f"{row.trial}: its score is {row.score}; a score is within 0 and 1, so mend its scorer")
    return Measured(
        cell=CellName(
            agent=row.agent, upstream=row.upstream, model=row.model, mode=row.mode, isolation=sys.intern(row.isolation)
        ),
        run_id=sys.intern(row.run_id),
        trial=row.trial,
        scenario=sys.intern(row.scenario_id),
        digest=sys.intern(row.scenario_digest),
        success=float(row.success) if scored and row.success is not None else None,
        score=row.score if scored else None,
        wall_ms=row.timing.wall_ms,
        tokens=row.tokens.total if row.tokens else None,
        cost_usd=row.cost.total_usd,
        turns=row.agent_turns,
        tool_calls=row.tool_calls.total,
        used=row.tokens,
        ending=_ending(row),
        unscored_code=None if scored else row.error_code or "scorer",
        agent_version=row.agent_version,
        model_served=row.model_served,
        custom=_custom(row),
    )


def _ending(row: ProfileRow) -> Ending:
    if row.wrapped_up:
        return "wrapped up"
    return "capped" if row.completion_reason in ("timeout", "tool_limit") else "untouched"


def _custom(row: ProfileRow) -> tuple[Custom, ...]:
    """Read what collectors measured, as far as it is a number."""
    metrics = row.extensions.get("metrics")
    if not isinstance(metrics, dict):
        return ()
    return tuple(
        Custom(name=sys.intern(name), unit=str(metric.get("unit") or ""), value=float(metric["value"]))
        for name, metric in sorted(metrics.items())
        if isinstance(metric, dict) and isinstance(metric.get("value"), int | float)
    )
