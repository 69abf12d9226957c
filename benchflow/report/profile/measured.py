"""What the figures need of a trial: its row without all that no figure is made of."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from benchflow.contracts import CompletionReason, TokenBreakdown
from benchflow.errors import ErrorCode, InputError
from benchflow.report.profile.naming import CellName
from benchflow.row import METRICS, ProfileRow

Ending = Literal["untouched", "wrapped up", "capped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WallTime:
    wall_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    total_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureExtensions:
    metrics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """The part of a `ProfileRow` that figures are made of, so that a reader of many can leave out the rest."""

    run_id: str
    trial: str
    agent: str
    agent_version: str | None
    model: str
    model_served: str | None
    upstream: str
    mode: str
    isolation: str
    scenario_id: str
    scenario_digest: str
    iteration: int
    tokens: TokenBreakdown | None
    timing: WallTime
    tool_calls: Total
    cost: Price
    success: bool | None
    score: float | None
    agent_turns: int
    completion_reason: CompletionReason
    wrapped_up: bool
    error_code: ErrorCode | None
    extensions: FigureExtensions = FigureExtensions()


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
    iteration: int
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


def measure(row: ProfileRow | FigureRow) -> Measured:
    """Read what the figures need from a row. Raises InputError for a score that is not within [0, 1]."""
    scored = row.success is not None and row.score is not None
    if row.score is not None and not 0 <= row.score <= 1:
        raise InputError(f"{row.trial}: its score is {row.score}; a score is within 0 and 1, so mend its scorer")
    return Measured(
        cell=_cell(row.agent, row.upstream, row.model, row.mode, row.isolation),
        run_id=sys.intern(row.run_id),
        trial=row.trial,
        scenario=sys.intern(row.scenario_id),
        digest=sys.intern(row.scenario_digest),
        iteration=row.iteration,
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
        agent_version=row.agent_version and sys.intern(row.agent_version),
        model_served=row.model_served and sys.intern(row.model_served),
        custom=_custom(row),
    )


@lru_cache(maxsize=1024)
def _cell(agent: str, upstream: str, model: str, mode: str, isolation: str) -> CellName:
    """One name a cell, however many trials it has."""
    return CellName(agent=agent, upstream=upstream, model=model, mode=mode, isolation=isolation)


def _ending(row: ProfileRow | FigureRow) -> Ending:
    if row.wrapped_up:
        return "wrapped up"
    return "capped" if row.completion_reason in ("timeout", "tool_limit") else "untouched"


def _custom(row: ProfileRow | FigureRow) -> tuple[Custom, ...]:
    """Read what collectors measured, as far as it is a number."""
    extensions = row.extensions
    metrics = extensions.metrics if isinstance(extensions, FigureExtensions) else extensions.get(METRICS)
    if not isinstance(metrics, dict):
        return ()
    return tuple(
        Custom(name=sys.intern(name), unit=str(metric.get("unit") or ""), value=float(metric["value"]))
        for name, metric in sorted(metrics.items())
        if isinstance(metric, dict) and isinstance(metric.get("value"), int | float)
    )
