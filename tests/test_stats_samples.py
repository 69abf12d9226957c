"""One sample in figures: its summary, its bootstrap intervals, and the distributions that they are read from."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import DescrStatsW

from benchflow.stats.bootstrap import bca_interval, draws, expanded_interval, percentile_interval
from benchflow.stats.descriptive import Summary, describe, mean_interval
from benchflow.stats.interval import Interval
from benchflow.stats.statistic import MEAN, MEDIAN, Statistic, each, quantile
from benchflow.stats.student import beta_cdf, normal_cdf, normal_quantile, t_cdf, t_quantile

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda value: round(value, 3))
SAMPLES = st.lists(NUMBERS, min_size=2, max_size=40)
INTERVALS: list[Callable[..., Interval | None]] = [percentile_interval, expanded_interval, bca_interval]
STATISTICS: list[tuple[Statistic, Callable[..., Any]]] = [
    (MEAN, np.mean),
    (each(np.median), np.median),
    (each(lambda row: float(np.quantile(row, 0.9))), lambda rows, axis: np.quantile(rows, 0.9, axis=axis)),
]


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # scipy's own, for equal values
@settings(max_examples=200, deadline=None)
@given(SAMPLES)
def test_a_summary_is_scipys(values: list[float]) -> None:
    theirs = scipy.stats.describe(values)
    percentiles = scipy.stats.mstats.mquantiles(values, (0.5, 0.9, 0.95, 0.99), alphap=1, betap=1)
    sd = math.sqrt(theirs.variance) if len(set(values)) > 1 else 0.0

    ours = describe(values)

    assert (ours.count, ours.min, ours.max) == (theirs.nobs, *theirs.minmax)
    close = pytest.approx((theirs.mean, sd, *percentiles, math.fsum(values)), rel=1e-9, abs=1e-6)
    assert (ours.mean, ours.sd, ours.p50, ours.p90, ours.p95, ours.p99, ours.total) == close


def test_what_there_are_too_few_values_for_is_none() -> None:
    assert describe([]) == Summary(count=0)
    one = dict.fromkeys(("mean", "min", "max", "p50", "p90", "p95", "p99", "total"), 7.0)
    assert describe([7]) == Summary(count=1, sd=None, **one)
    assert [interval(values) for interval in (*INTERVALS, mean_interval) for values in ([], [7.0])] == [None] * 8


def test_equal_values_have_no_spread_though_their_sum_is_rounded() -> None:
    values = [0.1] * 7
    assert (describe(values).mean, describe(values).sd) == (0.1, 0.0)
    for statistic in (MEAN, MEDIAN, quantile(0.9), each(np.mean)):
        for interval in INTERVALS:
            found = interval(values, statistic, resamples=50)
            assert found
            assert (found.low, found.width) == (pytest.approx(0.1), 0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused_with_its_place(value: float) -> None:
    for statistic in (describe, mean_interval, *INTERVALS):
        with pytest.raises(
            ValueError, match=r"values\[2\] is -?(nan|inf); leave out what was not measured, and count it"
        ):
            statistic([1.0, 2.0, value])


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, -0.5, math.nan])
def test_a_level_is_a_share(level: float) -> None:
    for interval in (*INTERVALS, mean_interval):
        with pytest.raises(ValueError, match=r"write 0\.95 for 95 %"):
            interval([1.0, 2.0], level=level)


@pytest.mark.filterwarnings("ignore::scipy.stats.DegenerateDataWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize(("statistic", "function"), STATISTICS)
@pytest.mark.parametrize(("interval", "method"), [(percentile_interval, "percentile"), (bca_interval, "BCa")])
@settings(max_examples=70, deadline=None)
@given(values=st.lists(NUMBERS, min_size=3, max_size=25, unique=True), seed=st.integers(0, 1000))
def test_the_same_seed_gives_scipys_bootstrap_interval(
    interval: Callable[..., Interval | None],
    method: Any,
    statistic: Statistic,
    function: Callable[..., Any],
    values: list[float],
    seed: int,
) -> None:
    theirs = scipy.stats.bootstrap(
        (values,), function, n_resamples=99, confidence_level=0.9, method=method, rng=np.random.default_rng(seed)
    ).confidence_interval

    ours = interval(values, statistic, level=0.9, resamples=99, seed=seed)

    assert ours
    if math.isfinite(theirs.low + theirs.high):
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(size=st.integers(2, 60), q=st.sampled_from((0.0, 0.1, 0.25, 0.5, 0.9, 0.95, 1.0)))
def test_order_statistics_are_drawn_as_often_as_resamples_hold_them(size: int, q: float) -> None:
    """The lower neighbour of a quantile is the k-th smallest of a resample: at most rank j, if k of n draws are."""
    position = (size - 1) * q
    k = int(position) + 1
    expected = scipy.stats.binom.sf(k - 1, size, np.arange(1, size + 1) / size)

    drawn = draws(np.arange(size, dtype=float), quantile(q), 4000, seed=size)

    if position == int(position):
        found = np.searchsorted(np.sort(drawn), np.arange(size), side="right") / drawn.size
        assert np.abs(found - expected).max() < 0.04  # Kolmogorov's distance: 1.95 / sqrt(4000) is one in a thousand


@pytest.mark.parametrize("q", [0.5, 0.9, 0.37])
@pytest.mark.parametrize("size", [2, 3, 10, 51])
def test_interpolated_quantiles_are_drawn_as_if_resampled(size: int, q: float) -> None:
    values = np.random.default_rng(size).lognormal(size=size)
    short = draws(values, quantile(q), 20_000, seed=1)
    resampled = draws(values, Statistic(of_rows=lambda rows: np.quantile(rows, q, axis=1)), 20_000, seed=2)

    distance: Any = scipy.stats.ks_2samp(short.round(9), resampled.round(9))
    assert distance.statistic < 0.02  # 0.0195 is one in a thousand


def test_the_jackknife_of_a_quantile_needs_no_resorting() -> None:
    values = np.random.default_rng(3).permutation(np.arange(9.0) ** 2)
    for size in range(2, 10):
        for q in (0.0, 0.3, 0.5, 0.9, 1.0):
            sample, statistic = values[:size], quantile(q)
            assert statistic.leave_one_out
            expected = [np.quantile(np.delete(sample, index), q) for index in range(size)]
            order = np.argsort(np.argsort(sample))
            np.testing.assert_allclose(statistic.leave_one_out(sample)[order], expected)


def test_an_interval_holds_its_limits() -> None:
    interval = Interval(low=1.0, high=3.0, level=0.9)
    assert [interval.contains(value) for value in (0.9, 1.0, 2.0, 3.0, 3.1)] == [False, True, True, True, False]
    assert interval.width == 2


@pytest.mark.parametrize("size", [2, 5, 20])
def test_the_expanded_interval_moves_its_tails_out_to_students(size: int) -> None:
    values = np.random.default_rng(size).normal(size=size)
    tail = scipy.stats.norm.cdf(-math.sqrt(size / (size - 1)) * scipy.stats.t.ppf(0.95, size - 1))

    found = expanded_interval(values, level=0.9, resamples=500)

    assert found
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(draws(values, MEAN, 500, 0), (tail, 1 - tail))))


def test_memory_is_bounded_by_resampling_in_parts() -> None:
    values = np.random.default_rng(4).normal(size=2_500)
    whole = np.random.default_rng(5).integers(0, 2_500, (1_000, 2_500))

    np.testing.assert_allclose(draws(values, MEAN, 1_000, 5), values[whole].mean(axis=1))


@settings(max_examples=200, deadline=None)
@given(SAMPLES, st.sampled_from((0.8, 0.95, 0.99)))
def test_the_interval_of_a_mean_is_statsmodels(values: list[float], level: float) -> None:
    ours = mean_interval(values, level=level)
    assert ours
    if len(set(values)) > 1:
        theirs = DescrStatsW(values).tconfint_mean(alpha=1 - level)
        assert (ours.low, ours.high) == pytest.approx(theirs, rel=1e-9, abs=1e-6)
    else:
        assert (ours.width, describe(values).mean) == (0, ours.low)


@settings(max_examples=200, deadline=None)
@given(x=st.floats(0, 1), a=st.floats(0.05, 2000), b=st.floats(0.05, 2000))
def test_the_beta_distribution_is_scipys(x: float, a: float, b: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(scipy.stats.beta.cdf(x, a, b), rel=1e-8, abs=1e-10)


@settings(max_examples=200, deadline=None)
@given(probability=st.floats(1e-6, 1 - 1e-6), df=st.one_of(st.integers(1, 100_000), st.floats(0.5, 300)))
def test_students_and_the_normal_distribution_are_scipys(probability: float, df: float) -> None:
    assert normal_quantile(probability) == pytest.approx(scipy.stats.norm.ppf(probability), rel=1e-9, abs=1e-9)
    value = float(scipy.stats.t.ppf(probability, df))
    assert t_quantile(probability, df) == pytest.approx(value, rel=1e-6, abs=1e-7)  # near 0 its cdf is that flat
    assert t_cdf(value, df) == pytest.approx(probability, rel=1e-7, abs=1e-10)
    assert normal_cdf(value) == pytest.approx(scipy.stats.norm.cdf(value))


@pytest.mark.parametrize(
    ("interval", "statistic", "truth", "least"),
    [
        (percentile_interval, MEDIAN, 1.0, 0.92),
        (bca_interval, MEDIAN, 1.0, 0.92),
        (bca_interval, MEAN, math.exp(0.125), 0.90),
        (expanded_interval, MEAN, math.exp(0.125), 0.90),
        (mean_interval, None, math.exp(0.125), 0.90),
    ],
)
def test_intervals_of_a_skewed_sample_cover_the_truth(
    interval: Callable[..., Interval | None], statistic: Statistic | None, truth: float, least: float
) -> None:
    """400 samples of 25 lognormal values; the standard error of a coverage of 0.95 is 0.011."""
    rng, covered = np.random.default_rng(6), 0
    options = {"statistic": statistic, "resamples": 600} if statistic else {}
    for _ in range(400):
        found = interval(rng.lognormal(sigma=0.5, size=25), **options)
        assert found
        covered += found.contains(truth)
    assert least <= covered / 400 <= 0.985
