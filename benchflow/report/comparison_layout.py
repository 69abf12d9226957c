"""Comparisons as headings, texts and grids."""

from collections.abc import Iterator, Sequence

from benchflow.report import figures_text as text
from benchflow.report import numbers
from benchflow.report.layout import Grid, Heading, Part, Text, Tone, grid
from benchflow.report.limits_layout import limit_parts
from benchflow.report.profile import CellComparison, CellFigures, Comparison, MetricComparison
from benchflow.report.profile.matching import name_text
from benchflow.report.text import one_line

TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


def whole_comparison_parts(comparison: Comparison) -> Iterator[Part]:
    """Yield all that is said of two runs."""
    base, head = (", ".join(map(one_line, side.runs)) for side in (comparison.base, comparison.head))
    yield Heading(text=f"{head} (head) against {base} (base)")
    for side, profile in (("base", comparison.base), ("head", comparison.head)):
        yield Text(
            text=f"{side}: {numbers.plural(profile.trials, 'trial')}, {profile.passed:,} of {profile.scored:,} scored "
            f"passed, {profile.unscored:,} unscored"
        )
        for note in profile.notes:
            yield Text(text=f"{side}: {note}", tone="warn")
    for note in comparison.notes:
        yield Text(text=note, tone="warn")
    yield _sides(comparison)
    yield from limit_parts({"base": comparison.base.cells, "head": comparison.head.cells})
    for cells in comparison.cells:
        yield from comparison_parts(cells)
    for side, names in (("base", comparison.only_base), ("head", comparison.only_head)):
        if names:
            yield Text(text=f"Only in {side}: {'; '.join(map(name_text, names))}", tone="warn")


def comparison_parts(comparison: CellComparison) -> Iterator[Part]:
    """Yield what is said of two cells."""
    yield Heading(text=_title(comparison))
    yield Text(text=_basis(comparison))
    for names, why in (
        (comparison.left_out, "without scored trials on both sides"),
        (comparison.changed, "whose files are not the same on both sides"),
    ):
        if names:
            yield Text(
                text=f"Left out, {why}: {', '.join(map(one_line, names[:12]))}"
                + (f" and {len(names) - 12} more" if len(names) > 12 else ""),
                tone="warn",
            )
    for name in ("success", "score"):
        if metric := comparison.metric(name):
            yield Text(text=verdict_line(metric), tone=TONES.get(metric.verdict, "plain"))
    if comparison.metrics:
        yield _grid(comparison.metrics)
        yield Text(
            text=f"p by permutation, adjusted for {len(comparison.metrics)} metrics (Holm); the effect is Cohen's d.",
            tone="quiet",
        )
        yield from _paired_outcomes(comparison)
    yield from _bounds(comparison)


def verdict_line(metric: MetricComparison) -> str:
    """Say the verdict on a metric in a sentence, and where there is none, what could have been seen."""
    name = metric.metric.name
    shown = f"{text.difference(name, metric.difference.value)}"
    if metric.difference.low is not None:
        shown += f", {text.difference_interval(name, metric.difference)}"
    line = f"{metric.metric.title}: {metric.verdict} ({shown}; adjusted p {text.p_value(metric.p_adjusted)})"
    if metric.verdict != "not distinguishable":
        return line + "."
    return f"{line}; {detectable_text(metric)}."


def detectable_text(metric: MetricComparison) -> str:
    """Say the smallest difference that would have been seen."""
    if metric.detectable_adjusted is None:
        return "so few trials show no difference, however large, unless other metrics differ, too"
    size = text.difference(metric.metric.name, metric.detectable_adjusted).removeprefix("+")
    return f"a difference of {size} or more would have been seen four times in five"


def _title(comparison: CellComparison) -> str:
    if comparison.base_label == comparison.head_label:
        return f"{comparison.head_label}: head against base"
    return f"{comparison.head_label} against {comparison.base_label}"


def _basis(comparison: CellComparison) -> str:
    paired = f"Paired by scenario, over {numbers.plural(comparison.shared, 'scenario')}"
    if comparison.over == "scenarios":
        return f"{paired}; intervals hold for scenarios like these."
    return f"{paired}: too few to speak of others; the trials are what varies, so this holds for these scenarios only."


def _sides(comparison: Comparison) -> Grid:
    rows = [*_side("base", comparison.base.cells), *_side("head", comparison.head.cells)]
    return grid("side|cell|passed|unscored|success|score", rows)


def _side(side: str, cells: Sequence[CellFigures]) -> list[tuple[str, ...]]:
    return [
        (
            side,
            cell.label,
            f"{cell.passed:,}/{cell.scored:,}",
            f"{cell.unscored:,}",
            text.estimate("success", cell.success),
            text.estimate("score", cell.score),
        )
        for cell in cells
    ]


def _grid(metrics: Sequence[MetricComparison]) -> Grid:
    return grid("metric\nverdict|base\nhead|difference|change|p\neffect", [_row(metric) for metric in metrics])


def _row(metric: MetricComparison) -> tuple[str, ...]:
    name, effect = metric.metric.name, metric.effect
    change = f"{text.change(metric.reduction)}\n{text.change_interval(metric.reduction)}"
    return (
        f"{metric.metric.title}\n{metric.verdict}",
        f"{text.value(name, metric.base)}\n{text.value(name, metric.head)}",
        f"{text.difference(name, metric.difference.value)}\n{text.difference_interval(name, metric.difference)}",
        change if metric.reduction else text.NONE,
        text.p_value(metric.p_adjusted) + (f"\n{effect:+.2f} {metric.magnitude}" if effect is not None else ""),
    )


def _paired_outcomes(comparison: CellComparison) -> Iterator[Part]:
    success = comparison.metric("success")
    if success and (pairs := success.mcnemar):
        yield Text(
            text=f"Of {numbers.plural(comparison.shared, 'pair')}, {pairs.only_base} passed only in base and "
            f"{pairs.only_head} only in head (McNemar's exact p {text.p_value(pairs.p)})."
        )


def _bounds(comparison: CellComparison) -> Iterator[Part]:
    bounds = comparison.score_bounds
    if bounds.base_unscored + bounds.head_unscored and bounds.least is not None and bounds.most is not None:
        yield Text(
            text=f"Unscored: {bounds.base_unscored} in base, {bounds.head_unscored} in head; whatever they were, the "
            f"difference of scores would lie within {text.difference('score', bounds.least)} and "
            f"{text.difference('score', bounds.most)}.",
            tone="warn",
        )
