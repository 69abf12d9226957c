"""One cell against another as the page shows it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.report import figures_text as text
from benchflow.report.comparison_layout import comparison_parts
from benchflow.report.html.figures import Figure, make_difference
from benchflow.report.layout import Grid, Heading, Text
from benchflow.report.profile import CellComparison, MetricComparison


@dataclass(frozen=True, kw_only=True)
class MetricLine:
    """One metric on both sides."""

    metric: str
    base: str
    head: str
    difference: Figure
    change: str
    """Of head against base, in percent; `-` where there is none."""
    verdict: str
    effect: str
    p: str
    """Corrected for the number of metrics."""


@dataclass(frozen=True, kw_only=True)
class Versus:
    """All metrics of two cells."""

    title: str
    base: str
    head: str
    before: Sequence[Text]
    """The same sentences as on a terminal: what it rests on, and the verdicts."""
    lines: Sequence[MetricLine]
    after: Sequence[Text]
    """How to read it, and what else is known."""


def make_versus(comparison: CellComparison) -> Versus:
    """Write a comparison of two cells."""
    parts = list(comparison_parts(comparison))
    table = next((place for place, part in enumerate(parts) if isinstance(part, Grid)), len(parts))
    same = comparison.base_label == comparison.head_label
    return Versus(
        title=next(part.text for part in parts if isinstance(part, Heading)),
        base="base" if same else comparison.base_label,
        head="head" if same else comparison.head_label,
        before=[part for part in parts[:table] if isinstance(part, Text)],
        after=[part for part in parts[table:] if isinstance(part, Text)],
        lines=[_line(one) for one in comparison.metrics],
    )


def _line(one: MetricComparison) -> MetricLine:
    metric = one.metric
    return MetricLine(
        metric=metric.title,
        base=text.value(metric.name, one.base),
        head=text.value(metric.name, one.head),
        difference=make_difference(metric, one.difference),
        change=text.change(one.reduction),
        verdict=one.verdict,
        effect="" if one.effect is None else f"d {one.effect:+.2f} {one.magnitude}",
        p=text.p_value(one.p_adjusted),
    )
