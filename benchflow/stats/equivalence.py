"""Two one-sided tests: whether a difference is surely small, which a failure to find one never shows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from benchflow.stats.descriptive import Summary, describe
from benchflow.stats.interval import Interval, check_level
from benchflow.stats.student import t_cdf, t_quantile


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Whether the mean difference, head less base, lies surely within (-margin, margin)."""

    difference: float | None
    """None: there are no values."""
    margin: float
    p: float
    """The larger of the two one-sided p-values; 1 where there are too few values to say."""
    equivalent: bool
    """p is at most 1 - level."""
    interval: Interval | None
    """At the level 2 * level - 1 (90 % for 95 %): it lies within the margin exactly where `equivalent` is true."""


def equivalent_pairs(differences: Iterable[float], margin: float, *, level: float = 0.95) -> Equivalence:
    """Test paired differences by Student's t.

    Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987. The margin, above 0, is to be stated before
    the data are seen.
    """
    summary = describe(differences)
    if summary.mean is None or summary.sd is None:
        return _unknown(summary.mean, _checked(margin), level)
    return _decide(summary.mean, summary.sd / math.sqrt(summary.count), summary.count - 1, _checked(margin), level)


def equivalent_groups(
    base: Iterable[float], head: Iterable[float], margin: float, *, level: float = 0.95
) -> Equivalence:
    """Test two independent groups by Welch's t, which lets their variances differ."""
    first, second = describe(base), describe(head)
    if first.mean is None or second.mean is None:
        return _unknown(None, _checked(margin), level)
    difference = second.mean - first.mean
    if first.sd is None or second.sd is None:
        return _unknown(difference, _checked(margin), level)
    errors = _squared_error(first), _squared_error(second)
    spread = errors[0] ** 2 / (first.count - 1) + errors[1] ** 2 / (second.count - 1)
    df = sum(errors) ** 2 / spread if spread else float(first.count + second.count - 2)
    return _decide(difference, math.sqrt(sum(errors)), df, _checked(margin), level)


def _squared_error(summary: Summary) -> float:
    return (summary.sd or 0.0) ** 2 / summary.count


def _checked(margin: float) -> float:
    if not 0 < margin < math.inf:
        raise ValueError(f"margin {margin}; state how large a difference still counts as none, above 0")
    return margin


def _unknown(difference: float | None, margin: float, level: float) -> Equivalence:
    check_level(level)
    return Equivalence(difference=difference, margin=margin, p=1.0, equivalent=False, interval=None)


def _decide(difference: float, error: float, df: float, margin: float, level: float) -> Equivalence:
    if check_level(level) <= 0.5:
        raise ValueError(f"level {level}; two one-sided tests need one above 0.5")
    half = t_quantile(level, df) * error
    distances = (margin - difference, margin + difference)
    p = max(t_cdf(-distance / error, df) if error else float(distance <= 0) for distance in distances)
    interval = Interval(low=difference - half, high=difference + half, level=2 * level - 1)
    return Equivalence(difference=difference, margin=margin, p=p, equivalent=p <= 1 - level, interval=interval)
