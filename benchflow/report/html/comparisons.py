"""One cell against another as the page shows it. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchflow.report.html.figures import Figure, make_figure, write_value
from benchflow.report.profile import CellComparison, MetricComparison


@dataclass(frozen=True, kw_only=True)
class MetricLine:
    """One metric on both sides."""

    metric: str
    base: str
    head: str
    difference: Figure
    p: str
    """Corrected for the number of metrics."""
    verdict: str
    note: str
    higher_is_better: bool


@dataclass(frozen=True, kw_only=True)
class Versus:
    """All metrics of two cells."""

    base: str
    head: str
    note: str
    lines: Sequence[MetricLine]


def make_versus(comparison: CellComparison) -> Versus:
    """Write a comparison of two cells."""
    return Versus(
        base=comparison.base_label,
        head=comparison.head_label,
        note=" ".join(_notes(comparison)),
        lines=[_line(one) for one in comparison.metrics],
    )


def _line(one: MetricComparison) -> MetricLine:
    metric = one.metric
    return MetricLine(
        metric=metric.title,
        base=write_value(metric, one.base),
        head=write_value(metric, one.head),
        difference=make_figure(metric, one.difference, signed=True),
        p="-" if one.p_adjusted is None else write_p(one.p_adjusted),
        verdict=one.verdict,
        note=_detectable(one),
        higher_is_better=metric.higher_is_better,
    )


def write_p(p: float) -> str:
    """Write a probability."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _detectable(one: MetricComparison) -> str:
    if one.verdict != "not distinguishable":
        return f"Cohen's d {one.effect:.2f}, {one.magnitude}" if one.effect is not None and one.magnitude else ""
    if one.detectable is None:
        return "too little to detect any difference"
    return f"detectable: {write_value(one.metric, one.detectable)}"


def _notes(comparison: CellComparison) -> Iterator[str]:
    level = f"{comparison.level:.0%}"
    yield f"Paired over {comparison.shared} shared scenarios; intervals at {level}, p corrected by Holm's method."
    if comparison.over == "trials":
        yield "Too few scenarios to speak of others: this holds for these scenarios only."
    if comparison.left_out:
        yield f"Not on both sides: {', '.join(comparison.left_out)}."
    if comparison.changed:
        yield f"Changed between the sides, so not compared: {', '.join(comparison.changed)}."
    bounds = comparison.success_bounds
    unscored = bounds.base_unscored + bounds.head_unscored
    if unscored and bounds.least is not None and bounds.most is not None:
        reach = f"{bounds.least:+.2f} to {bounds.most:+.2f}"
        yield f"{unscored} unscored trials: whatever they were, success differs by {reach}."
