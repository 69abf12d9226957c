"""The times of a trial, in milliseconds: all of it, its stages, its turns, and who took them."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchflow.behaviour.calls import call_source, read_calls
from benchflow.behaviour.times import share_time
from benchflow.contracts import CustomMetric, SessionTrace
from benchflow.row import ProfileRow

if TYPE_CHECKING:
    from benchflow.scenario import Scenario


class LatencyCollector:
    """Collects `latency.*`."""

    id = "latency"

    async def collect(
        self, result: ProfileRow, scenario: "Scenario", mode: str, *, trace: SessionTrace | None = None
    ) -> list[CustomMetric]:
        """Return the metrics. The time for which the gateway held requests is in `latency.held` and nowhere else."""
        held_ms = result.extensions.get("held_ms") if result.exchanges.main or result.exchanges.auxiliary else None
        return [
            _metric("wall", result.timing.wall_ms or None, "harness"),
            *(_metric(f"segment.{name}", ms, "harness") for name, ms in result.timing.segments.items()),
            _metric("held", held_ms, "gateway"),
            *_turns(trace),
            *_shares(trace),
        ]


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return a percentile, interpolated linearly (type 7 of Hyndman and Fan, 1996); None of no values.

    Plain Python: a run must not load numpy for ten numbers.
    """
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _turns(trace: SessionTrace | None) -> list[CustomMetric]:
    turns = trace.turns if trace else ()
    latencies = [turn.duration_ms for turn in turns]
    first_bytes = [turn.ttft_ms for turn in turns if turn.ttft_ms is not None]
    return [
        _metric(f"{name}_p{percent}", _rounded(percentile(values, percent)), "gateway")
        for name, values in (("turn", latencies), ("ttft", first_bytes))
        for percent in (50, 95)
    ]


def _shares(trace: SessionTrace | None) -> list[CustomMetric]:
    """Who took the time of the prompts. Without a prompt nobody did."""
    calls = read_calls(trace) if trace else []
    shares = share_time(trace, calls) if trace else None
    if shares is None or not shares.prompts_ms:
        return [_metric(name, None, "") for name in ("model", "tools", "agent")]
    return [
        _metric("model", shares.model_ms, "gateway"),
        _metric("tools", shares.tools_ms, call_source(calls)),
        _metric("agent", shares.agent_ms, "derived"),
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _metric(name: str, value: float | None, source: str) -> CustomMetric:
    return CustomMetric(name=f"latency.{name}", value=value, unit="ms", source=source if value is not None else "")
