"""Rates: Wilson's interval, pass@k and pass^k, flaky scenarios, agreement, and what unscored trials could change."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa
from statsmodels.stats.proportion import proportion_confint

from benchflow.stats.agreement import Agreement, agreement
from benchflow.stats.bounds import DifferenceBounds, ScoreBounds, difference_bounds, score_bounds
from benchflow.stats.interval import Interval
from benchflow.stats.pass_k import PassK, pass_at_k, pass_hat_k
from benchflow.stats.rates import Rate, flaky_scenarios, success_rate

OUTCOMES = {"all": [True] * 4, "none": [False] * 4, "some": [True, False, True, False], "once": [True]}


@settings(max_examples=300, deadline=None)
@given(total=st.integers(1, 5_000), share=st.floats(0, 1), level=st.sampled_from((0.8, 0.95, 0.99)))
def test_the_interval_of_a_rate_is_statsmodels(total: int, share: float, level: float) -> None:
    passed = round(total * share)
    low, high = proportion_confint(passed, total, alpha=1 - level, method="wilson")

    ours = success_rate(passed, total, level=level)

    assert ours.interval
    assert (ours.passed, ours.total, ours.rate, ours.interval.level) == (passed, total, passed / total, level)
    assert (ours.interval.low, ours.interval.high) == pytest.approx((low, high), abs=1e-12)
    assert ours.interval.contains(passed / total)


def test_all_none_and_nothing_at_all() -> None:
    whole, empty = success_rate(14, 14), success_rate(0, 14)
    assert whole.interval
    assert empty.interval
    assert (whole.interval.high, empty.interval.low) == (1.0, 0.0)
    assert whole.interval.low == pytest.approx(1 - empty.interval.high)
    assert success_rate(0, 0) == Rate(passed=0, total=0, rate=None, interval=None)
    for passed, total in ((3, 2), (-1, 2)):
        with pytest.raises(ValueError, match=f"{passed} of {total} passed"):
            success_rate(passed, total)


@pytest.mark.parametrize(("rate", "total"), [(0.5, 10), (0.9, 20), (0.98, 40), (0.3, 7)])
def test_wilsons_interval_covers_the_rate(rate: float, total: int) -> None:
    """Exactly: the chance of each count, where its interval holds the rate."""
    chances = [
        math.comb(total, passed) * rate**passed * (1 - rate) ** (total - passed)
        for passed in range(total + 1)
        if (success_rate(passed, total).interval or Interval(low=2, high=2, level=0.95)).contains(rate)
    ]
    assert 0.9 < sum(chances) <= 1


@settings(max_examples=200, deadline=None)
@given(passed=st.lists(st.booleans(), min_size=1, max_size=8), k=st.integers(1, 8))
def test_pass_k_is_what_every_choice_of_k_trials_gives(passed: list[bool], k: int) -> None:
    some, every = pass_at_k({"a": passed}, k), pass_hat_k({"a": passed}, k)
    if k > len(passed):
        assert some == every == PassK(k=k, value=None, interval=None, scenarios=0, too_few=("a",))
        return
    choices = list(itertools.combinations(passed, k))
    assert some.value == pytest.approx(sum(map(any, choices)) / len(choices))
    assert every.value == pytest.approx(sum(map(all, choices)) / len(choices))
    assert (some.interval, every.interval) == (None, None)


@settings(max_examples=200, deadline=None)
@given(total=st.integers(1, 200), share=st.floats(0, 1), k=st.integers(1, 50))
def test_pass_at_k_is_the_product_of_the_papers_program(total: int, share: float, k: int) -> None:
    """Chen et al., figure 3: 1 - prod(1 - k / arange(n - c + 1, n + 1))."""
    passed = round(total * share)
    ours = pass_at_k({"a": [index < passed for index in range(total)]}, k).value
    if k > total:
        assert ours is None
    elif total - passed < k:
        assert ours == 1
    else:
        theirs = 1 - np.prod(1 - k / np.arange(total - passed + 1, total + 1))
        assert ours == pytest.approx(float(theirs), abs=1e-12)


def test_scenarios_with_fewer_than_k_trials_are_left_out_and_named() -> None:
    found = pass_hat_k(OUTCOMES, 2)

    assert (found.value, found.scenarios, found.too_few) == (pytest.approx((1 + 0 + 1 / 6) / 3), 3, ("once",))
    assert found.interval
    assert found.interval.contains(found.value or 0)
    assert pass_hat_k(OUTCOMES, 2) == found  # the same seed


def test_pass_k_of_scenarios_that_all_passed_is_not_surely_one() -> None:
    found = pass_hat_k({str(index): [True] * 3 for index in range(14)}, 3)

    assert found.interval == success_rate(14, 14).interval
    assert pass_hat_k({}, 3) == PassK(k=3, value=None, interval=None, scenarios=0, too_few=())
    with pytest.raises(ValueError, match="k is 0"):
        pass_at_k(OUTCOMES, 0)


@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k])
def test_the_interval_over_scenarios_covers_other_scenarios(estimate: Callable[..., PassK]) -> None:
    """300 suites of 20 scenarios from a population whose pass@2 and pass^2 are known."""
    rng, covered = np.random.default_rng(1), 0
    truth = 0.5 if estimate is pass_hat_k else 5 / 6  # rates are Beta(2, 1): E[p^2] and 1 - E[(1 - p)^2]
    for _ in range(300):
        suite = {str(index): list(rng.random(4) < rate) for index, rate in enumerate(rng.beta(2, 1, 20))}
        interval = estimate(suite, 2, resamples=500).interval
        assert interval
        covered += interval.contains(truth)
    assert 0.91 <= covered / 300 <= 0.99


def test_flaky_scenarios_neither_all_passed_nor_all_failed() -> None:
    assert flaky_scenarios({**OUTCOMES, "empty": []}) == ["some"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(1, 5), min_size=3, max_size=3), min_size=2, max_size=20))
def test_agreement_is_statsmodels_kappa(grades: list[list[int]]) -> None:
    ours = agreement({str(index): given for index, given in enumerate(grades)})
    table, _ = aggregate_raters(np.array(grades))
    if len({grade for given in grades for grade in given}) > 1:
        assert ours.kappa == pytest.approx(fleiss_kappa(table))
    else:
        assert (ours.observed, ours.kappa) == (1, None)


def test_only_what_is_repeated_agrees() -> None:
    assert agreement({"a": [True], "b": []}) == Agreement(scenarios=0, observed=None, kappa=None)
    assert agreement(OUTCOMES).scenarios == 3
    assert agreement({"a": [1, 1], "b": [1, 2, 2]}).observed == pytest.approx((1 + 1 / 3) / 2)


def test_bounds_of_a_score_take_unscored_trials_as_zero_and_as_one() -> None:
    assert score_bounds([1, None, 0.5, None]) == ScoreBounds(
        scored=2, unscored=2, mean=0.75, as_zero=0.375, as_one=0.875
    )
    assert score_bounds([None]) == ScoreBounds(scored=0, unscored=1, mean=None, as_zero=0, as_one=1)
    assert score_bounds([]) == ScoreBounds(scored=0, unscored=0, mean=None, as_zero=None, as_one=None)
    for score in (math.nan, -0.1, 2):
        with pytest.raises(ValueError, match=r"scores\[1\] is"):
            score_bounds([None, score])


def test_bounds_of_a_difference_pair_by_scenario() -> None:
    base = {"a": [1, None], "b": [0.5], "only-base": [1]}
    head = {"a": [0, 0], "b": [None], "only-head": [None]}

    assert difference_bounds(base, head) == DifferenceBounds(
        base_unscored=1, head_unscored=2, difference=-1, as_zero=-0.5, as_one=-0.25, least=-0.75, most=0
    )
    nothing = difference_bounds({}, head)
    assert (nothing.difference, nothing.as_zero, nothing.least, nothing.most) == (None, None, None, None)


@pytest.mark.parametrize("seed", range(20))
def test_no_scores_of_the_unscored_leave_the_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base, head = (
        {name: [None if rng.random() < 0.4 else rng.random() for _ in range(4)] for name in "abc"} for _ in range(2)
    )
    bounds = difference_bounds(base, head)
    assert bounds.least is not None
    assert bounds.most is not None
    for _ in range(10):
        filled = [
            {name: [rng.random() if score is None else score for score in scores] for name, scores in side.items()}
            for side in (base, head)
        ]
        truth = difference_bounds(filled[0], filled[1]).difference
        assert truth is not None
        assert bounds.least <= truth <= bounds.most
