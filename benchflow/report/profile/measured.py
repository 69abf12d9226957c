"""What the figures need of a trial: its row without all that no figure is made of.

Read from the row's JSON value, by hand: a report of 100,000 rows has 15 microseconds for each.
"""

import sys
from functools import lru_cache
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import orjson

from benchflow.errors import InputError
from benchflow.report.profile.naming import CellName
from benchflow.row import METRICS, ProfileRow

Ending = Literal["untouched", "wrapped up", "capped"]


class Custom(NamedTuple):
    """A number that a plugin measured."""

    name: str
    unit: str
    value: float


class Used(NamedTuple):
    """The tokens of a trial, as `TokenBreakdown` has them."""

    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int


class Certified(NamedTuple):
    """What became of a trial's model requests on the way, by its certificate."""

    requests: int
    as_received: int
    not_forwarded: int
    changes: tuple[tuple[str, int], ...]
    """In how many requests something of each kind was changed."""


class Measured(NamedTuple):
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
    used: Used | None = None
    ending: Ending = "untouched"
    unscored_code: str | None = None
    """Why it is unscored."""
    agent_version: str | None = None
    model_served: str | None = None
    custom: tuple[Custom, ...] = ()
    certified: Certified | None = None
    """None: its model requests are not routed, or there were none."""

    @property
    def scored(self) -> bool:
        return self.success is not None


def measure(row: ProfileRow) -> Measured:
    """Read what the figures need from a row. Raises InputError for a score that is not within [0, 1]."""
    return measure_value(orjson.loads(row.to_json()))


def measure_value(row: dict[str, Any]) -> Measured:
    """Read it from the row's JSON value. Raises KeyError, TypeError or ValueError where that is no row."""
    tokens = row["tokens"]
    success, score = _verdict(row["success"], row["score"], row["trial"])
    scored = success is not None
    return Measured(
        _cell(row["agent"], row["upstream"], row["model"], row["mode"], row["isolation"]),
        sys.intern(row["run_id"]),
        _text(row["trial"]),
        sys.intern(row["scenario_id"]),
        sys.intern(row["scenario_digest"]),
        _number(row["iteration"]),
        success,
        score,
        _number(row["timing"]["wall_ms"]),
        None if tokens is None else _number(tokens["total"]),
        _known_number(row["cost"]["total_usd"]),
        _number(row["agent_turns"]),
        _number(row["tool_calls"]["total"]),
        None if tokens is None else Used._make(map(_number, _USED(tokens))),
        _ending(row),
        None if scored else row["error_code"] or "scorer",
        _known_text(row["agent_version"]),
        _known_text(row["model_served"]),
        _custom(row["extensions"].get(METRICS)) if row.get("extensions") else (),
        _certified(row["extensions"].get("certificate")) if row.get("extensions") else None,
    )


_USED = itemgetter(*Used._fields)


@lru_cache(maxsize=1024)
def _cell(agent: str, upstream: str, model: str, mode: str, isolation: str) -> CellName:
    """One name a cell, however many trials it has."""
    for part in (agent, upstream, model, mode, isolation):
        _text(part)
    return CellName(agent=agent, upstream=upstream, model=model, mode=mode, isolation=isolation)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"{value!r} is no text")
    return value


def _known_text(value: Any) -> str | None:
    return None if value is None else sys.intern(value)


def _number(value: Any) -> Any:
    if type(value) is not int and type(value) is not float:
        raise TypeError(f"{value!r} is no number")
    return value


def _known_number(value: Any) -> Any:
    return None if value is None else _number(value)


def _verdict(success: Any, score: Any, trial: str) -> tuple[float | None, float | None]:
    """Return both as numbers; where one of them is missing, the trial is unscored."""
    if score is not None and not 0 <= _number(score) <= 1:
        raise InputError(f"{trial}: its score is {score}; a score is within 0 and 1, so mend its scorer")
    if success is None or score is None:
        return None, None
    if type(success) is not bool:
        raise TypeError(f"{success!r} is neither true nor false")
    return float(success), float(score)


def _ending(row: dict[str, Any]) -> Ending:
    if row["wrapped_up"]:
        return "wrapped up"
    return "capped" if row["completion_reason"] in ("timeout", "tool_limit") else "untouched"


def _custom(metrics: Any) -> tuple[Custom, ...]:
    """Read what collectors measured, as far as it is a number."""
    if not isinstance(metrics, dict):
        return ()
    return tuple(
        Custom(sys.intern(name), str(metric.get("unit") or ""), float(metric["value"]))
        for name, metric in sorted(metrics.items())
        if isinstance(metric, dict) and isinstance(metric.get("value"), int | float)
    )


_COUNTS = itemgetter("requests", "as_received", "not_forwarded")


def _certified(certificate: Any) -> Certified | None:
    if not isinstance(certificate, dict):
        return None
    try:
        requests, as_received, not_forwarded = map(_number, _COUNTS(certificate))
        return Certified(requests, as_received, not_forwarded, tuple(certificate["changes"].items()))
    except (AttributeError, KeyError, TypeError):
        return None  # of another version
