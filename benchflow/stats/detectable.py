"""How large a difference would have been seen: what stands beside every verdict of "not distinguishable"."""

import math
from collections.abc import Sequence

from benchflow.stats.interval import Interval
from benchflow.stats.spread import Bounds, Pair, Spread
from benchflow.stats.student import t_quantile

POWER = 0.8
"""The chance with which the smallest detectable difference is found."""
STEPS = 200
"""How finely it is looked for between the bounds."""


def smallest_detectable(difference: float, interval: Interval, spread: Spread) -> float:
    """Return how far off 0 a true difference must be for an interval so wide to exclude 0 with a chance of 0.8.

    The interval's longer side, and Student's 0.8 quantile of standard errors: for Student's interval that is the usual
    (t(1 - alpha/2) + t(power)) standard errors (Bloom, Evaluation Review 19, 1995).
    """
    longer = max(interval.high - difference, difference - interval.low)
    return longer + t_quantile(POWER, spread.df) * spread.error


def within_bounds(smallest: float, pairs: Sequence[Pair], bounds: Bounds, *, among: bool) -> float | None:
    """Return the same for a metric with bounds; None: no difference that is possible would be seen.

    A rate that falls from near 1 varies more, and one at a bound cannot follow at all. So each scenario's rate, taken
    from both sides with half a trial more each way, is moved as far as it can go, the way in which more is needed; the
    smallest difference grows as the spread of the difference then does: by p(1 - p) on each side (Fleiss, Levin and
    Paik, Statistical Methods for Rates and Proportions, 3rd edition, 2003, section 4.2), and, `among` other scenarios,
    by how unequally they were moved. What is counted moves in steps: one trial more is the correction for continuity.
    """
    span, trials = bounds[1] - bounds[0], min(sum(len(pair[side]) for pair in pairs) for side in (0, 1))
    rates = [_share(pair, bounds) for pair in pairs]
    found = [_grown(smallest / span, rates, pairs, among=among) for rates in (rates, [1 - rate for rate in rates])]
    possible = [one for one in found if one is not None]  # all of all cannot become better
    size = max(possible, default=math.inf) * span + span / trials
    return size if size <= span else None


def _share(pair: Pair, bounds: Bounds) -> float:
    """Return where between the bounds a scenario lies, on both sides together; never quite at one of them."""
    values = [(value - bounds[0]) / (bounds[1] - bounds[0]) for side in pair for value in side]
    return (math.fsum(values) + 0.5) / (len(values) + 1)


def _grown(smallest: float, rates: Sequence[float], pairs: Sequence[Pair], *, among: bool) -> float | None:
    """Return the least difference that is as large as its own spread makes the smallest; None: rates end before."""
    still = _variance(rates, rates, pairs, among=among)
    for step in range(1, STEPS + 1):
        moved = [max(0.0, rate - step / STEPS) for rate in rates]
        size = math.fsum(rate - lower for rate, lower in zip(rates, moved, strict=True)) / len(rates)
        if size >= smallest * math.sqrt(_variance(rates, moved, pairs, among=among) / still):
            return size
    return None


def _variance(rates: Sequence[float], moved: Sequence[float], pairs: Sequence[Pair], *, among: bool) -> float:
    """Return the variance of the mean difference, times the square of the number of scenarios."""
    chance = math.fsum(
        rate * (1 - rate) / len(base) + lower * (1 - lower) / len(head)
        for rate, lower, (base, head) in zip(rates, moved, pairs, strict=True)
    )
    if not among:
        return chance
    shifts = [rate - lower for rate, lower in zip(rates, moved, strict=True)]
    mean = math.fsum(shifts) / len(shifts)
    return chance + math.fsum((shift - mean) ** 2 for shift in shifts)
