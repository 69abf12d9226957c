"""What no single library has, against what two of its parts give, on generated data."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.stats.bootstrap import draws, expanded_interval
from benchflow.stats.effect import relative_reduction
from benchflow.stats.permutation import within_strata
from benchflow.stats.spread import spread_over_scenarios
from benchflow.stats.statistic import MEAN

POSITIVE = st.lists(st.floats(0.5, 1e4).map(lambda value: round(value, 2)), min_size=2, max_size=20)
SMALL = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=3)
ALL = 1 << 30
"""Resamples, that scipy takes every permutation."""


def mean_difference(first: Any, second: Any, axis: int) -> Any:
    return np.mean(second, axis=axis) - np.mean(first, axis=axis)


@settings(max_examples=200, deadline=None)
@given(POSITIVE, POSITIVE, st.sampled_from((0.8, 0.95)))
def test_the_interval_of_a_reduction_is_welchs_of_logarithms_by_scipy(
    base: list[float], head: list[float], level: float
) -> None:
    """With the coefficient of variation as the deviation of a mean's logarithm."""
    found = relative_reduction(base, head, level=level)

    assert found
    assert found.interval
    assert found.value == pytest.approx(1 - np.mean(head) / np.mean(base))
    spreads = [float(scipy.stats.variation(side, ddof=1)) if np.ptp(side) else 0.0 for side in (head, base)]
    if not any(spreads):
        assert found.interval.width == pytest.approx(0)
        return
    theirs: Any = scipy.stats.ttest_ind_from_stats(
        *(math.log(np.mean(head)), spreads[0], len(head)),
        *(math.log(np.mean(base)), spreads[1], len(base)),
        equal_var=False,
    )
    error = math.sqrt(spreads[0] ** 2 / len(head) + spreads[1] ** 2 / len(base))
    parts = [(spread**2 / len(side)) ** 2 / (len(side) - 1) for spread, side in zip(spreads, (head, base), strict=True)]
    half = scipy.stats.t.ppf(0.5 + level / 2, error**4 / sum(parts)) * error
    ratio = math.log(np.mean(head) / np.mean(base))
    assert theirs.statistic * error == pytest.approx(ratio, abs=1e-9)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (1 - math.exp(ratio + half), 1 - math.exp(ratio - half)), rel=1e-6, abs=1e-9
    )


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(SMALL, SMALL), min_size=2, max_size=3))
def test_relabelling_within_strata_is_every_sum_of_scipys_single_ones(
    strata: list[tuple[list[float], list[float]]],
) -> None:
    sums, observed = np.zeros(1), 0.0
    for pair in strata:
        single = scipy.stats.permutation_test(pair, mean_difference, n_resamples=ALL, vectorized=True)
        sums, observed = np.add.outer(sums, single.null_distribution).ravel(), observed + float(single.statistic)
    expected = 2 * min((sums >= observed - 1e-9).mean(), (sums <= observed + 1e-9).mean())

    test = within_strata(strata)

    assert test
    assert (test.exact, test.permutations) == (True, sums.size)
    assert test.p_value() == pytest.approx(min(1.0, expected))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-1000, 1000).map(float), min_size=2, max_size=30, unique=True), st.sampled_from((0.8, 0.95))
)
def test_the_expanded_interval_has_its_tails_where_scipys_distributions_put_them(
    values: list[float], level: float
) -> None:
    size = len(values)
    tail = scipy.stats.norm.cdf(-math.sqrt(size / (size - 1)) * scipy.stats.t.ppf(0.5 + level / 2, size - 1))

    found = expanded_interval(values, level=level, resamples=199)

    assert found
    expected = np.quantile(draws(np.array(values), MEAN, 199, 0), (tail, 1 - tail))
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_the_score_interval_of_pairs_is_students_with_half_a_pair_more_of_each_kind(
    pairs: list[tuple[bool, bool]],
) -> None:
    """Agresti and Min: the mean and variance by numpy, of every pair twice and one of each of the four kinds."""
    found = spread_over_scenarios([([float(base)], [float(head)]) for base, head in pairs], (0.0, 1.0), 0.95)

    doubled = np.array([*(int(head) - int(base) for base, head in pairs * 2), 1, -1, 0, 0], dtype=float)
    size = doubled.size / 2
    assert found.score
    low, high = scipy.stats.t.interval(0.95, size - 1, doubled.mean(), doubled.std() / math.sqrt(size))
    assert (found.score.low, found.score.high) == pytest.approx((low, high))
