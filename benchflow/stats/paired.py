"""Two sides compared scenario by scenario: the difference, its interval, the verdict, what could have been found."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchflow.stats.bootstrap import RESAMPLES, expanded_interval
from benchflow.stats.detectable import smallest_detectable, within_bounds
from benchflow.stats.effect import Reduction
from benchflow.stats.interval import Interval, check_level, hull
from benchflow.stats.mcnemar import McNemar, mcnemar
from benchflow.stats.permutation import PERMUTATIONS, ShiftTest, sign_flips, within_strata
from benchflow.stats.sample import sample
from benchflow.stats.spread import Bounds, Pair, Spread, spread_over_scenarios, spread_over_trials

Verdict = Literal["better", "worse", "not distinguishable"]
Over = Literal["scenarios", "trials"]
Trials = Mapping[str, Sequence[float]]
"""Scenario → the values of its scored trials on one side."""


@dataclass(frozen=True, kw_only=True)
class ScenarioDifference:
    """The means of one scenario on both sides."""

    scenario: str
    base: float
    head: float

    @property
    def difference(self) -> float:
        """Head less base."""
        return self.head - self.base


@dataclass(frozen=True, kw_only=True)
class PairedComparison:
    """Head against base, over the scenarios that have values on both sides, each scenario counting the same."""

    scenarios: tuple[ScenarioDifference, ...] = ()
    left_out: tuple[str, ...]
    """The scenarios without values on one side or both."""
    base: float | None = None
    """The mean of the scenarios' means; None, as in what follows: no scenario is on both sides."""
    head: float | None = None
    difference: float | None = None
    """Head less base."""
    over: Over
    """What is taken for chance. `scenarios`: the result holds for scenarios like these. `trials`: it holds for these
    scenarios only, which are too few to speak of others; their repetitions are what varies."""
    interval: Interval | None = None
    """Of the difference; None: too few scenarios and repetitions to say anything."""
    bootstrap: Interval | None = None
    """The cluster bootstrap's, whole scenarios drawn. No verdict rests on it: for few scenarios it is too narrow. None
    below two of them."""
    p: float | None = None
    """Of no difference, by permutation: signs of scenarios, or labels of trials within each scenario."""
    mcnemar: McNemar | None = None
    """None unless every scenario has one trial a side, which passed (1) or did not (0)."""
    verdict: Verdict = "not distinguishable"
    detectable: float | None = None
    """The smallest difference, either way, that such a sample shows with a chance of 0.8; None: none at all."""
    detectable_adjusted: float | None = None
    """The same where the verdict is corrected for several metrics (Holm), of which this one alone differs."""


