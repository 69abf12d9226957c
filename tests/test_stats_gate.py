"""The decision to fail a build, from a comparison."""

import pytest

from benchflow.stats.gate import decide
from benchflow.stats.interval import Interval
from benchflow.stats.paired import PairedComparison, compare


def suite(*values: float) -> dict[str, list[float]]:
    return {f"s{index}": [value] for index, value in enumerate(values)}


def comparison(low: float, high: float, detectable: float | None = 0.1) -> PairedComparison:
    verdict = "worse" if high < 0 else "better" if low > 0 else "not distinguishable"
    return PairedComparison(
        left_out=(),
        over="scenarios",
        difference=(low + high) / 2,
        interval=Interval(low=low, high=high, level=0.95),
        p=0.5 if verdict == "not distinguishable" else 0.01,
        verdict=verdict,
        detectable=detectable,
    )


@pytest.mark.parametrize(
    ("low", "high", "margin", "missed"),
    [
        (-0.3, -0.1, 0.0, True),
        (-0.3, -0.1, 0.05, True),
        (-0.3, -0.1, 0.2, False),
        (-0.3, -0.1, 0.1, False),
        (-0.3, 0.0, 0.0, False),
        (-0.3, 0.2, 0.0, False),
        (0.1, 0.3, 0.0, False),
    ],
)
def test_the_gate_is_missed_only_where_the_whole_interval_is_beyond_the_margin(
    low: float, high: float, margin: float, missed: bool
) -> None:
    decision = decide(comparison(low, high), margin=margin)

    assert (decision.missed, decision.reason) == (missed, "regression" if missed else "no regression")
    assert (decision.margin, decision.drop, decision.surely) == (margin, -(low + high) / 2, -high)


def test_a_metric_that_should_be_low_regresses_upwards() -> None:
    rose = compare(suite(*(1.0 + index for index in range(8))), suite(*[9.0] * 8), higher_is_better=False)
    decision = decide(rose, margin=0.5, higher_is_better=False)

    assert (rose.verdict, decision.missed, decision.drop) == ("worse", True, 4.5)


def test_a_sample_that_can_show_nothing_fails_only_who_requires_power() -> None:
    for found, needed, reason in (
        (comparison(-0.3, 0.2, 0.4), None, "no regression"),
        (comparison(-0.3, 0.2, 0.4), 0.4, "no regression"),
        (comparison(-0.3, 0.2, 0.4), 0.3, "too small a sample"),
        (comparison(-0.3, -0.2, 0.4), 0.3, "regression"),
        (compare({}, {}), None, "no regression"),
        (compare({}, {}), 0.3, "too small a sample"),
    ):
        decision = decide(found, require_power=needed)
        assert (decision.reason, decision.missed) == (reason, reason != "no regression")
        assert decision.detectable == found.detectable


def test_a_margin_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match=r"margin -0\.1"):
        decide(comparison(-0.1, 0.1), margin=-0.1)
