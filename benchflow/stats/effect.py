"""How large a difference between two independent groups is, whether or not it could be chance."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchflow.stats.interval import Interval, check_level
from benchflow.stats.sample import Numbers, sample
from benchflow.stats.student import t_quantile

Magnitude = Literal["negligible", "small", "medium", "large"]


@dataclass(frozen=True, kw_only=True)
class EffectSize:
    """A difference of means in standard deviations; above 0 where head is the larger."""

    d: float
    """Cohen's d."""
    g: float
    """Hedges' g: d without its bias in small samples."""
    magnitude: Magnitude
    """Of d, by Cohen's thresholds."""


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """How much smaller head is than base, as a share of base: 0.25 is a quarter less, -1 is twice as much."""

    value: float
    interval: Interval | None
    """None below two values on a side."""


def cohens_d(base: Iterable[float], head: Iterable[float]) -> EffectSize | None:
    """Return the difference of means over the pooled standard deviation, which needs two values on each side.

    Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988, section 2.5; the correction is
    the exact one of Hedges, Journal of Educational Statistics 6, 1981. None where neither side varies, but they differ.
    """
    first, second = sample(base, "base"), sample(head, "head")
    if min(first.size, second.size) < 2:
        return None
    df = first.size + second.size - 2
    difference = float(second.mean() - first.mean())
    pooled = math.sqrt(((first.size - 1) * _variance(first) + (second.size - 1) * _variance(second)) / df)
    if not pooled:
        equal = first[0] == second[0]
        return EffectSize(d=0.0, g=0.0, magnitude="negligible") if equal else None
    d = difference / pooled
    correction = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2) if df > 1 else 0.0
    return EffectSize(d=d, g=d * correction, magnitude=magnitude(d))


def magnitude(d: float) -> Magnitude:
    """Name the size of a Cohen's d: small from 0.2, medium from 0.5, large from 0.8 (Cohen, 1988, section 2.2.3)."""
    size = abs(d)
    return "negligible" if size < 0.2 else "small" if size < 0.5 else "medium" if size < 0.8 else "large"


def cliffs_delta(base: Iterable[float], head: Iterable[float]) -> float | None:
    """Return P(head > base) - P(head < base), within [-1, 1] (Cliff, Psychological Bulletin 114, 1993).

    It is told by order alone, so outliers cannot sway it. None where a side is empty. O(n log n).
    """
    first, second = np.sort(sample(base, "base")), sample(head, "head")
    if not first.size or not second.size:
        return None
    below = np.searchsorted(first, second, side="left").sum()
    above = (first.size - np.searchsorted(first, second, side="right")).sum()
    return float(below - above) / (first.size * second.size)


def relative_reduction(base: Iterable[float], head: Iterable[float], *, level: float = 0.95) -> Reduction | None:
    """Return 1 - mean(head) / mean(base) of two independent groups; None where a mean is not above 0.

    The interval is Student's on the logarithm of the ratio of means, by the delta method with Welch's degrees of
    freedom (Hedges, Gurevitch and Curtis, Ecology 80, 1999). The logarithm and not a bootstrap: tokens, times and costs
    are positive and skewed, a ratio's logarithm is nearly symmetric and cannot leave the possible range, it needs no
    seed, and it does not shrink for few values as resampling does.
    """
    first, second = sample(base, "base"), sample(head, "head")
    check_level(level)
    if not first.size or not second.size or first.mean() <= 0 or second.mean() <= 0:
        return None
    ratio = float(second.mean() / first.mean())
    if min(first.size, second.size) < 2:
        return Reduction(value=1 - ratio, interval=None)
    errors = [_variance(side) / side.size / float(side.mean()) ** 2 for side in (first, second)]
    half = 0.0
    if sum(errors):
        df = sum(errors) ** 2 / (errors[0] ** 2 / (first.size - 1) + errors[1] ** 2 / (second.size - 1))
        half = t_quantile(0.5 + level / 2, df) * math.sqrt(sum(errors))
    interval = Interval(low=1 - ratio * math.exp(half), high=1 - ratio * math.exp(-half), level=level)
    return Reduction(value=1 - ratio, interval=interval)


def _variance(values: Numbers) -> float:
    """Return the sample variance; exactly 0 for equal values, which rounding would deny."""
    return float(values.var(ddof=1)) if values.min() < values.max() else 0.0
