"""What one sample looks like: count, mean, spread, percentiles."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benchflow.stats.interval import Interval, check_level
from benchflow.stats.sample import Numbers, sample
from benchflow.stats.student import t_quantile


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One sample in ten numbers, each in the sample's own unit; None where there are too few values for it."""

    count: int
    mean: float | None = None
    sd: float | None = None
    """The sample standard deviation (divided by n - 1); None below two values."""
    min: float | None = None
    max: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    total: float = 0.0


def describe(values: Iterable[float]) -> Summary:
    """Summarise a sample. Percentiles are interpolated linearly (type 7 of Hyndman and Fan, 1996)."""
    numbers = sample(values)
    if not numbers.size:
        return Summary(count=0)
    least, greatest = float(numbers.min()), float(numbers.max())
    p50, p90, p95, p99 = (float(percentile) for percentile in np.percentile(numbers, (50, 90, 95, 99)))
    return Summary(
        count=numbers.size,
        mean=min(max(float(numbers.mean()), least), greatest),  # rounding must not carry it out of the range
        sd=_sd(numbers, least, greatest),
        min=least,
        max=greatest,
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        total=float(numbers.sum()),
    )


def mean_interval(values: Iterable[float], *, level: float = 0.95) -> Interval | None:
    """Return Student's interval of the mean, as cheap for 100,000 values as for 10; None below two values."""
    check_level(level)
    summary = describe(values)
    if summary.mean is None or summary.sd is None:
        return None
    half = t_quantile(0.5 + level / 2, summary.count - 1) * summary.sd / math.sqrt(summary.count)
    return Interval(low=summary.mean - half, high=summary.mean + half, level=level)


def _sd(numbers: Numbers, least: float, greatest: float) -> float | None:
    if numbers.size < 2:
        return None
    return 0.0 if least == greatest else float(numbers.std(ddof=1))
