"""Permutation tests against scipy's, and the intervals that they are inverted to."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.stats.permutation import ShiftTest, sign_flips, two_sample, within_strata

VALUES = st.one_of(st.integers(-3, 3).map(float), st.floats(-100, 100).map(lambda value: round(4 * value) / 4))
ALL = 1 << 30
"""Resamples, that scipy takes every permutation."""
SMALL = st.lists(VALUES, min_size=2, max_size=6)


def mean_difference(first: Any, second: Any, axis: int) -> Any:
    return np.mean(second, axis=axis) - np.mean(first, axis=axis)


def p_of(test: ShiftTest | None) -> float:
    assert test
    return test.p_value()


@settings(max_examples=200, deadline=None)
@given(SMALL, SMALL)
def test_two_small_groups_have_scipys_exact_permutation_p(base: list[float], head: list[float]) -> None:
    theirs = scipy.stats.permutation_test((base, head), mean_difference, vectorized=True, n_resamples=ALL)
    test = two_sample(base, head)

    assert test
    assert (test.exact, test.permutations) == (True, math.comb(len(base) + len(head), len(base)))
    assert test.p_value() == pytest.approx(theirs.pvalue)


@settings(max_examples=200, deadline=None)
@given(st.lists(VALUES, min_size=2, max_size=10))
def test_few_differences_have_scipys_exact_sign_flip_p(differences: list[float]) -> None:
    theirs = scipy.stats.permutation_test(
        (differences,), np.mean, vectorized=True, permutation_type="samples", n_resamples=ALL
    )
    assert p_of(sign_flips(differences)) == pytest.approx(theirs.pvalue)


def test_one_trial_a_side_in_every_stratum_is_a_sign_flip() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 4, 9):
        pairs = [([base], [head]) for base, head in rng.normal(size=(size, 2)).tolist()]
        flips, strata = sign_flips([head[0] - base[0] for base, head in pairs]), within_strata(pairs)
        assert flips
        assert strata
        np.testing.assert_allclose(flips.thresholds, strata.thresholds, rtol=1e-9)


def test_strata_are_relabelled_each_in_itself() -> None:
    """Two scenarios of three and two repetitions a side: all 20 x 6 relabellings, counted one by one by scipy."""
    strata = [([1.0, 2.0, 4.0], [3.0, 5.0, 9.0]), ([10.0, 11.0], [12.0, 10.5])]
    single = [scipy.stats.permutation_test(pair, mean_difference, n_resamples=ALL, vectorized=True) for pair in strata]
    sums = np.add.outer(single[0].null_distribution, single[1].null_distribution).ravel()
    observed = single[0].statistic + single[1].statistic
    expected = 2 * min((sums >= observed - 1e-9).mean(), (sums <= observed + 1e-9).mean())

    test = within_strata(strata)

    assert test
    assert (test.permutations, test.p_value()) == (120, pytest.approx(expected))


@pytest.mark.parametrize("groups", [1, 2])
def test_what_is_drawn_agrees_with_all_permutations_and_is_never_zero(groups: int) -> None:
    """(b + 1) / (m + 1): what was observed is one of the permutations."""
    rng = np.random.default_rng(2)
    if groups == 1:
        test = sign_flips(rng.normal(0.4, 1, 20), permutations=4_000)
        theirs = scipy.stats.permutation_test(
            (rng.permutation(np.random.default_rng(2).normal(0.4, 1, 20)),),
            np.mean,
            vectorized=True,
            permutation_type="samples",
            n_resamples=4_000,
            rng=3,
        )
        far = sign_flips([5.0] * 30, permutations=100)
    else:
        base, head = rng.normal(0, 1, 15), rng.normal(0.7, 1, 12)
        test = two_sample(base, head, permutations=4_000)
        theirs = scipy.stats.permutation_test((base, head), mean_difference, n_resamples=4_000, vectorized=True, rng=3)
        far = two_sample([0.0] * 30, [1.0] * 30, permutations=100)
    assert test
    assert (test.exact, test.permutations) == (False, 4_000)
    assert test.p_value() == pytest.approx(theirs.pvalue, abs=0.025)
    assert p_of(far) == 2 / 100


def test_a_shift_is_in_the_interval_exactly_where_it_is_not_refused() -> None:
    rng = np.random.default_rng(4)
    for test in (
        sign_flips(rng.normal(size=9)),
        sign_flips(rng.integers(-1, 2, 12).astype(float)),
        sign_flips(rng.normal(size=20), permutations=2_000),
        two_sample(rng.normal(size=6), rng.normal(size=5)),
        within_strata([(rng.normal(size=3).tolist(), rng.normal(size=3).tolist()) for _ in range(3)]),
    ):
        assert test
        for level in (0.8, 0.95):
            interval = test.interval(level)
            assert interval
            for shift in np.linspace(interval.low - 0.513, interval.high + 0.507, 101):
                assert interval.contains(float(shift)) == (test.p_value(float(shift)) > 1 - level + 1e-9)


def test_a_shifted_group_is_what_a_shift_means() -> None:
    """The threshold formula against shifting the values and permuting anew."""
    rng = np.random.default_rng(5)
    base, head = rng.normal(size=5), rng.normal(0.5, 1, 4)
    test = two_sample(base, head)
    assert test
    for shift in (-1.0, 0.0, 0.3, 1.7):
        assert test.p_value(shift) == pytest.approx(p_of(two_sample(base, head - shift)))


def test_the_unit_of_the_values_does_not_matter() -> None:
    values = np.round(np.random.default_rng(6).normal(0.3, 1, 10), 1)  # with ties
    found = [p_of(sign_flips(values * unit)) for unit in (1, 1e-9, 1e9)]
    assert found == [found[0]] * 3
    assert p_of(two_sample(values[:5] * 1e-9, values[5:] * 1e-9)) == p_of(two_sample(values[:5], values[5:]))


def test_groups_that_are_too_small_say_so() -> None:
    assert (sign_flips([]), two_sample([], [1.0]), two_sample([1.0], []), within_strata([])) == (None,) * 4
    for test in (sign_flips([1.0]), sign_flips([1.0, 2.0]), two_sample([1.0], [2.0]), sign_flips([1.0] * 5)):
        assert test
        assert test.interval(0.95) is None
        assert test.p_value() > 0.05
    assert p_of(sign_flips([0.0] * 8)) == 1
    assert p_of(two_sample([3.0] * 4, [3.0] * 4)) == 1


def test_what_is_no_number_is_refused_on_either_side() -> None:
    for sides in (([1.0, math.nan], [1.0, 2.0]), ([1.0, 2.0], [1.0, math.nan])):
        with pytest.raises(ValueError, match=r"\[1\] is nan"):
            two_sample(*sides)
    with pytest.raises(ValueError, match=r"differences\[0\] is nan"):
        sign_flips([math.nan])


def test_planted_nulls_are_refused_at_the_stated_rate_and_effects_found() -> None:
    """200 pairs of groups: skewed, and of the same distribution or a standard deviation apart."""
    rng, refused, found = np.random.default_rng(9), 0, 0
    for _ in range(200):
        base, head = rng.exponential(size=8), rng.exponential(size=7)
        refused += p_of(two_sample(base, head, permutations=400)) <= 0.05
        found += p_of(two_sample(rng.normal(size=17), rng.normal(1, 1, 17), permutations=400)) <= 0.05
    assert refused / 200 <= 0.09  # not three standard errors above 0.05
    assert 0.72 <= found / 200 <= 0.89  # 0.807 is the power of Student's test here
