"""Head against base by scenario: verdicts, their intervals, and what could have been found."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import confint_proportions_2indep, power_proportions_2indep

from benchflow.stats.interval import Interval
from benchflow.stats.paired import PairedComparison, compare, relative_reduction_of_pairs
from benchflow.stats.permutation import sign_flips
from benchflow.stats.spread import spread_over_scenarios, spread_over_trials

Side = dict[str, list[float]]
RATE = (0.0, 1.0)
ALL = 1 << 30
"""Resamples, that scipy takes every permutation."""


def suite(*values: Sequence[float]) -> Side:
    return {f"s{index}": list(given) for index, given in enumerate(values)}


def drawn(rng: np.random.Generator, rates: Any, repetitions: int) -> Side:
    return suite(*((rng.random(repetitions) < rate).astype(float).tolist() for rate in rates))


def test_the_difference_is_one_of_scenario_means_each_counting_the_same() -> None:
    found = compare(suite([1, 1, 1, 1], [0, 0], [1]), {**suite([0, 1], [1]), "other": [1.0], "s2": []}, bounds=RATE)

    assert [(row.scenario, row.base, row.head, row.difference) for row in found.scenarios] == [
        ("s0", 1, 0.5, -0.5),
        ("s1", 0, 1, 1),
    ]
    assert (found.base, found.head, found.difference) == (0.5, 0.75, 0.25)
    assert found.left_out == ("s2", "other")
    assert found.over == "trials"


def test_nothing_in_common_is_not_distinguishable() -> None:
    found = compare(suite([1.0]), {"other": [0.0]}, bounds=RATE)

    assert found == PairedComparison(left_out=("s0", "other"), over="scenarios")
    assert (found.verdict, found.interval, found.p, found.detectable) == ("not distinguishable", None, None, None)
    assert compare({}, {}).difference is None


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 14])
def test_too_few_single_trials_show_nothing_and_say_so(count: int) -> None:
    """Six coins that fall alike are the first that a level of 0.95 lets speak."""
    found = compare(suite(*[[1.0]] * count), suite(*[[0.0]] * count))

    assert found.p == pytest.approx(2 / 2**count)
    enough = count >= 6
    assert (found.over, found.verdict) == (("scenarios", "worse") if enough else ("trials", "not distinguishable"))
    assert (found.interval is not None) == enough
    assert found.detectable == (0 if enough else None)


def test_one_scenario_is_judged_by_its_repetitions() -> None:
    found = compare(suite([1.0] * 20), suite([0.0] * 12 + [1.0] * 8), bounds=RATE)

    assert (found.over, found.verdict, found.bootstrap) == ("trials", "worse", None)
    assert found.interval
    assert found.interval.high < 0
    assert (found.p or 1) < 0.001


def test_what_is_better_depends_on_the_metric() -> None:
    less, more = suite(*[[100.0 + index] for index in range(8)]), suite(*[[200.0 - index] for index in range(8)])
    verdicts = [
        compare(less, more, higher_is_better=higher).verdict
        + " "
        + compare(more, less, higher_is_better=higher).verdict
        for higher in (True, False)
    ]
    assert verdicts == ["better worse", "worse better"]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rates_at_their_bound_leave_room_for_a_difference(value: float) -> None:
    for count, repetitions in ((14, 1), (14, 3), (4, 3), (1, 12)):
        same = suite(*[[value] * repetitions] * count)
        found = compare(same, same, bounds=RATE)
        assert (found.difference, found.p, found.verdict) == (0, 1, "not distinguishable")
        assert found.interval
        assert found.interval.low == pytest.approx(-found.interval.high)
        assert 0.05 < found.interval.high < 0.4
        assert found.detectable
        assert found.detectable > found.interval.high


def test_without_bounds_equal_values_are_equal() -> None:
    same = suite(*[[5.0]] * 8)
    found = compare(same, same)
    assert (found.interval, found.p, found.detectable) == (Interval(low=0, high=0, level=0.95), 1, 0)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=6, max_size=12))
def test_pairs_that_passed_or_not_have_mcnemars_p(pairs: list[tuple[bool, bool]]) -> None:
    base, head = (suite(*[[float(pair[side])] for pair in pairs]) for side in (0, 1))
    table = [[sum(pair == (one, two) for pair in pairs) for two in (True, False)] for one in (True, False)]
    theirs: Any = statsmodels_mcnemar(np.array(table), exact=True)

    found = compare(base, head, bounds=RATE)

    assert found.mcnemar
    assert found.mcnemar.p == pytest.approx(theirs.pvalue)
    assert found.p == pytest.approx(theirs.pvalue)
    if found.verdict != "not distinguishable":
        assert theirs.pvalue <= 0.05


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(-90, 90), min_size=2, max_size=2), min_size=6, max_size=8))
def test_the_verdict_the_interval_and_p_agree(values: list[list[int]]) -> None:
    """Whole numbers: scipy does not see ties that rounding hides."""
    found = compare(suite(*[[0.0]] * len(values)), suite(*values))

    means = [sum(given) / 2 for given in values]
    theirs = scipy.stats.permutation_test(
        (means,), np.mean, vectorized=True, permutation_type="samples", n_resamples=ALL
    )
    assert found.p == pytest.approx(theirs.pvalue)
    assert found.interval
    assert found.interval.low - 1e-9 <= (found.difference or 0) <= found.interval.high + 1e-9
    assert (found.verdict != "not distinguishable") == ((found.p or 0) <= 0.05)
    assert found.bootstrap


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.floats(0, 1), st.floats(0, 1))
def test_one_scenarios_score_interval_is_newcombes(ours: int, theirs: int, one: float, two: float) -> None:
    passed, also = round(ours * one), round(theirs * two)
    pair = ([1.0] * passed + [0.0] * (ours - passed), [1.0] * also + [0.0] * (theirs - also))
    expected = confint_proportions_2indep(also, theirs, passed, ours, method="newcomb")

    found = spread_over_trials([pair], RATE, 0.95)

    assert found
    assert found.score
    assert (found.score.low, found.score.high) == pytest.approx(expected, abs=1e-9)


def test_the_score_interval_of_single_trials_is_agresti_and_mins() -> None:
    """As if half a pair more were in each of the four cells: the variance of paired differences by hand."""
    pairs = [([1.0], [0.0])] * 5 + [([0.0], [1.0])] * 2 + [([1.0], [1.0])] * 8
    only_base, only_head, total = 5.5, 2.5, 17
    centre = (only_head - only_base) / total
    error = math.sqrt((only_head + only_base) / total - centre**2) / math.sqrt(total)

    found = spread_over_scenarios(pairs, RATE, 0.95)

    assert found.score
    half = scipy.stats.t.ppf(0.975, 16) * error
    assert (found.score.low, found.score.high) == pytest.approx((centre - half, centre + half))


@pytest.mark.parametrize("count", [12, 20, 50])
def test_the_smallest_detectable_difference_is_nearly_that_of_the_paired_t_test(count: int) -> None:
    rng = np.random.default_rng(count)
    head = rng.normal(size=count)
    found = compare(suite(*[[0.0]] * count), suite(*[[value] for value in head.tolist()]))
    theirs = TTestPower().solve_power(nobs=count, alpha=0.05, power=0.8) * head.std(ddof=1)

    assert found.detectable == pytest.approx(theirs, rel=0.12)


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("count", [40, 100])
def test_the_smallest_detectable_drop_of_a_rate_has_statsmodels_power(rate: float, count: int) -> None:
    passed = round(rate * count)
    side = suite([1.0] * passed + [0.0] * (count - passed))
    found = compare(side, side, bounds=RATE)

    assert found.detectable
    power: Any = power_proportions_2indep(-found.detectable, rate, count)
    assert 0.78 <= power.power <= 0.99


def test_a_planted_difference_of_the_detectable_size_is_found_and_none_where_none_is() -> None:
    """120 comparisons each: 14 scenarios of 8 repetitions, where the smallest detectable drop is about 0.2."""
    rng, found, false, detectable, covered = np.random.default_rng(3), 0, 0, [], 0
    for _ in range(120):
        rates = rng.beta(4, 2, 14)
        lower = np.clip(rates - 0.2, 0, 1)
        dropped = compare(drawn(rng, rates, 8), drawn(rng, lower, 8), bounds=RATE)
        same = compare(drawn(rng, rates, 8), drawn(rng, rates, 8), bounds=RATE)
        found += dropped.verdict == "worse"
        false += same.verdict != "not distinguishable"
        detectable.append(dropped.detectable or 1)
        assert dropped.interval
        covered += dropped.interval.contains(float((lower - rates).mean()))
    assert np.median(detectable) == pytest.approx(0.2, abs=0.02)
    assert 0.68 <= found / 120 <= 0.92
    assert false / 120 <= 0.09
    assert covered / 120 >= 0.92


@pytest.mark.parametrize(("count", "repetitions"), [(6, 2), (10, 1), (10, 3), (2, 4), (1, 10)])
def test_the_interval_covers_where_a_bootstrap_of_few_scenarios_does_not(count: int, repetitions: int) -> None:
    rng, covered, false = np.random.default_rng(4), 0, 0
    for _ in range(150):
        rates = rng.beta(2, 1, count)
        lower = rates * 0.8
        found = compare(drawn(rng, rates, repetitions), drawn(rng, lower, repetitions), bounds=RATE)
        truth = -0.2 * 2 / 3 if found.over == "scenarios" else float((lower - rates).mean())
        same = compare(drawn(rng, rates, repetitions), drawn(rng, rates, repetitions), bounds=RATE)
        assert found.interval
        covered += found.interval.contains(truth)
        false += same.verdict != "not distinguishable"
    assert covered / 150 >= 0.91
    assert false / 150 <= 0.1


def test_a_reduction_by_scenario_is_one_of_ratios() -> None:
    base = suite(*[[10.0**power] for power in range(7)])
    head = {scenario: [value * 0.75 for value in values] for scenario, values in base.items()}

    found = relative_reduction_of_pairs(base, head)

    assert found
    assert found.interval
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((0.25,) * 3)
    noisy = {
        scenario: [value * factor for value in values for factor in (0.7, 0.8, 1.1)]
        for scenario, values in head.items()
    }
    varied = relative_reduction_of_pairs(base, noisy)
    logs = sign_flips([math.log(0.75) + math.log(0.7 * 0.8 * 1.1) / 3] * 7)
    assert varied
    assert logs
    assert varied.value == pytest.approx(1 - math.exp(float(logs.thresholds[0])))


def test_a_reduction_by_scenario_needs_values_above_zero_in_common() -> None:
    assert relative_reduction_of_pairs(suite([1.0, 0.0]), suite([1.0])) is None
    assert relative_reduction_of_pairs(suite([1.0]), {"other": [1.0]}) is None
    alone = relative_reduction_of_pairs(suite([4.0]), suite([3.0]))
    assert alone
    assert (alone.value, alone.interval) == (pytest.approx(0.25), None)


def test_the_same_rows_give_the_same_figures() -> None:
    rng = np.random.default_rng(5)
    base, head = (drawn(rng, rng.random(20), 3) for _ in range(2))

    assert asdict(compare(base, head, bounds=RATE)) == asdict(compare(base, head, bounds=RATE))


def test_what_is_no_value_of_the_metric_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"head: s1\[1\] is nan; leave out what was not measured"):
        compare(suite([1.0], [0.0]), suite([1.0], [0.0, math.nan]))
    with pytest.raises(ValueError, match=r"base: s0: a value is not within 0\.0 to 1\.0"):
        compare(suite([1.5]), suite([1.0]), bounds=RATE)
    with pytest.raises(ValueError, match="level 95"):
        compare(suite([1.0]), suite([1.0]), level=95)
