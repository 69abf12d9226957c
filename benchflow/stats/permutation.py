"""Permutation tests of a shift, and the shifts that such a test does not refuse, which are its interval.

One idea holds for all of them. Let D be the observed difference, D* the same after a permutation of the labels, and c
the share of head's values that the permutation leaves to head, less the share that it gives to base. Were head shifted
by s, the permuted difference D* - c s would be at least the observed D - s exactly where s >= (D - D*) / (1 - c). So
each permutation has one threshold; a p-value counts thresholds, and an interval is read off their order. For sign
flips the thresholds are the means of subsets (Hartigan, Using Subsample Values as Typical Values, JASA 64, 1969); for
two groups, see Ernst, Permutation Methods, Statistical Science 19, 2004, section 3.2.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchflow.stats.interval import Interval, check_level
from benchflow.stats.sample import Numbers, sample, weighted_sums

PERMUTATIONS = 10_000
EXACT = 1 << 14
"""Up to so many permutations all of them are taken."""
MANY = 2_000
"""Above so many trials of a stratum, the sums of its permutations are drawn from their normal limit."""
AT_ONCE = 2_000_000
SAME = 1e-12
"""Relative: two thresholds nearer than this differ by rounding only."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ShiftTest:
    """What a permutation test says of every shift at once. Two-sided: twice the smaller tail."""

    thresholds: Numbers
    """Of the permutations that change something, ascending."""
    unchanged: int
    """How many of the permutations change nothing, the identity among them: they count in both tails."""
    exact: bool
    """All permutations were taken. Otherwise a random draw, and the observed labels are counted as one of it."""

    @property
    def permutations(self) -> int:
        """How many were taken, the identity among them: m + 1 in (b + 1) / (m + 1) (Phipson and Smyth, 2010)."""
        return self.thresholds.size + self.unchanged

    def p_value(self, shift: float = 0.0) -> float:
        """Return the probability of a difference at least as far from this shift, were it the true one."""
        near = SAME * max(abs(shift), float(np.abs(self.thresholds).max(initial=0.0)))
        below = int(np.searchsorted(self.thresholds, shift + near, side="right"))
        above = self.thresholds.size - int(np.searchsorted(self.thresholds, shift - near, side="left"))
        return min(1.0, 2 * (min(below, above) + self.unchanged) / self.permutations)

    def interval(self, level: float = 0.95) -> Interval | None:
        """Return the shifts that are not refused at 1 - level; None where the sample is too small to refuse any."""
        tail = (1 - check_level(level)) / 2
        refused = math.floor(tail * self.permutations * (1 + SAME)) - self.unchanged
        if refused < 0:
            return None
        return Interval(low=float(self.thresholds[refused]), high=float(self.thresholds[-1 - refused]), level=level)


def sign_flips(differences: Iterable[float], *, permutations: int = PERMUTATIONS, seed: int = 0) -> ShiftTest | None:
    """Test whether paired differences are centred at 0: under that, each could as well have the other sign.

    None without differences. Exact up to 14 of them. Assumes that they are symmetric about their centre, which for no
    difference between the sides they always are.
    """
    numbers = sample(differences, "differences")
    if not numbers.size:
        return None
    exact = 2**numbers.size <= EXACT
    if exact:
        subsets = _all_subsets(numbers.size)
    elif permutations * numbers.size <= AT_ONCE:
        subsets = _few_subsets(numbers.size, permutations, seed)
    else:
        subsets = map(_subsets, _some_subsets(numbers.size, permutations, seed))
    thresholds = [weighted_sums(subset.flipped, numbers) / subset.counts for subset in subsets]
    return _test(thresholds, 2**numbers.size if exact else permutations, exact)


def two_sample(
    base: Iterable[float], head: Iterable[float], *, permutations: int = PERMUTATIONS, seed: int = 0
) -> ShiftTest | None:
    """Test whether the means of two independent groups are equal; None where one is empty."""
    return within_strata([(list(base), list(head))], permutations=permutations, seed=seed)


