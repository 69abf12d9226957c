"""Repeating until sure enough: an interval that may be looked at after every trial, without numpy.

An ordinary interval covers the truth in 95 of 100 samples at one look planned beforehand; who looks after every trial
and stops at a good moment is misled far more often. This one holds at all looks together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.stats.interval import Interval, check_level

PRIOR = 0.5
"""Both parameters of the beta distribution that is mixed over: Jeffreys'."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What is known of a mean within [0, 1] after so many trials."""

    count: int
    mean: float | None
    """None: no trial yet."""
    interval: Interval
    """It holds at every look at once, whenever one stops; the whole of [0, 1] before the first trial."""

    def narrow_enough(self, half_width: float) -> bool:
        """Whether the mean is known to within `half_width` either way, so that 0.1 stands for plus or minus 0.1."""
        return self.interval.width <= 2 * half_width


def look(values: Sequence[float], *, level: float = 0.95) -> Look:
    """Return the confidence sequence's interval of the mean of independent values within [0, 1], at this look.

    Robbins' mixture (Robbins, Annals of Mathematical Statistics 41, 1970) over a beta distribution: were p the mean,
    B(a + s, a + n - s) / (B(a, a) p^s (1 - p)^(n - s)), s being the sum, is for passed-or-not values a martingale that
    begins at 1, and ever reaches 1 / (1 - level) with a probability of at most 1 - level (Ville's inequality); the
    interval is every p for which it has not yet. See Howard, Ramdas, McAuliffe and Sekhon, Time-uniform, nonparametric,
    nonasymptotic confidence sequences, Annals of Statistics 49, 2021, proposition 7. For values in between, each factor
    is at most its linear interpolation, whose mean is 1, so it holds for scores too, on the safe side. It depends on
    the count and the sum only: a run that is resumed gives the same.
    """
    check_level(level)
    for index, value in enumerate(values):
        if not 0 <= value <= 1:
            raise ValueError(f"values[{index}] is {value}; only values between 0 and 1 can be followed")
    if not values:
        return Look(count=0, mean=None, interval=Interval(low=0.0, high=1.0, level=level))
    total = math.fsum(values)
    interval = Interval(
        low=_lower_limit(total, len(values), level),
        high=1 - _lower_limit(len(values) - total, len(values), level),
        level=level,
    )
    return Look(count=len(values), mean=total / len(values), interval=interval)


def _lower_limit(total: float, count: int, level: float) -> float:
    """Return the least p not refused, by bisection: below the mean the mixture falls as p grows."""
    rest = count - total
    log_mixture = _log_beta(PRIOR + total, PRIOR + rest) - _log_beta(PRIOR, PRIOR) + math.log(1 - level)
    refused, held = 0.0, total / count
    for _ in range(60):
        p = (refused + held) / 2
        if log_mixture >= _log_likelihood(p, total, rest):
            refused = p
        else:
            held = p
    return refused


def _log_likelihood(p: float, total: float, rest: float) -> float:
    return (total * math.log(p) if total else 0.0) + (rest * math.log1p(-p) if rest else 0.0)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
