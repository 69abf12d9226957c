"""One cell against another, metric by metric, paired by scenario."""

from collections.abc import Mapping, Sequence
from itertools import chain

from benchflow.report.profile.compared import CellComparison, MetricComparison
from benchflow.report.profile.estimate import Estimate, estimate
from benchflow.report.profile.metrics import METRICS, Metric, MetricName
from benchflow.report.profile.naming import CellName
from benchflow.report.profile.repeats import Repeats
from benchflow.report.profile.resampling import permutations, resamples
from benchflow.stats.bounds import DifferenceBounds, difference_bounds
from benchflow.stats.correction import holm
from benchflow.stats.effect import cohens_d
from benchflow.stats.paired import PairedComparison, Trials, compare, relative_reduction_of_pairs

Side = Mapping[str, Repeats]
"""Scenario → its trials in a cell, sorted by scenario."""


def compare_cells(
    names: tuple[CellName, CellName],
    labels: tuple[str, str],
    base: Side,
    head: Side,
    *,
    level: float,
    seed: int,
) -> CellComparison:
    """Compare two cells, base first, over the scenarios that are the same on both sides."""
    changed = {name for name in base.keys() & head.keys() if base[name].digests != head[name].digests}
    first, second = ({name: one for name, one in side.items() if name not in changed} for side in (base, head))
    shared = {name for name in first.keys() & second.keys() if first[name].scored and second[name].scored}
    pairs = [(metric, _pair(metric, first, second, level, seed)) for metric in METRICS]
    known = [(metric, pair) for metric, pair in pairs if pair.p is not None]
    adjusted = holm([pair.p for _, pair in known if pair.p is not None])
    return CellComparison(
        base=names[0],
        head=names[1],
        base_label=labels[0],
        head_label=labels[1],
        over=known[0][1].over if known else "scenarios",
        shared=len(shared),
        left_out=tuple(sorted({*first, *second} - shared)),
        changed=tuple(sorted(changed)),
        metrics=tuple(
            _metric(metric, pair, first, second, p, level, seed)
            for (metric, pair), p in zip(known, adjusted, strict=True)
        ),
        success_bounds=_bounds(first, second, "success"),
        score_bounds=_bounds(first, second, "score"),
        level=level,
    )


def trial_values(side: Side, metric: MetricName) -> Trials:
    """Return the known values of each scenario; scenarios without any are left out."""
    return {name: values for name, one in side.items() if (values := one.values[metric])}


def _pair(metric: Metric, base: Side, head: Side, level: float, seed: int) -> PairedComparison:
    return compare(
        trial_values(base, metric.name),
        trial_values(head, metric.name),
        higher_is_better=metric.higher_is_better,
        bounds=metric.bounds,
        tests=len(METRICS),
        level=level,
        permutations=permutations(len(base)),
        resamples=resamples(len(base)) if metric.bounds else 0,
        seed=seed,
    )


def _metric(
    metric: Metric, pair: PairedComparison, base: Side, head: Side, adjusted: float, level: float, seed: int
) -> MetricComparison:
    names = {row.scenario for row in pair.scenarios}
    first, second = (
        {name: values for name, values in trial_values(side, metric.name).items() if name in names}
        for side in (base, head)
    )
    effect = cohens_d(_flat(first), _flat(second))
    method = "score and permutation" if metric.bounds else "permutation"
    return MetricComparison(
        metric=metric,
        base=pair.base,
        head=pair.head,
        difference=estimate(pair.difference, pair.interval, method, n=len(pair.scenarios)),
        reduction=None if metric.bounds else _reduction(first, second, level, seed),
        bootstrap=pair.bootstrap,
        p=pair.p,
        p_adjusted=adjusted,
        verdict=pair.verdict if adjusted <= (1 - level) * (1 + 1e-9) else "not distinguishable",
        verdict_alone=pair.verdict,
        detectable=pair.detectable,
        detectable_adjusted=pair.detectable_adjusted,
        effect=effect.d if effect else None,
        magnitude=effect.magnitude if effect else None,
        mcnemar=pair.mcnemar if metric.name == "success" else None,
        scenarios=pair.scenarios,
    )


def _reduction(base: Trials, head: Trials, level: float, seed: int) -> Estimate | None:
    found = relative_reduction_of_pairs(
        base, head, tests=len(METRICS), level=level, permutations=permutations(len(base)), seed=seed
    )
    return estimate(found.value, found.interval, "permutation", n=len(base)) if found else None


def _flat(side: Trials) -> Sequence[float]:
    return sorted(chain.from_iterable(side.values()))


def _bounds(base: Side, head: Side, metric: MetricName) -> DifferenceBounds:
    first, second = ({name: one.bounded(metric) for name, one in side.items()} for side in (base, head))
    return difference_bounds(first, second)