def compare(
    base: Trials,
    head: Trials,
    *,
    higher_is_better: bool = True,
    bounds: Bounds | None = None,
    tests: int = 1,
    level: float = 0.95,
    permutations: int = PERMUTATIONS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedComparison:
    """Compare two sides by the mean difference of their scenarios' means.

    With enough scenarios for a sign-flip test to reach the level these are what is sampled, else their trials; where
    the verdict is corrected for so many `tests` (Holm), enough for a p so corrected: 6 scenarios for 0.95 and one test,
    9 for seven. The interval is the permutation test's inverted, so it agrees with p; for a metric with `bounds`, the
    least and the greatest value possible ((0, 1) for success and score), it also holds the score interval, since values
    at a bound show no spread. The verdict is `better` or `worse` where it excludes 0. Without `resamples` (0) there is
    no bootstrap. Raises ValueError for a value that is not a number or not within the bounds.
    """
    check_level(level)
    _check(base, "base", bounds)
    _check(head, "head", bounds)
    matched = [scenario for scenario, values in base.items() if len(values) and len(head.get(scenario, ()))]
    left_out = tuple(scenario for scenario in {**base, **head} if scenario not in set(matched))
    pairs: list[Pair] = [(base[scenario], head[scenario]) for scenario in matched]
    rows = tuple(
        ScenarioDifference(scenario=scenario, base=_mean(base[scenario]), head=_mean(head[scenario]))
        for scenario in matched
    )
    differences = [row.difference for row in rows]
    strict = 1 - (1 - level) / tests
    enough = 2.0 ** (1 - len(rows)) <= (1 - strict) * (1 + 1e-9)
    test = (
        sign_flips(differences, permutations=permutations, seed=seed)
        if enough
        else within_strata(pairs, permutations=permutations, seed=seed)
    )
    if test is None:
        return PairedComparison(left_out=left_out, over="scenarios")
    spread_of = spread_over_scenarios if enough else spread_over_trials
    difference, p = _mean(differences), test.p_value()
    interval = _interval(test, spread_of(pairs, bounds, level), bounds, level)
    detectable, adjusted = (
        _detectable(test, difference, pairs, spread_of(pairs, bounds, one), bounds, one, among=enough)
        for one in (level, strict)
    )
    return PairedComparison(
        scenarios=rows,
        left_out=left_out,
        base=_mean([row.base for row in rows]),
        head=_mean([row.head for row in rows]),
        difference=difference,
        over="scenarios" if enough else "trials",
        interval=interval,
        bootstrap=expanded_interval(differences, level=level, resamples=resamples, seed=seed) if resamples else None,
        p=p,
        mcnemar=_mcnemar(pairs),
        verdict=_verdict(interval, p, level, higher_is_better),
        detectable=detectable,
        detectable_adjusted=adjusted,
    )


def relative_reduction_of_pairs(
    base: Trials,
    head: Trials,
    *,
    tests: int = 1,
    level: float = 0.95,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Reduction | None:
    """Return 1 - ratio of a typical trial's head to base, by `compare` of the logarithms: for tokens, times and costs.

    The ratio is one of geometric means, so that the dearest scenario does not decide alone. None where a value is not
    above 0, or no scenario is on both sides.
    """
    if any(min(values, default=1) <= 0 for side in (base, head) for values in side.values()):
        return None
    logs = [{scenario: list(map(math.log, values)) for scenario, values in side.items()} for side in (base, head)]
    compared = compare(logs[0], logs[1], tests=tests, level=level, permutations=permutations, resamples=0, seed=seed)
    if compared.difference is None:
        return None
    interval = compared.interval and Interval(
        low=-math.expm1(compared.interval.high), high=-math.expm1(compared.interval.low), level=level
    )
    return Reduction(value=-math.expm1(compared.difference), interval=interval)


def _check(trials: Trials, side: str, bounds: Bounds | None) -> None:
    least, greatest = bounds or (-math.inf, math.inf)
    if all(
        math.isfinite(sum(values)) and least <= min(values, default=least) <= max(values, default=least) <= greatest
        for values in trials.values()
    ):
        return
    for scenario, values in trials.items():
        numbers = sample(values, f"{side}: {scenario}")
        if bounds and numbers.size and not bounds[0] <= numbers.min() <= numbers.max() <= bounds[1]:
            raise ValueError(f"{side}: {scenario}: a value is not within {bounds[0]} to {bounds[1]}")


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _interval(test: ShiftTest, spread: Spread | None, bounds: Bounds | None, level: float) -> Interval | None:
    """Join the inverted test and the score interval, as far as a difference is possible at all."""
    inverted = test.interval(level)
    if inverted is None or bounds is None or spread is None or spread.score is None:
        return inverted
    both, span = hull([inverted, spread.score]), bounds[1] - bounds[0]
    return Interval(low=max(-span, both.low), high=min(span, both.high), level=level)


def _mcnemar(pairs: Sequence[Pair]) -> McNemar | None:
    if any(len(side) != 1 or side[0] not in (0, 1) for pair in pairs for side in pair):
        return None
    return mcnemar([(bool(base[0]), bool(head[0])) for base, head in pairs])


def _verdict(interval: Interval | None, p: float, level: float, higher_is_better: bool) -> Verdict:
    if interval is None or interval.contains(0) or p > (1 - level) * (1 + 1e-9):
        return "not distinguishable"
    return "better" if (interval.low > 0) == higher_is_better else "worse"


def _detectable(
    test: ShiftTest,
    difference: float,
    pairs: Sequence[Pair],
    spread: Spread | None,
    bounds: Bounds | None,
    level: float,
    *,
    among: bool,
) -> float | None:
    """Return the smallest detectable difference at a level; `among` other scenarios, or of these alone."""
    interval = _interval(test, spread, bounds, level)
    if interval is None or spread is None:
        return None
    smallest = smallest_detectable(difference, interval, spread)
    return smallest if bounds is None else within_bounds(smallest, pairs, bounds, among=among)
