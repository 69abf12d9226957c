"""Gates: what fails a build, what passes, and what is said of it."""

import json
from pathlib import Path

import pytest
from command_line import open_shell
from many_rows import draw_rows
from stored import make_row
from test_compare import BASE, HEAD, shell_with

from benchflow.contracts import CostBreakdown
from benchflow.errors import InputError
from benchflow.report.profile.making import make_comparison
from benchflow.row import ProfileRow
from benchflow.runner.gate import Gate, GateVerdict, summarize
from benchflow.runner.regression import judge_regression


def judge(
    base: list[ProfileRow], head: list[ProfileRow], *, margin: float = 0.0, require_power: float | None = None
) -> list[GateVerdict]:
    gate = Gate(fail_on_regression="base", margin=margin, require_power=require_power)
    return list(judge_regression(gate, make_comparison(base, head)))


def test_planted_drop_fails_and_says_by_how_much() -> None:
    base, head = draw_rows(scenarios=40, seed=1), draw_rows(scenarios=40, seed=1, modes=("old", "baseline"), drop=0.5)

    success, score = judge(base, [row for row in head if row.mode == "baseline"])

    assert (success.missed, score.missed) == (True, True)
    assert success.reason.startswith("success: surely worse (-")


def test_drop_that_is_not_sure_passes_and_says_what_would_have_been_seen() -> None:
    base, head = draw_rows(scenarios=8, seed=1), draw_rows(scenarios=8, seed=2)

    verdicts = judge(base, head)

    assert not any(verdict.missed for verdict in verdicts)
    assert all("the smallest drop that would have been seen is" in verdict.reason for verdict in verdicts)


def test_drop_within_the_margin_passes() -> None:
    base, head = draw_rows(scenarios=40, seed=1), draw_rows(scenarios=40, seed=1, modes=("old", "baseline"), drop=0.3)
    head = [row for row in head if row.mode == "baseline"]

    assert any(verdict.missed for verdict in judge(base, head))
    assert not any(verdict.missed for verdict in judge(base, head, margin=0.3))


def test_sample_that_is_too_small_for_the_power_asked_fails() -> None:
    rows = draw_rows(scenarios=6, repetitions=1)

    success, _ = judge(rows, rows, require_power=0.1)

    assert success.missed
    assert success.reason.startswith("success: too small a sample:")
    assert not any(verdict.missed for verdict in judge(rows, rows))


def test_nothing_in_common_fails_instead_of_passing_unseen() -> None:
    base, head = draw_rows(scenarios=1), draw_rows(scenarios=1, scenario_id="other")

    assert [verdict.missed for verdict in judge(base, head)] == [True, True]


def test_drops_of_runs_that_are_no_worse_seldom_fail() -> None:
    missed = sum(
        any(verdict.missed for verdict in judge(draw_rows(seed=seed), draw_rows(seed=seed, agent="b")))
        for seed in range(20)
    )

    assert missed <= 3


@pytest.mark.parametrize(
    ("costs", "upstream", "missed", "said"),
    [
        ((0.5, 0.5), "openai", False, "$1.0000 of $1 were spent"),
        ((0.5, 0.6), "openai", True, "$1.1000 of $1 were spent"),
        ((0.5, None), "openai", True, "what 1 trials cost is not known"),
        ((None, None), "oracle", False, "$0.0000 of $1 were spent"),
    ],
)
def test_cost_that_is_too_high_or_not_known_fails(
    costs: tuple[float | None, ...], upstream: str, missed: bool, said: str
) -> None:
    rows = [make_row(cost=CostBreakdown(total_usd=cost), upstream=upstream) for cost in costs]

    (verdict,) = Gate(max_cost_usd=1.0).verdicts(summarize(rows, planned=2, upstream=upstream))

    assert verdict.missed is missed
    assert said in verdict.reason


@pytest.mark.parametrize(("missing", "code"), [(0, 0), (1, 1)])
def test_trials_that_were_not_begun_for_their_cost_are_a_gate_missed_and_no_interruption(
    missing: int, code: int
) -> None:
    rows = [make_row(cost=CostBreakdown(total_usd=1.0), upstream="openai")]
    summary = summarize(rows, planned=1 + missing, upstream="openai", halted="--max-cost: ..." if missing else None)

    assert Gate(max_cost_usd=1.0).exit_code(summary) == code
    assert Gate(max_cost_usd=2.0).exit_code(summary) == (130 if missing else 0)


def test_how_to_judge_without_a_base_is_refused() -> None:
    with pytest.raises(InputError, match=r"--margin: .* give that, too"):
        Gate(margin=0.1)
    with pytest.raises(InputError, match=r"--require-power: .* give that, too"):
        Gate(require_power=0.1)


def test_report_and_compare_exit_by_their_gates_and_say_why(tmp_path: Path) -> None:
    worse = draw_rows(scenarios=30, seed=1, modes=("old", "baseline"), drop=0.6)
    head = [row for row in worse if row.mode == "baseline"]
    shell = shell_with(tmp_path, base=draw_rows(scenarios=30, seed=1), head=head)

    compared = shell.run("compare", BASE, HEAD, "--fail-on-regression")
    reported = shell.run("report", HEAD, "--fail-on-regression", BASE, "--fail-under", "0", "--json", "-")
    kept = shell.run("compare", HEAD, BASE, "--fail-on-regression", "--max-cost", "1000")

    assert [ended.returncode for ended in (compared, reported, kept)] == [1, 1, 0]
    assert "--fail-on-regression missed: success: surely worse" in compared.stderr
    assert [gate["missed"] for gate in json.loads(reported.stdout)["gates"]] == [False, True, True]
    assert kept.stderr == ""


def test_gates_refuse_an_oracle_that_nobody_asked_for(tmp_path: Path) -> None:
    rows = draw_rows(scenarios=6, upstream="oracle")
    shell = shell_with(tmp_path, base=rows, head=rows)

    refused = shell.run("compare", BASE, HEAD, "--fail-on-regression")
    wrong = shell.run("compare", BASE, HEAD, "--fail-on-regression", "--upstream", "openai")
    meant = shell.run("compare", BASE, HEAD, "--fail-on-regression", "--upstream", "oracle")

    assert [ended.returncode for ended in (refused, wrong, meant)] == [2, 2, 0]
    assert "say --upstream oracle if that is what you want" in refused.stderr


def test_run_is_judged_against_a_baseline_of_the_one_before(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    oracle = ("mini", "./tiny", "--upstream", "oracle")

    before = shell.run("run", *oracle)
    written = shell.run("report", "--baseline", "base.json")
    after = shell.run("run", *oracle, "--fail-on-regression", "base.json", environ=summary)
    unsaid = shell.run("run", "mini", "./tiny", "--fail-on-regression", "base.json")
    other = shell.run("run", "mini", "./tiny", "--upstream", "null", "--fail-on-regression", "base.json")

    assert [ended.returncode for ended in (before, written, after, unsaid, other)] == [0, 0, 0, 2, 2], after.stderr
    assert "--fail-on-regression kept: score: no drop is sure" in after.stderr
    assert "## Gates" in (tmp_path / "summary.md").read_text()
    assert "--fail-on-regression: no model was named" in unsaid.stderr
    assert "base was answered by oracle" in other.stderr
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == 2
