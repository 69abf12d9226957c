"""One cell against another, metric by metric, paired by scenario."""

from collections.abc import Mapping, Sequence

from benchflow.report.profile.cells import by_scenario, known_values
from benchflow.report.profile.compared import CellComparison, MetricComparison
from benchflow.report.profile.estimate import Estimate, estimate
from benchflow.report.profile.measured import Measured
from benchflow.report.profile.metrics import METRICS, Metric, MetricName
from benchflow.stats.bounds import difference_bounds
from benchflow.stats.correction import holm
from benchflow.stats.effect import cohens_d
from benchflow.stats.paired import PairedComparison, Trials, compare, relative_reduction_of_pairs

Group = Mapping[str, Sequence[Measured]]
"""Scenario → its trials on one side."""


def compare_cells(
    base: Sequence[Measured], head: Sequence[Measured], labels: tuple[str, str], *, level: float, seed: int
) -> CellComparison:
    """Compare two cells, neither of them empty, over the scenarios that are the same on both sides."""
    sides = by_scenario(base), by_scenario(head)
    changed = {
        name for name in sides[0].keys() & sides[1].keys() if _digests(sides[0][name]) != _digests(sides[1][name])
    }
    kept = tuple({name: group for name, group in side.items() if name not in changed} for side in sides)
    scored = tuple({name: [one for one in group if one.scored] for name, group in side.items()} for side in kept)
    shared = [name for name, group in scored[0].items() if group and scored[1].get(name)]
    pairs = [(metric, _pair(metric, scored, level, seed)) for metric in METRICS]
    known = [(metric, pair) for metric, pair in pairs if pair.difference is not None]
    adjusted = iter(holm([pair.p for _, pair in known if pair.p is not None]))
    metrics = [
        _metric(metric, pair, scored, None if pair.p is None else next(adjusted), level, seed) for metric, pair in known
    ]
    return CellComparison(
        base=base[0].cell,
        head=head[0].cell,
        base_label=labels[0],
        head_label=labels[1],
        over=known[0][1].over if known else "scenarios",
        shared=len(shared),
        left_out=tuple(sorted({*kept[0], *kept[1]} - set(shared))),
        changed=tuple(sorted(changed)),
        metrics=tuple(metrics),
        success_bounds=difference_bounds(*(_bounded(side, "success") for side in kept)),
        score_bounds=difference_bounds(*(_bounded(side, "score") for side in kept)),
        level=level,
    )


def trial_values(side: Group, metric: MetricName) -> Trials:
    """Return the known values of each scenario, sorted; scenarios without any are left out."""
    values = {scenario: known_values(trials, metric) for scenario, trials in side.items()}
    return {scenario: known for scenario, known in values.items() if known}


def _pair(metric: Metric, sides: Sequence[Group], level: float, seed: int) -> PairedComparison:
    base, head = (trial_values(side, metric.name) for side in sides)
    return compare(base, head, higher_is_better=metric.higher_is_better, bounds=metric.bounds, level=level, seed=seed)


def _metric(
    metric: Metric, pair: PairedComparison, sides: Sequence[Group], adjusted: float | None, level: float, seed: int
) -> MetricComparison:
    names = {row.scenario for row in pair.scenarios}
    base, head = (
        {name: values for name, values in trial_values(side, metric.name).items() if name in names} for side in sides
    )
    effect = cohens_d(*(sorted(value for values in side.values() for value in values) for side in (base, head)))
    surely = adjusted is not None and adjusted <= (1 - level) * (1 + 1e-9)
    return MetricComparison(
        metric=metric,
        base=pair.base,
        head=pair.head,
        difference=estimate(
            pair.difference,
            pair.interval,
            "score and permutation" if metric.bounds else "permutation",
            n=len(pair.scenarios),
        ),
        reduction=None if metric.bounds else _reduction(base, head, level, seed),
        p=pair.p,
        p_adjusted=adjusted,
        verdict=pair.verdict if surely else "not distinguishable",
        detectable=pair.detectable,
        effect=effect.d if effect else None,
        magnitude=effect.magnitude if effect else None,
        mcnemar=pair.mcnemar if metric.name == "success" else None,
        scenarios=pair.scenarios,
    )


def _reduction(base: Trials, head: Trials, level: float, seed: int) -> Estimate | None:
    found = relative_reduction_of_pairs(base, head, level=level, seed=seed)
    return estimate(found.value, found.interval, "permutation", n=len(base)) if found else None


def _digests(trials: Sequence[Measured]) -> set[str]:
    return {trial.digest for trial in trials}


def _bounded(side: Group, metric: MetricName) -> Mapping[str, Sequence[float | None]]:
    """Return all values of a metric, None for those of unscored trials, in an order of their own."""
    return {
        scenario: [*known_values(trials, metric), *(None for trial in trials if not trial.scored)]
        for scenario, trials in side.items()
    }
