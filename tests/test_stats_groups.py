"""Two groups: effect sizes, reductions, McNemar, Holm and equivalence, each against a library."""

import gc
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from benchflow.stats.correction import holm
from benchflow.stats.effect import EffectSize, Reduction, cliffs_delta, cohens_d, magnitude, relative_reduction
from benchflow.stats.equivalence import Equivalence, equivalent_groups, equivalent_pairs
from benchflow.stats.mcnemar import McNemar, mcnemar

# scipy's own, for equal values; what it then answers is right.
pytestmark = pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")

VALUES = st.one_of(st.integers(-3, 3).map(float), st.floats(-100, 100).map(lambda value: round(value, 2)))
GROUP = st.lists(VALUES, min_size=2, max_size=30)


@settings(max_examples=200, deadline=None)
@given(GROUP, GROUP)
def test_effect_sizes_are_the_libraries(base: list[float], head: list[float]) -> None:
    delta = cliffs_delta(base, head)
    u = scipy.stats.mannwhitneyu(head, base, method="asymptotic").statistic
    assert delta == pytest.approx(2 * u / (len(base) * len(head)) - 1)

    effect, spread = cohens_d(base, head), max(np.ptp(base), np.ptp(head))
    if not spread:
        assert effect == (EffectSize(d=0, g=0, magnitude="negligible") if base[0] == head[0] else None)
        return
    assert effect
    t_test: Any = scipy.stats.ttest_ind(head, base)
    assert effect.d == pytest.approx(t_test.statistic * math.sqrt(1 / len(base) + 1 / len(head)))
    approximate, _ = effectsize_smd(
        np.mean(head), np.std(head, ddof=1), len(head), np.mean(base), np.std(base, ddof=1), len(base)
    )
    assert effect.g == pytest.approx(approximate, rel=0.03)  # theirs is the approximate correction
    assert effect.magnitude == magnitude(effect.d)


def test_magnitudes_begin_at_cohens_thresholds() -> None:
    sizes = {0.0: "negligible", 0.19: "negligible", -0.2: "small", 0.5: "medium", 0.79: "medium", -0.8: "large"}
    assert {d: magnitude(d) for d in sizes} == sizes
    assert (cohens_d([1.0], [2.0, 3.0]), cliffs_delta([], [1.0])) == (None, None)


def test_a_reduction_is_a_share_of_base_with_an_interval() -> None:
    """Large groups, where the logarithm's interval and scipy's bootstrap are the same thing."""
    rng = np.random.default_rng(7)
    base, head = rng.lognormal(7, 0.5, 400), rng.lognormal(6.7, 0.5, 300)
    theirs = scipy.stats.bootstrap(
        (base, head), lambda one, two, axis: 1 - two.mean(axis=axis) / one.mean(axis=axis), n_resamples=4_000, rng=1
    ).confidence_interval

    found = relative_reduction(base, head)

    assert found
    assert found.interval
    assert found.value == pytest.approx(1 - head.mean() / base.mean())
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(theirs), abs=0.008)


def test_a_reduction_needs_something_to_reduce() -> None:
    assert relative_reduction([4.0], [3.0]) == Reduction(value=0.25, interval=None)
    assert [relative_reduction(*sides) for sides in (([], [1.0]), ([0.0], [1.0]), ([1.0], [-1.0]))] == [None] * 3
    constant = relative_reduction([4.0, 4.0], [3.0, 3.0])
    assert constant
    assert constant.interval
    assert (constant.interval.low, constant.interval.high) == (0.25, 0.25)


def test_the_interval_of_a_reduction_covers_it() -> None:
    rng, covered = np.random.default_rng(8), 0
    for _ in range(500):
        found = relative_reduction(rng.lognormal(0, 0.6, 12), rng.lognormal(math.log(0.7), 0.6, 12))
        assert found
        assert found.interval
        covered += found.interval.contains(0.3)
    assert 0.92 <= covered / 500 <= 0.98


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_mcnemar_is_statsmodels(pairs: list[tuple[bool, bool]]) -> None:
    table = [[sum(pair == (one, two) for pair in pairs) for two in (True, False)] for one in (True, False)]
    ours = mcnemar(pairs)
    assert (ours.only_base, ours.only_head) == (table[0][1], table[1][0])
    theirs: Any = statsmodels_mcnemar(np.array(table), exact=True)
    assert ours.p == pytest.approx(theirs.pvalue)


