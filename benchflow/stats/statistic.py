"""A statistic as the bootstrap needs it: of every row of a matrix at once, and where a shortcut exists, that too."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchflow.stats.sample import Numbers


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """One number of a sample."""

    of_rows: Callable[[Numbers], Numbers]
    """The statistic of each row of a matrix."""
    draw: Callable[[Numbers, int, np.random.Generator], Numbers | None] | None = None
    """So many draws from its bootstrap distribution, without resampling; None: no shortcut is known, or, as its result,
    none for these values."""
    leave_one_out: Callable[[Numbers], Numbers] | None = None
    """Its values with each one of a sample left out; None: no shortcut is known."""

    def of(self, values: Numbers) -> float:
        """Return the statistic of one sample."""
        return float(self.of_rows(values[np.newaxis])[0])


def each(function: Callable[[Numbers], float]) -> Statistic:
    """Make a statistic of any function of one sample; it is called for every resample, so it takes its time."""
    return Statistic(of_rows=lambda rows: np.array([function(row) for row in rows], dtype=np.float64))


def quantile(q: float) -> Statistic:
    """Make the quantile at q, within [0, 1], interpolated linearly."""
    return Statistic(
        of_rows=lambda rows: np.quantile(rows, q, axis=1),
        draw=lambda values, draws, rng: _draw_quantile(values, q, draws, rng),
        leave_one_out=lambda values: _quantiles_without_one(values, q),
    )


def _draw_quantile(values: Numbers, q: float, draws: int, rng: np.random.Generator) -> Numbers:
    """Draw a resample's quantile from the joint distribution of its two neighbouring order statistics.

    Exact, in O(draws) whatever the sample's size: a resample is the sample read at n uniform ranks, and the k-th
    smallest of n uniforms is Beta(k, n - k + 1); given it, the next one is the least of n - k uniforms above it
    (David and Nagaraja, Order Statistics, 3rd edition, sections 2.1 and 2.5; for the bootstrap of the median, Efron,
    1979, section 3).
    """
    ordered, size = np.sort(values), values.size
    position = (size - 1) * q
    below = min(int(position), size - 1)
    fraction = position - below
    first = rng.beta(below + 1, size - below, draws)
    smaller = ordered[np.minimum((first * size).astype(np.int64), size - 1)]
    if not fraction:
        return smaller
    second = first + (1 - first) * (1 - rng.random(draws) ** (1 / (size - below - 1)))
    larger = ordered[np.minimum((second * size).astype(np.int64), size - 1)]
    return smaller + fraction * (larger - smaller)


def _draw_mean(values: Numbers, draws: int, rng: np.random.Generator) -> Numbers | None:
    """Draw a resample's mean where many values are equal: how often each comes up is multinomial. Exact."""
    distinct, counts = np.unique(values, return_counts=True)
    if values.size < 16 * distinct.size:
        return None
    return rng.multinomial(values.size, counts / values.size, draws) @ distinct / values.size


def _quantiles_without_one(values: Numbers, q: float) -> Numbers:
    ordered, left_out = np.sort(values), np.arange(values.size)
    position = (values.size - 2) * q
    below = int(position)
    smaller = ordered[below + (left_out <= below)]
    above = min(below + 1, values.size - 2)
    larger = ordered[above + (left_out <= above)]
    return smaller + (position - below) * (larger - smaller)


MEAN = Statistic(
    of_rows=lambda rows: rows.mean(axis=1),
    draw=_draw_mean,
    leave_one_out=lambda values: (values.sum() - values) / (values.size - 1),
)
MEDIAN = quantile(0.5)
