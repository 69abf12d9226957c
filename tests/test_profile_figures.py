"""The figures of a run: what they rest on, and what must not change them."""

import random
from dataclasses import replace
from typing import Any

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from many_rows import draw_rows
from stored import make_row, make_unscored

from benchflow.contracts import CostBreakdown, LimitHit, TimingBreakdown
from benchflow.errors import InputError
from benchflow.report.profile import CellFigures, Estimate, Profile
from benchflow.report.profile.making import make_profile
from benchflow.row import ProfileRow
from benchflow.stats.bounds import ScoreBounds
from benchflow.stats.order import median_interval

FEW = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 10_000)


def trial(number: int, passed: bool | None = True, *, scenario: str = "fix", **changes: Any) -> ProfileRow:
    """A trial of a scenario under a model."""
    common = {"trial": f"{scenario}-{number}", "scenario_id": scenario, "iteration": number, "upstream": "openai"}
    if passed is None:
        return make_unscored(**{**common, **changes})
    return make_row(**{**common, "success": passed, "score": float(passed), **changes})


def cell(*rows: ProfileRow) -> CellFigures:
    (only,) = make_profile(rows).cells
    return only


def test_success_and_score_have_wilsons_interval() -> None:
    found = cell(*(trial(number, number < 7) for number in range(10)))

    theirs = scipy.stats.binomtest(7, 10).proportion_ci(method="wilson")
    assert (found.passed, found.scored, found.trials) == (7, 10, 10)
    assert (found.success.value, found.success.n, found.success.method) == (0.7, 10, "wilson")
    assert (found.success.low, found.success.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))
    assert found.score == found.success


def test_unscored_trials_are_in_no_figure_and_open_bounds() -> None:
    found = cell(trial(0), trial(1, False), trial(2, None), trial(3, None))

    assert (found.scored, found.unscored, found.unscored_by_code) == (2, 2, {"upstream": 2})
    assert found.success.value == 0.5
    assert found.success_bounds == ScoreBounds(scored=2, unscored=2, mean=0.5, as_zero=0.25, as_one=0.75)


def test_a_run_of_nothing_but_unscored_trials_has_no_figure_at_all() -> None:
    found = cell(trial(0, None))

    assert (found.success, found.score) == (Estimate(value=None), Estimate(value=None))
    assert found.wall_ms == Estimate(value=None)
    assert (found.score_bounds.as_zero, found.score_bounds.as_one) == (0, 1)


def test_medians_are_given_without_an_interval_where_five_trials_cannot_have_one() -> None:
    rows = [trial(number, timing=TimingBreakdown(wall_ms=100.0 * number)) for number in range(1, 7)]

    assert cell(*rows[:5]).wall_ms == Estimate(value=300.0, n=5)
    assert cell(*rows).wall_ms == Estimate(value=350.0, low=100.0, high=600.0, n=6, method="order statistics")


def test_trials_without_a_price_are_counted_beside_the_median_cost() -> None:
    rows = [trial(0, cost=CostBreakdown(total_usd=0.5)), trial(1, cost=CostBreakdown(total_usd=None))]

    found = cell(*rows)

    assert (found.cost_usd.value, found.cost_usd.n, found.cost_usd.unknown) == (0.5, 1, 1)
    assert (found.totals.cost_usd, found.totals.cost_unknown) == (0.5, 1)


def test_pass_k_is_given_for_the_k_that_repetitions_allow() -> None:
    rows = [trial(number, number % 2 == 0, scenario=name) for name in ("fix", "sum") for number in range(4)]

    found = {one.k: (one.at_least_one.value, one.all_of_them.value) for one in cell(*rows).pass_k}

    assert found == {
        1: (0.5, 0.5),
        2: (pytest.approx(5 / 6), pytest.approx(1 / 6)),
        3: (1, 0),
        4: (1, 0),
    }
    assert cell(trial(0), trial(0, scenario="sum")).pass_k == ()


def test_flaky_scenarios_are_those_that_passed_and_did_not() -> None:
    rows = [
        trial(0),
        trial(1, False),
        trial(0, scenario="sum"),
        trial(1, scenario="sum"),
        trial(2, None, scenario="sum"),
    ]

    assert cell(*rows).flaky == ("fix",)


