"""The summary of a run, and the exit code that a shell job sees."""

from dataclasses import replace

import pytest

from benchflow.contracts import CostBreakdown, TimingBreakdown, TokenBreakdown, ToolCallBreakdown
from benchflow.errors import InputError
from benchflow.row import ExchangeCounts, ProfileRow, read_rows
from benchflow.runner.gate import Gate, allowed_unscored, summarize

ROW = ProfileRow(
    run_id="r",
    trial="t",
    tries=1,
    agent="a",
    agent_version=None,
    agent_digest="d",
    model="m",
    model_served=None,
    upstream="oracle",
    mode="baseline",
    scenario_id="s",
    scenario_digest="d",
    iteration=0,
    started_at="2026-01-01T00:00:00.000000Z",
    completed_at="2026-01-01T00:00:01.000000Z",
    tokens=TokenBreakdown.of(input=10, output=5, cache_read=3),
    timing=TimingBreakdown(wall_ms=5),
    tool_calls=ToolCallBreakdown(),
    cost=CostBreakdown(total_usd=0.5),
    exchanges=ExchangeCounts(main=1),
    success=True,
    score=1.0,
    checks_passed=1,
    checks_total=1,
    check_details=(),
    output_valid=True,
    provider="acp",
    session_id="1",
    agent_turns=1,
    completion_reason="stop",
    stop_reason="end_turn",
    wrapped_up=False,
    limit=None,
    tier="unmeasured",
    isolation="process",
    error=None,
    error_code=None,
    benchflow_version="0",
)
FAILED = replace(ROW, success=False, score=0.5)
UNSCORED = replace(ROW, success=None, score=None, error_code="upstream", completion_reason="error")


def test_unscored_trials_are_counted_and_are_neither_zero_nor_a_pass() -> None:
    summary = summarize([ROW, FAILED, UNSCORED], planned=4, upstream="oracle")

    assert (summary.passed, summary.failed, summary.unscored, summary.missing) == (1, 1, 1, 1)
    assert (summary.mean_score, summary.success_rate) == (0.75, 0.5)
    assert summary.tokens == TokenBreakdown.of(input=30, output=15, cache_read=9)


def test_cost_is_unknown_as_soon_as_one_trials_cost_is() -> None:
    unknown = replace(ROW, cost=CostBreakdown(total_usd=None))

    assert summarize([ROW, ROW], planned=2, upstream="x").cost_usd == 1.0
    assert summarize([ROW, unknown], planned=2, upstream="x").cost_usd is None


@pytest.mark.parametrize(
    ("rows", "planned", "gate", "code"),
    [
        ([ROW], 1, Gate(), 0),
        ([FAILED], 1, Gate(), 0),
        ([FAILED], 1, Gate(fail_under=0.6), 1),
        ([FAILED], 1, Gate(fail_under=0.5), 0),
        ([ROW, UNSCORED], 2, Gate(), 3),
        ([ROW, UNSCORED], 2, Gate(max_unscored="1"), 0),
        ([ROW, UNSCORED], 2, Gate(max_unscored="50%"), 0),
        ([ROW, UNSCORED], 2, Gate(max_unscored="49%"), 3),
        ([UNSCORED], 1, Gate(max_unscored="1", fail_under=0.1), 1),
        ([FAILED, UNSCORED], 3, Gate(fail_under=1.0), 130),
        ([FAILED, UNSCORED], 2, Gate(fail_under=1.0), 3),
    ],
)
def test_exit_code_is_the_first_that_applies(rows: list[ProfileRow], planned: int, gate: Gate, code: int) -> None:
    assert gate.exit_code(summarize(rows, planned=planned, upstream="x")) == code


@pytest.mark.parametrize("text", ["", "some", "-1", "10%%", "1e3"])
def test_allowance_that_is_no_number_names_the_option(text: str) -> None:
    with pytest.raises(InputError, match="--max-unscored"):
        allowed_unscored(text, 10)


def test_rows_read_back_equal_and_a_cut_last_line_is_left_out(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROW.to_json() + b"\n" + FAILED.to_json() + b"\n" + UNSCORED.to_json()[:40])

    assert read_rows(path) == [ROW, FAILED]


def test_bad_line_within_the_rows_is_an_error_that_names_it(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"run_id": 1}\n' + ROW.to_json() + b"\n")

    with pytest.raises(InputError, match="line 1"):
        read_rows(path)


def test_run_that_was_halted_is_the_users_to_fix_unless_it_was_interrupted_too() -> None:
    rows = [ROW, UNSCORED]

    assert Gate(max_unscored="9").exit_code(summarize(rows, planned=2, upstream="m", halted="the key was refused")) == 2
    assert Gate().exit_code(summarize(rows, planned=3, upstream="m", halted="the key was refused")) == 130


def test_limit_that_is_no_number_is_refused_before_anything_is_judged() -> None:
    with pytest.raises(InputError, match="--max-unscored some"):
        Gate(max_unscored="some")