def test_mcnemar_without_a_differing_pair() -> None:
    assert mcnemar([]) == mcnemar([(True, True), (False, False)]) == McNemar(only_base=0, only_head=0, p=1)


@pytest.fixture(scope="module")
def little_garbage() -> Iterator[None]:
    """statsmodels' multipletests collects the whole process's garbage whenever it is called."""
    gc.freeze()
    yield
    gc.unfreeze()


@settings(max_examples=200, deadline=None)
@given(p_values=st.lists(st.floats(0, 1), min_size=1, max_size=12))
@pytest.mark.usefixtures("little_garbage")
def test_holm_is_statsmodels(p_values: list[float]) -> None:
    theirs: Any = multipletests(p_values, method="holm")
    assert holm(p_values) == pytest.approx(theirs[1].tolist())


def test_holm_of_nothing_and_of_no_probability() -> None:
    assert holm([]) == []
    for value in (math.nan, -0.1, 1.5):
        with pytest.raises(ValueError, match=r"p_values\[1\] is"):
            holm([0.5, value])


@settings(max_examples=200, deadline=None)
@given(GROUP, GROUP, st.floats(0.1, 50))
def test_equivalence_is_statsmodels(base: list[float], head: list[float], margin: float) -> None:
    if np.ptp(base) and np.ptp(head):
        ours = equivalent_groups(base, head, margin)
        assert ours.p == pytest.approx(ttost_ind(head, base, -margin, margin, usevar="unequal")[0], rel=1e-6, abs=1e-9)
    differences = [two - one for one, two in zip(base, head, strict=False)]
    if np.ptp(differences) > 1e-9:
        ours = equivalent_pairs(differences, margin)
        theirs = ttost_paired(np.array(differences), np.zeros(len(differences)), -margin, margin)
        assert ours.p == pytest.approx(theirs[0], rel=1e-6, abs=1e-9)
        assert ours.interval
        assert ours.interval.level == pytest.approx(0.9)
        assert ours.equivalent == (-margin < ours.interval.low and ours.interval.high < margin)


def test_equivalence_of_values_that_do_not_vary_and_of_too_few() -> None:
    assert equivalent_pairs([0.0] * 3, 0.1).equivalent
    assert not equivalent_pairs([0.2] * 3, 0.1).equivalent
    assert equivalent_groups([1.0] * 3, [1.05] * 3, 0.1).equivalent
    assert equivalent_pairs([0.0], 0.1) == Equivalence(difference=0, margin=0.1, p=1, equivalent=False, interval=None)
    assert equivalent_groups([], [1.0], 0.1).difference is None
    assert equivalent_groups([1.0], [1.0, 2.0], 0.1).difference == 0.5


@pytest.mark.parametrize("margin", [0.0, -1.0, math.nan, math.inf])
def test_a_margin_is_to_be_stated(margin: float) -> None:
    for test in (lambda: equivalent_pairs([1.0, 2.0], margin), lambda: equivalent_groups([1.0], [1.0, 2.0], margin)):
        with pytest.raises(ValueError, match="state how large a difference still counts as none"):
            test()
    with pytest.raises(ValueError, match=r"above 0\.5"):
        equivalent_pairs([1.0, 2.0], 1.0, level=0.4)


@pytest.mark.parametrize(
    "function", [cohens_d, cliffs_delta, relative_reduction, lambda a, b: equivalent_groups(a, b, 1.0)]
)
def test_what_is_no_number_is_refused_on_either_side(function: Callable[..., Any]) -> None:
    for sides in (([1.0, math.nan], [1.0, 2.0]), ([1.0, 2.0], [1.0, math.nan])):
        with pytest.raises(ValueError, match=r"\[1\] is nan"):
            function(*sides)
