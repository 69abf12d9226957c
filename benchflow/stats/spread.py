"""How much the difference of two paired sides varies, also where values at their bounds seem not to vary at all.

Twelve of twelve against twelve of twelve has no spread to be seen, and yet says little of a true difference of 0.1. For
metrics with bounds these intervals stay open there, as a score interval does for one rate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchflow.stats.interval import Interval
from benchflow.stats.rates import wilson
from benchflow.stats.student import normal_quantile, t_quantile

Pair = tuple[Sequence[float], Sequence[float]]
"""The trials of one scenario on both sides; neither is empty."""
Bounds = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How surely the difference is known."""

    error: float
    """Its standard error, in its own unit."""
    df: float
    """The degrees of freedom of that estimate."""
    score: Interval | None
    """The score interval; None for a metric without bounds."""


def spread_over_scenarios(pairs: Sequence[Pair], bounds: Bounds | None, level: float) -> Spread:
    """Return the spread where scenarios, at least two, are what is sampled.

    With bounds: as if two more trials of a scenario had come out, one wholly for head and one wholly for base (Agresti
    and Min, Simple Improved Confidence Intervals for Comparing Matched Proportions, Statistics in Medicine 24, 2005),
    with Student's quantile. Where scenarios are repeated, two more trials are that much less of a scenario.
    """
    differences = np.array([math.fsum(head) / len(head) - math.fsum(base) / len(base) for base, head in pairs])
    count = len(pairs)
    plain = float(differences.std(ddof=1)) / math.sqrt(count)
    if bounds is None:
        return Spread(error=plain, df=count - 1, score=None)
    share = float(np.mean([(1 / len(base) + 1 / len(head)) / 2 for base, head in pairs]))
    weight = count + 2 * share
    centre = float(differences.sum()) / weight
    squares = float((differences**2).sum()) + share * (bounds[1] - bounds[0]) ** 2
    error = math.sqrt((squares / weight - centre**2) / weight)
    half = t_quantile(0.5 + level / 2, count + 1) * error
    score = Interval(low=centre - half, high=centre + half, level=level)
    return Spread(error=max(plain, error), df=count - 1, score=score)


def spread_over_trials(pairs: Sequence[Pair], bounds: Bounds | None, level: float) -> Spread | None:
    """Return the spread where these scenarios are fixed and their trials are what is sampled.

    With bounds: the Wilson intervals of all scenarios and sides, squared and added (Newcombe, Statistics in Medicine
    17, 1998, method 10; for sums over strata, Zou and Donner, Statistics in Medicine 27, 2008). A value within the
    bounds varies no more than one at them. Else the pooled spread of the trials within their scenario and side; None
    where no scenario is repeated.
    """
    if bounds is not None:
        score = _added(pairs, bounds, level)
        error = score.width / 2 / normal_quantile(0.5 + level / 2)
        return Spread(error=error, df=_repeats(pairs) or 1, score=score)
    df = _repeats(pairs)
    if not df:
        return None
    squares = sum(float(np.var(side)) * len(side) for pair in pairs for side in pair)
    parts = sum(1 / len(side) for pair in pairs for side in pair)
    return Spread(error=math.sqrt(squares / df * parts) / len(pairs), df=df, score=None)


def _repeats(pairs: Sequence[Pair]) -> int:
    return sum(len(side) - 1 for pair in pairs for side in pair)


def _added(pairs: Sequence[Pair], bounds: Bounds, level: float) -> Interval:
    least, span = bounds[0], bounds[1] - bounds[0]
    difference = below = above = 0.0
    for base, head in pairs:
        first, second = ((float(np.mean(side)) - least) / span for side in (base, head))
        base_limits, head_limits = wilson(first, len(base), level=level), wilson(second, len(head), level=level)
        difference += second - first
        below += (second - head_limits.low) ** 2 + (base_limits.high - first) ** 2
        above += (head_limits.high - second) ** 2 + (first - base_limits.low) ** 2
    scale = span / len(pairs)
    low, high = difference - math.sqrt(below), difference + math.sqrt(above)
    return Interval(low=scale * low, high=scale * high, level=level)
