"""The interval of a median from the order of the values alone: exact for any distribution, and without numpy."""

from collections.abc import Sequence
from functools import lru_cache

from benchflow.stats.interval import Interval, check_level
from benchflow.stats.student import beta_cdf


def median_interval(values: Sequence[float], *, level: float = 0.95) -> Interval | None:
    """Return the limits between which the median lies: the k-th smallest value and the k-th largest.

    How many values are below the median is the number of heads of so many tosses, whatever the distribution; k is the
    greatest for which the limits cover at least the level (Conover, Practical Nonparametric Statistics, 3rd edition,
    1999, section 3.2). None where even the least and the greatest value do not: below six for 0.95.
    """
    rank = _rank(len(values), check_level(level))
    if rank is None:
        return None
    ordered = sorted(values)
    return Interval(low=ordered[rank], high=ordered[-1 - rank], level=level)


@lru_cache(maxsize=1024)
def _rank(count: int, level: float) -> int | None:
    """Return the index of the lower limit among the ordered values, from 0; the upper one lies as far from the end."""
    tail = (1 - level) / 2
    if not count or 0.5**count > tail:
        return None
    within, beyond = 0, count // 2 + 1
    while beyond - within > 1:
        middle = (within + beyond) // 2
        # of `count` tosses at most `middle` are heads
        if beta_cdf(0.5, count - middle, middle + 1) <= tail:
            within = middle
        else:
            beyond = middle
    return within
