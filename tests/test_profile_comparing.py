"""Cells against each other: which are compared, what is found, and what is not made up."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from many_rows import draw_rows

from benchflow.errors import InputError
from benchflow.report.profile import CellComparison, Comparison
from benchflow.report.profile.making import make_comparison, make_profile
from benchflow.row import ProfileRow
from benchflow.stats.correction import holm
from benchflow.stats.mcnemar import McNemar
from benchflow.stats.permutation import within_strata

SEEDS = st.integers(0, 10_000)


def of_mode(rows: list[ProfileRow], mode: str) -> list[ProfileRow]:
    return [row for row in rows if row.mode == mode]


def verdicts(comparison: CellComparison) -> dict[str, str]:
    return {one.metric.name: one.verdict for one in comparison.metrics}


def only(comparison: Comparison) -> CellComparison:
    (cells,) = comparison.cells
    return cells


def test_planted_drop_is_found_and_what_is_alike_is_not() -> None:
    rows = draw_rows(scenarios=30, repetitions=5, modes=("baseline", "mcp"), drop=0.35, dearer=1.5, seed=1)

    (found,) = make_profile(rows).comparisons

    assert verdicts(found) == {
        "success": "worse",
        "score": "worse",
        "wall_ms": "not distinguishable",
        "tokens": "worse",
        "cost_usd": "not distinguishable",
        "turns": "not distinguishable",
        "tool_calls": "not distinguishable",
    }
    (reduction,) = (one.reduction for one in found.metrics if one.metric.name == "tokens")
    assert reduction
    assert reduction.low is not None
    assert reduction.high is not None
    assert reduction.low < -0.5 < reduction.high < 0


def test_planted_nulls_are_seldom_said_to_differ() -> None:
    differing = 0
    for seed in range(20):
        rows = draw_rows(scenarios=10, repetitions=2, modes=("baseline", "mcp"), seed=seed)
        (found,) = make_profile(rows).comparisons
        differing += set(verdicts(found).values()) != {"not distinguishable"}

    assert differing <= 4  # of 20 at 5 %: more has a chance of 0.3 %


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(1, 8), st.integers(1, 3))
def test_same_data_on_both_sides_have_no_difference(seed: int, scenarios: int, repetitions: int) -> None:
    rows = draw_rows(scenarios=scenarios, repetitions=repetitions, seed=seed)

    found = only(make_comparison(rows, rows))

    assert set(verdicts(found).values()) == {"not distinguishable"}
    assert {one.difference.value for one in found.metrics} == {0}
    assert min(one.p or 0.0 for one in found.metrics) > 0.95  # exactly 1, but for permutations that are drawn
    assert {one.reduction.value for one in found.metrics if one.reduction} == {0}


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_exchanged_sides_give_the_opposite_difference(seed: int) -> None:
    rows = draw_rows(scenarios=9, repetitions=2, modes=("baseline", "mcp"), drop=0.2, seed=seed)
    base, head = of_mode(rows, "baseline"), of_mode(rows, "mcp")

    forth, back = only(make_comparison(base, head)), only(make_comparison(head, base))

    for one, other in zip(forth.metrics, back.metrics, strict=True):
        assert one.difference.value == pytest.approx(-(other.difference.value or 0))
        assert one.p == other.p


def test_p_values_are_adjusted_for_all_metrics_together() -> None:
    rows = draw_rows(scenarios=12, repetitions=2, modes=("baseline", "mcp"), drop=0.3, seed=2)

    (found,) = make_profile(rows).comparisons

    assert [one.p_adjusted for one in found.metrics] == holm([one.p or 0.0 for one in found.metrics])


def test_eight_scenarios_are_too_few_to_speak_of_others_by_seven_metrics() -> None:
    few, enough = (
        make_profile(draw_rows(scenarios=count, modes=("baseline", "mcp"), seed=3)).comparisons[0] for count in (8, 9)
    )

    assert (few.over, few.shared) == ("trials", 8)
    assert (enough.over, enough.shared) == ("scenarios", 9)


def test_one_trial_says_nothing_and_so_nothing_is_distinguishable() -> None:
    rows = draw_rows(scenarios=1, repetitions=1, modes=("baseline", "mcp"), drop=1.0, seed=4)

    (found,) = make_profile(rows).comparisons

    assert set(verdicts(found).values()) == {"not distinguishable"}
    assert {one.detectable for one in found.metrics} == {None}


def test_single_trials_are_tested_by_mcnemar_too() -> None:
    rows = draw_rows(scenarios=8, repetitions=1, modes=("baseline", "mcp"), seed=5)
    base = [replace(row, success=True, score=1.0) for row in of_mode(rows, "baseline")]
    head = [replace(row, success=index > 2, score=float(index > 2)) for index, row in enumerate(of_mode(rows, "mcp"))]

    success = only(make_comparison(base, head)).metric("success")

    assert success
    assert success.mcnemar == McNemar(only_base=3, only_head=0, p=0.25)


def test_scenario_whose_files_have_changed_is_not_compared() -> None:
    base = draw_rows(scenarios=3, seed=6)
    head = [replace(row, scenario_digest="other") if row.scenario_id == "s001" else row for row in base]

    found = only(make_comparison(base, head))

    assert (found.changed, found.left_out, found.shared) == (("s001",), (), 2)


def test_scenario_that_is_scored_on_one_side_only_is_left_out_and_named() -> None:
    base = draw_rows(scenarios=3, seed=7)
    head = [replace(row, success=None, score=None) if row.scenario_id == "s002" else row for row in base]

    found = only(make_comparison(base, head))

    assert (found.left_out, found.shared) == (("s002",), 2)
    assert (found.score_bounds.base_unscored, found.score_bounds.head_unscored) == (0, 3)


def test_single_agents_and_modes_are_what_is_compared_where_they_differ() -> None:
    base, head = draw_rows(agent="mini"), draw_rows(agent="other", modes=("mcp",))

    found = only(make_comparison(base, head))

    assert (found.base_label, found.head_label) == ("mini · baseline", "other · mcp")


def test_cells_of_several_modes_are_matched_by_mode_and_the_rest_is_named() -> None:
    base = draw_rows(modes=("baseline", "mcp", "old"))
    head = draw_rows(modes=("baseline", "mcp", "new"), agent="other")

    found = make_comparison(base, head)

    assert [(one.base.mode, one.head.mode) for one in found.cells] == [("baseline", "baseline"), ("mcp", "mcp")]
    assert [name.mode for name in found.only_base] == ["old"]
    assert [name.mode for name in found.only_head] == ["new"]


@pytest.mark.parametrize(("field", "value"), [("upstream", "oracle"), ("upstream", "anthropic"), ("model", "gpt-y")])
def test_runs_that_others_answered_are_refused_unless_that_is_meant(field: str, value: str) -> None:
    base = draw_rows()
    head = [replace(row, **{field: value}) for row in base]

    with pytest.raises(InputError, match="--across-upstreams"):
        make_comparison(base, head)

    assert only(make_comparison(base, head, across_upstreams=True)).shared == 8


def test_a_cassette_answers_as_what_it_was_recorded_from() -> None:
    base = draw_rows()
    head = [replace(row, upstream="cassette:ab12 of openai") for row in base]

    assert only(make_comparison(base, head)).shared == 8


def test_runs_without_a_common_cell_are_refused_with_what_each_has() -> None:
    base = draw_rows(modes=("a", "b"))
    head = draw_rows(modes=("c", "d"))

    with pytest.raises(InputError, match=r"base has mini .* a, mini .* b; head has mini .* c"):
        make_comparison(base, head)


def test_another_isolation_on_the_other_side_is_said() -> None:
    base = draw_rows()
    head = [replace(row, isolation="process") for row in base]

    assert any("isolation" in note for note in make_comparison(base, head).notes)


def test_sums_of_many_trials_are_drawn_as_permutations_would_give_them() -> None:
    rows = draw_rows(scenarios=1, repetitions=1_100, modes=("baseline", "mcp"), drop=0.03, seed=8)
    base, head = ([row.score or 0.0 for row in of_mode(rows, mode)] for mode in ("baseline", "mcp"))

    drawn, again = (within_strata([(base, head)], seed=seed) for seed in (1, 2))
    fewer = within_strata([(base[:990], head[:990])], seed=1)  # so few are permuted

    assert drawn
    assert again
    assert fewer
    assert drawn.p_value() == pytest.approx(again.p_value(), abs=0.03)
    narrow, wide = drawn.interval(), fewer.interval()
    assert narrow
    assert wide
    assert narrow.width == pytest.approx(wide.width * (0.9**0.5), rel=0.08)
