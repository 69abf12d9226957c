"""What is measured of every trial: in which unit, within which bounds, and which way is better."""

from dataclasses import dataclass
from typing import Literal

MetricName = Literal["success", "score", "wall_ms", "tokens", "cost_usd", "turns", "tool_calls"]
Unit = Literal["share", "ms", "tokens", "usd", "turns", "calls"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One figure of a trial."""

    name: MetricName
    """The field of `CellFigures` and of `Measured` that has it."""
    title: str
    """For people, in lower case."""
    unit: Unit
    higher_is_better: bool
    bounds: tuple[float, float] | None
    """The least and the greatest value possible; None: there is no greatest one."""


METRICS: tuple[Metric, ...] = (
    Metric(name="success", title="success", unit="share", higher_is_better=True, bounds=(0, 1)),
    Metric(name="score", title="score", unit="share", higher_is_better=True, bounds=(0, 1)),
    Metric(name="wall_ms", title="wall time", unit="ms", higher_is_better=False, bounds=None),
    Metric(name="tokens", title="tokens", unit="tokens", higher_is_better=False, bounds=None),
    Metric(name="cost_usd", title="cost", unit="usd", higher_is_better=False, bounds=None),
    Metric(name="turns", title="turns", unit="turns", higher_is_better=False, bounds=None),
    Metric(name="tool_calls", title="tool calls", unit="calls", higher_is_better=False, bounds=None),
)
"""In the order of tables. The first two are means over trials; the others are shown by their medians."""

QUALITY = METRICS[:2]
EFFORT = METRICS[2:]
