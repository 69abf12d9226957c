"""The interval that may be looked at after every trial."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.stats.interval import Interval
from benchflow.stats.rates import success_rate
from benchflow.stats.sequential import Look, look


@settings(max_examples=200, deadline=None)
@given(passed=st.integers(0, 200), failed=st.integers(0, 200), level=st.sampled_from((0.8, 0.95, 0.99)))
def test_limits_are_where_the_mixture_martingale_reaches_its_bound(passed: int, failed: int, level: float) -> None:
    """The mixture by scipy, as the ratio of beta-binomial and binomial chances, and its roots by scipy."""
    total = passed + failed
    ours = look([1.0] * passed + [0.0] * failed, level=level).interval

    def excess(p: float) -> float:
        mixture = scipy.special.betaln(passed + 0.5, failed + 0.5) - scipy.special.betaln(0.5, 0.5)
        return float(mixture - scipy.special.xlogy(passed, p) - scipy.special.xlog1py(failed, -p) + math.log(1 - level))

    mean = passed / total if total else 0.5
    low = scipy.optimize.brentq(excess, 1e-12, mean) if passed and excess(1e-12) > 0 else 0.0
    high = scipy.optimize.brentq(excess, mean, 1 - 1e-12) if failed and excess(1 - 1e-12) > 0 else 1.0
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-9)


def test_before_the_first_trial_nothing_is_known() -> None:
    assert look([]) == Look(count=0, mean=None, interval=Interval(low=0, high=1, level=0.95))
    one = look([1.0])
    assert (one.count, one.mean, one.interval.high) == (1, 1, 1)
    assert 0 < one.interval.low < 0.05


def test_the_order_does_not_matter_and_sides_are_alike() -> None:
    values = [1.0, 0.0, 0.5, 1.0, 0.25]
    found, turned = look(values), look([1 - value for value in values])

    assert look(sorted(values)) == found
    assert (turned.interval.low, turned.interval.high) == pytest.approx(
        (1 - found.interval.high, 1 - found.interval.low)
    )
    assert found.mean == 0.55


def test_it_is_narrow_enough_within_so_much_either_way() -> None:
    always = next(count for count in range(1, 200) if look([1.0] * count).narrow_enough(0.1))
    evenly = next(count for count in range(2, 1000, 2) if look([0.0, 1.0] * (count // 2)).narrow_enough(0.1))

    assert (always, evenly) == (24, 298)
    assert not look([1.0] * 23).narrow_enough(0.1)
    assert not look([]).narrow_enough(0.4)
    assert look([]).narrow_enough(0.5)


@pytest.mark.parametrize("value", [math.nan, -0.1, 1.1, math.inf])
def test_only_values_between_zero_and_one_can_be_followed(value: float) -> None:
    with pytest.raises(ValueError, match=r"values\[1\] is"):
        look([0.5, value])


@pytest.mark.parametrize("kind", ["rate", "scores"])
def test_looking_after_every_trial_misleads_no_more_often_than_stated(kind: str) -> None:
    """200 cells of 150 trials: how often any look leaves the truth out, which Wilson's interval does far too often."""
    rng = np.random.default_rng(1)
    missed = misled = 0
    for _ in range(200):
        values = (rng.random(150) < 0.7).astype(float) if kind == "rate" else rng.beta(1.4, 0.6, 150)
        sums = np.cumsum(values)
        looks = [look(values[:count].tolist()).interval for count in range(1, 151, 3)]
        missed += any(not interval.contains(0.7) for interval in looks)
        if kind == "rate":
            rates = (success_rate(int(sums[count - 1]), count).interval for count in range(1, 151, 3))
            misled += any(interval and not interval.contains(0.7) for interval in rates)
    assert missed / 200 <= 0.05
    assert misled / 200 > 0.15 or kind == "scores"
