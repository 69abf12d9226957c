"""How large a difference would have been seen: what stands beside every verdict of "not distinguishable"."""

import math

from benchflow.stats.interval import Interval
from benchflow.stats.spread import Bounds, Spread
from benchflow.stats.student import t_quantile

POWER = 0.8
"""The chance with which the smallest detectable difference is found."""


def smallest_detectable(difference: float, interval: Interval, spread: Spread) -> float:
    """Return how far off 0 a true difference must be for an interval so wide to exclude 0 with a chance of 0.8.

    The interval's longer side, and Student's 0.8 quantile of standard errors: for Student's interval that is the usual
    (t(1 - alpha/2) + t(power)) standard errors (Bloom, Evaluation Review 19, 1995).
    """
    longer = max(interval.high - difference, difference - interval.low)
    return longer + t_quantile(POWER, spread.df) * spread.error


def within_bounds(smallest: float, mean: float, trials: int, bounds: Bounds) -> float | None:
    """Return the same for a metric with bounds, `trials` being those of the smaller side; None: beyond the bounds.

    A rate that falls from near 1 varies more: its variance p(1 - p) is taken where the difference leads, on the side
    of the two that varies more (Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, 3rd edition,
    2003, section 4.2). What is counted moves in steps: one trial more is their correction for continuity.
    """
    span = bounds[1] - bounds[0]
    share = ((mean - bounds[0]) / span * trials + 1) / (trials + 2)
    here, size = share * (1 - share), smallest
    for _ in range(50):  # it only grows, and converges within a few steps
        nearest_half = min(max(0.5, share - size / span), share + size / span)
        there = max(here, nearest_half * (1 - nearest_half))
        size = smallest * math.sqrt((here + there) / (2 * here)) + span / trials
    return size if size <= span else None