def within_strata(
    strata: Sequence[tuple[Sequence[float], Sequence[float]]], *, permutations: int = PERMUTATIONS, seed: int = 0
) -> ShiftTest | None:
    """Test the mean over strata of head's mean less base's, relabelling trials within their own stratum only.

    A stratum is (base, head), for instance the repetitions of one scenario. None where one is empty on a side.
    """
    sides = [(sample(base, "base"), sample(head, "head")) for base, head in strata]
    if not sides or not all(base.size and head.size for base, head in sides):
        return None
    every = math.prod(math.comb(base.size + head.size, head.size) for base, head in sides)
    exact = every <= EXACT
    rng = np.random.default_rng(seed)
    moved = np.zeros(every if exact else permutations - 1)
    regained = np.zeros_like(moved)
    repeats = 1
    for base, head in sides:
        pooled, ours = np.concatenate((base, head)), np.repeat((0.0, 1.0), (base.size, head.size))
        scale = 1 / head.size + 1 / base.size
        begun = 0
        if not exact and pooled.size > MANY:
            given, taken = _normal_sums(pooled, ours, moved.size, rng)
            moved += (head.sum() - given) * scale
            regained += (head.size - taken) * scale
            continue
        for labels in _all_choices(base.size, head.size) if exact else _some_choices(ours, moved.size, rng):
            part = slice(begun, begun + len(labels))
            lost = (head.sum() - labels @ pooled) * scale
            given = (head.size - labels @ ours) * scale
            if exact:
                lost, given = (np.resize(np.repeat(one, repeats), every) for one in (lost, given))
                repeats, part = repeats * len(labels), slice(None)
            moved[part] += lost
            regained[part] += given
            begun += len(labels)
    changed = regained > 1e-9
    return _test([moved[changed] / regained[changed]], every if exact else permutations, exact)


def _normal_sums(pooled: Numbers, ours: Numbers, count: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Draw what a permutation gives to head: the sum of its values, and how many of them were head's before.

    By the central limit theorem for permutations (Hoeffding, Annals of Mathematical Statistics 22, 1951), with the
    exact means and covariances of samples without replacement.
    """
    size, members = pooled.size, float(ours.sum())
    both = np.stack((pooled, ours))
    covariance = np.cov(both, bias=True) * members * (size - members) / (size - 1)
    drawn = rng.multivariate_normal(both.mean(axis=1) * members, covariance, count, check_valid="ignore")
    return drawn[:, 0], drawn[:, 1]


def _test(thresholds: list[Numbers], permutations: int, exact: bool) -> ShiftTest:
    ordered = np.sort(np.concatenate(thresholds))
    return ShiftTest(thresholds=ordered, unchanged=permutations - ordered.size, exact=exact)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Subsets:
    """Which differences get the other sign, a row for each permutation that changes something."""

    flipped: Numbers
    counts: Numbers


def _subsets(flipped: Numbers) -> _Subsets:
    counts = flipped.sum(axis=1)
    return _Subsets(flipped=flipped[counts > 0], counts=counts[counts > 0])


@lru_cache(maxsize=4)
def _all_subsets(size: int) -> tuple[_Subsets]:
    numbers = np.arange(2**size)[:, np.newaxis]
    return (_subsets((numbers >> np.arange(size) & 1).astype(np.float64)),)


@lru_cache(maxsize=4)
def _few_subsets(size: int, permutations: int, seed: int) -> tuple[_Subsets, ...]:
    """Keep them: several metrics of the same scenarios are tested one after the other."""
    return tuple(map(_subsets, _some_subsets(size, permutations, seed)))


def _some_subsets(size: int, permutations: int, seed: int) -> Iterable[Numbers]:
    rng = np.random.default_rng(seed)
    rows = max(1, AT_ONCE // size)
    for begun in range(0, permutations - 1, rows):
        octets = rng.integers(0, 256, (min(rows, permutations - 1 - begun), -(-size // 8)), dtype=np.uint8)
        yield np.unpackbits(octets, axis=1, count=size).astype(np.float64)


def _all_choices(base: int, head: int) -> Iterable[Numbers]:
    """Give a row for each choice of head's members, 1 for a member."""
    chosen = np.array(list(itertools.combinations(range(base + head), head)))
    labels = np.zeros((len(chosen), base + head))
    np.put_along_axis(labels, chosen, 1.0, axis=1)
    yield labels


def _some_choices(ours: Numbers, count: int, rng: np.random.Generator) -> Iterable[Numbers]:
    rows = max(1, AT_ONCE // ours.size)
    for begun in range(0, count, rows):
        yield rng.permuted(np.tile(ours, (min(rows, count - begun), 1)), axis=1)
