"""Bootstrap intervals of one sample's statistic. The same seed gives the same interval."""

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from benchflow.stats.interval import Interval, check_level
from benchflow.stats.sample import Numbers, sample, weighted_sums
from benchflow.stats.statistic import MEAN, Statistic
from benchflow.stats.student import normal_cdf, normal_quantile, t_quantile

RESAMPLES = 10_000
AT_ONCE = 2_000_000
"""How many numbers are resampled at once, so that memory stays flat."""


def percentile_interval(
    values: Iterable[float],
    statistic: Statistic = MEAN,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """Return the percentile interval (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3).

    None below two values. It covers too seldom for the mean of fewer than some 30: take the expanded one there.
    """
    numbers = sample(values)
    tail = (1 - check_level(level)) / 2
    return _between(numbers, draws(numbers, statistic, resamples, seed), tail, 1 - tail, level)


def expanded_interval(
    values: Iterable[float],
    statistic: Statistic = MEAN,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """Return the percentile interval with its tails moved out to Student's, for small samples; None below two values.

    The tail is Phi(-sqrt(n / (n - 1)) t), t being Student's quantile at n - 1 degrees of freedom (Hesterberg, What
    Teachers Should Know About the Bootstrap, The American Statistician 69, 2015, section 4.2.2, "expanded percentile").
    """
    numbers = sample(values)
    check_level(level)
    if numbers.size < 2:
        return None
    t = t_quantile(0.5 + level / 2, numbers.size - 1)
    tail = normal_cdf(-math.sqrt(numbers.size / (numbers.size - 1)) * t)
    return _between(numbers, draws(numbers, statistic, resamples, seed), tail, 1 - tail, level)


def bca_interval(
    values: Iterable[float],
    statistic: Statistic = MEAN,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """Return the bias-corrected and accelerated interval (Efron, Better Bootstrap Confidence Intervals, JASA 82, 1987).

    The acceleration is the jackknife's; draws equal to the estimate count half. None below two values.
    """
    numbers = sample(values)
    tail = (1 - check_level(level)) / 2
    if numbers.size < 2:
        return None
    drawn = draws(numbers, statistic, resamples, seed, to_the_bit=True)
    estimate = statistic.of(numbers)
    share = float((drawn < estimate).mean() + (drawn <= estimate).mean()) / 2
    if not 0 < share < 1:
        return _between(numbers, drawn, tail, 1 - tail, level)  # every draw lies on one side: nothing to correct by
    bias, acceleration = normal_quantile(share), _acceleration(numbers, statistic)
    low, high = (_moved(bias, acceleration, z) for z in (normal_quantile(tail), normal_quantile(1 - tail)))
    return _between(numbers, drawn, low, high, level)


def draws(values: Numbers, statistic: Statistic, resamples: int, seed: int, *, to_the_bit: bool = False) -> Numbers:
    """Return so many draws from the statistic's bootstrap distribution, by its shortcut where it has one.

    A mean that equals the sample's may differ from it in its last bits, unless `to_the_bit`.
    """
    if resamples < 1:
        raise ValueError(f"{resamples} resamples; at least 1 is needed")
    if values.size < 2:
        return np.empty(0)
    if statistic is MEAN and not to_the_bit and values.size * resamples <= AT_ONCE:
        return weighted_sums(_weights(values.size, resamples, seed), values)
    rng = np.random.default_rng(seed)
    if statistic.draw and (drawn := statistic.draw(values, resamples, rng)) is not None:
        return drawn
    rows = max(1, AT_ONCE // values.size)
    parts = [
        statistic.of_rows(values[rng.integers(0, values.size, (min(rows, resamples - begun), values.size))])
        for begun in range(0, resamples, rows)
    ]
    return np.concatenate(parts)


@lru_cache(maxsize=4)
def _weights(size: int, resamples: int, seed: int) -> Numbers:
    """Return the share that each value has of each resample's mean: the same for every sample of this size."""
    chosen = np.random.default_rng(seed).integers(0, size, (resamples, size))
    chosen += np.arange(0, resamples * size, size)[:, np.newaxis]
    counts = np.bincount(chosen.ravel(), minlength=resamples * size).reshape(resamples, size)
    return counts / size


def _between(numbers: Numbers, drawn: Numbers, low: float, high: float, level: float) -> Interval | None:
    if not drawn.size:
        return None
    if numbers.min() == numbers.max():
        drawn = drawn[:1]  # rounding must not give a constant sample a width
    limits = np.quantile(drawn, (low, high))
    return Interval(low=float(limits[0]), high=float(limits[1]), level=level)


def _moved(bias: float, acceleration: float, z: float) -> float:
    return normal_cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))


def _acceleration(numbers: Numbers, statistic: Statistic) -> float:
    if statistic.leave_one_out:
        without = statistic.leave_one_out(numbers)
    else:
        without = np.array([statistic.of(np.delete(numbers, index)) for index in range(numbers.size)])
    deviations = without.mean() - without
    squares = float((deviations**2).sum())
    return float((deviations**3).sum()) / (6 * squares**1.5) if squares else 0.0