def test_budgets_are_told_apart_by_what_they_did() -> None:
    limit = LimitHit(kind="max_turns", allowed=6, used=6, phase="hard", counter="main_exchanges")
    rows = [
        trial(0),
        trial(1, True, wrapped_up=True, limit=replace(limit, phase="soft")),
        trial(2, False, completion_reason="tool_limit", limit=limit),
        trial(3, False, completion_reason="timeout"),
    ]

    found = cell(*rows).limits

    assert (found.untouched, found.wrapped_up, found.capped) == (1, 1, 2)
    assert (found.score_wrapped_up.value, found.score_capped.value) == (1, 0)


def test_numbers_of_plugins_have_their_median() -> None:
    rows = [
        trial(
            number,
            extensions={"metrics": {"mine.files": {"value": number, "unit": "files"}, "mine.note": {"value": "x"}}},
        )
        for number in range(3)
    ]

    (metric,) = cell(*rows).metrics

    assert (metric.name, metric.unit, metric.median.value, metric.median.n) == ("mine.files", "files", 1, 3)


def test_cells_stand_as_they_were_planned_and_the_first_is_the_base() -> None:
    rows = [trial(0, mode=mode, trial=f"{mode}-0") for mode in ("mcp", "baseline", "again")]

    planned = make_profile(rows, planned=["mcp-0", "again-0", "baseline-0", "lost-0"])

    assert [each.label for each in planned.cells] == ["mcp", "again", "baseline"]
    assert [(each.base_label, each.head_label) for each in planned.comparisons] == [
        ("mcp", "again"),
        ("mcp", "baseline"),
    ]
    assert planned.missing == 1
    assert [each.label for each in make_profile(rows).cells] == ["baseline", "again", "mcp"]


def test_the_oracle_and_a_sandbox_that_hides_nothing_are_said_first() -> None:
    found = make_profile([trial(0, upstream="oracle", isolation="process")])

    assert found.notes[0].startswith("oracle, not a model:")
    assert any("hides nothing" in note for note in found.notes)


def test_a_model_and_an_oracle_are_not_compared_within_a_run() -> None:
    rows = [trial(0, trial="a"), trial(0, trial="b", upstream="oracle", mode="mcp")]

    assert make_profile(rows).comparisons == ()


def test_score_beyond_its_bounds_is_an_error_that_names_the_trial() -> None:
    with pytest.raises(InputError, match=r"fix-0: its score is 5.0"):
        make_profile([trial(0, score=5.0)])


@FEW
@given(SEEDS)
def test_order_of_rows_changes_no_figure(seed: int) -> None:
    rows = draw_rows(scenarios=4, repetitions=3, modes=("baseline", "mcp"), unscored=0.1, seed=seed)
    shuffled = random.Random(seed).sample(rows, len(rows))

    assert make_profile(shuffled) == make_profile(rows)


@FEW
@given(SEEDS, st.integers(1, 4))
def test_more_unscored_trials_change_counts_and_bounds_and_nothing_else(seed: int, more: int) -> None:
    rows = draw_rows(scenarios=3, repetitions=2, seed=seed)
    lost = [
        make_unscored(**{**common(rows[0]), "trial": f"lost-{number}", "iteration": 9 + number})
        for number in range(more)
    ]

    assert measured(make_profile([*rows, *lost])) == measured(make_profile(rows))
    assert make_profile([*rows, *lost]).unscored == more


def common(row: ProfileRow) -> dict[str, Any]:
    names = ("agent", "upstream", "model", "mode", "isolation", "scenario_id", "scenario_digest")
    return {name: getattr(row, name) for name in names}


def measured(profile: Profile) -> list[object]:
    """All figures that rest on scored trials."""
    return [
        (
            one.success,
            one.score,
            one.wall_ms,
            one.tokens,
            one.cost_usd,
            one.turns,
            one.tool_calls,
            one.pass_k,
            one.flaky,
        )
        for one in profile.cells
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.sampled_from([0.8, 0.95, 0.99]))
def test_limits_of_a_median_are_the_ranks_of_the_binomial(values: list[float], level: float) -> None:
    rank = int(scipy.stats.binom.ppf((1 - level) / 2, len(values), 0.5))
    ordered = sorted(values)
    while rank > 0 and scipy.stats.binom.cdf(rank - 1, len(values), 0.5) > (1 - level) / 2:
        rank -= 1

    found = median_interval(values, level=level)

    assert (found and (found.low, found.high)) == ((ordered[rank - 1], ordered[-rank]) if rank else None)
