import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from stored import make_row, make_unscored

from benchflow.contracts import CostBreakdown, LimitHit, ScorerCheckResult, TimingBreakdown
from benchflow.report import numbers
from benchflow.report.console import print_run, run_argument, trial_argument, upstream_label
from benchflow.report.text import block, head, one_line, sanitize, tail
from benchflow.report.verdict import judge
from benchflow.row import ProfileRow


def failed_check(actual: str = "1 failed, 2 passed") -> ScorerCheckResult:
    return ScorerCheckResult(
        id="tests-pass", description="the tests pass", passed=False, actual=actual, expected="exit status 0"
    )


def make_failed(**changes: Any) -> ProfileRow:
    values = {"success": False, "score": 0.5, "checks_passed": 1, "check_details": (failed_check(),), **changes}
    return make_row(**values)


def printed(*rows: ProfileRow, width: int = 80) -> str:
    output = io.StringIO()
    print_run(Console(file=output, width=width, markup=False, highlight=False), rows, "last")
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())


FAILED = make_failed(iteration=1, trial="fix-mini-baseline-1-2b2b2b2b", timing=TimingBreakdown(wall_ms=62_000))
UNSCORED = make_unscored(scenario_id="restore-a-deleted-branch", trial="restore-0-cafecafe")


def test_a_table_fits_80_columns_and_says_why_each_row_is_no_pass() -> None:
    assert (
        printed(UNSCORED, FAILED, make_row())
        == """\
mini 0.1.0 · oracle, not a model · bubblewrap
# scenario             outcome  score checks turns tools    in out    cost  wall
────────────────────────────────────────────────────────────────────────────────
1 fix #1               pass      1.00    3/3     4     3 12.3k 678 $0.0123 1.23s
2 fix #2               fail      0.50    1/3     4     3 12.3k 678 $0.0123 1m02s
3 restore-a-deleted-br unscored     -    -/3     4     3     ?   ?       - 1.23s
  anch
1 of 2 passed · mean score 0.75 · 1 unscored, in no score
tokens 24.7k in, 1,356 out · cost $0.0246 (unknown for 1) · agent time 1m04s

2 fix #2: fail
  check tests-pass failed: expected exit status 0, got 1 failed, 2 passed
  benchflow show last 2b2b2b2b

3 restore-a-deleted-branch: unscored (upstream)
  the last model request failed at the upstream: status 503
  benchflow show last cafecafe
"""
    )


def test_a_wide_table_also_says_what_ended_a_trial() -> None:
    assert printed(UNSCORED, width=120).splitlines()[1:4] == [
        "#  scenario                  outcome              score  checks  turns  tools  in  out  cost   wall",
        "───────────────────────────────────────────────────────────────────────────────────────────────────",
        "1  restore-a-deleted-branch  unscored (upstream)      -     -/3      4      3   ?    ?     -  1.23s",
    ]


def test_a_real_model_is_named_with_its_provider_and_what_it_served() -> None:
    row = make_row(upstream="openai", model_served="gpt-x-2026", mode="mcp", agent_version=None)

    assert printed(row).splitlines()[0] == "mini · gpt-x (openai, served gpt-x-2026) · mode mcp · bubblewrap"


@pytest.mark.parametrize("upstream", ["oracle", "null", "script:answers.json"])
def test_what_is_no_model_is_headed_so(upstream: str) -> None:
    assert upstream_label(make_row(upstream=upstream)) == f"{upstream}, not a model"


def test_scores_without_isolation_are_said_to_be_not_tamper_proof() -> None:
    assert "not\ntamper-proof" in printed(make_row(isolation="process"))
    assert "tamper" not in printed(make_row())


def test_cells_are_shown_apart_with_their_own_means() -> None:
    output = printed(make_row(), make_row(agent="zeta", score=0.0, success=False, trial="z-00000001"))

    assert [line for line in output.splitlines() if "mean score" in line] == [
        "1 of 1 passed · mean score 1.00 · 0 unscored",
        "0 of 1 passed · mean score 0.00 · 0 unscored",
    ]


def test_nothing_unscored_is_ever_part_of_a_mean() -> None:
    assert "0 of 0 passed · mean score - · 1 unscored, in no score" in printed(UNSCORED)


def test_nothing_that_an_agent_wrote_reaches_the_terminal_as_a_command() -> None:
    evil = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202eabc\rover"
    row = make_failed(
        agent_version=evil,
        model_served=evil,
        upstream="openai",
        check_details=(failed_check(actual=evil),),
        error=evil,
    )

    assert not set(printed(row)) & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}


def test_rich_markup_of_an_agent_is_only_text() -> None:
    assert "got [red]x[/red]" in printed(make_failed(check_details=(failed_check(actual="[red]x[/red]"),)))


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    output = io.StringIO()

    print_run(Console(file=output, width=80, force_terminal=True), [FAILED], "last")

    assert "\x1b[31m" not in output.getvalue()


def test_a_thousand_rows_are_all_shown() -> None:
    rows = [make_row(scenario_id=f"s-{number:04}", trial=f"s-{number:04}-0") for number in range(1000)]

    assert printed(*rows).count("pass ") == 1000


@pytest.mark.parametrize(
    ("row", "label", "reason"),
    [
        (make_row(), "pass", None),
        (make_row(completion_reason="timeout"), "pass (timeout)", None),
        (make_failed(), "fail", "check tests-pass failed: expected exit status 0, got 1 failed, 2 passed"),
        (
            make_failed(check_details=(failed_check("a\nb\n"), failed_check())),
            "fail",
            "check tests-pass failed: expected exit status 0, got b (and 1 more)",
        ),
        (
            make_failed(
                completion_reason="timeout",
                limit=LimitHit(kind="timeout_s", allowed=60, used=60.213, phase="hard", counter="wall_clock"),
                check_details=(),
            ),
            "fail (timeout)",
            "ended by timeout_s at 60.2 s, allowed 60 s (wall_clock)",
        ),
        (
            make_failed(completion_reason="error", error_code="crash", error="exit status 1", check_details=()),
            "fail (crash)",
            "exit status 1",
        ),
        (UNSCORED, "unscored (upstream)", "the last model request failed at the upstream: status 503"),
    ],
)
def test_a_row_is_judged(row: ProfileRow, label: str, reason: str | None) -> None:
    verdict = judge(row)

    assert (verdict.label, verdict.reason) == (label, reason)


def test_a_run_is_named_by_its_id_below_runs_and_else_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run_argument(tmp_path / "runs" / "id-1") == "id-1"
    assert run_argument(tmp_path / "out" / "id-1") == "out/id-1"
    assert run_argument(tmp_path / "id 1") == "'./id 1'"
    assert run_argument(tmp_path.parent / "id-1") == str(tmp_path.parent / "id-1")


def test_a_trial_is_named_by_the_hash_of_its_key() -> None:
    assert trial_argument("fix-failing-test-mini-baseline-0-1a2b3c4d") == "1a2b3c4d"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain, ünï¢ode 🎉 and\ttabs\nlines", "plain, ünï¢ode 🎉 and\ttabs\nlines"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;Y29weQ==\x07x", "x"),
        ("\x1bPdevice\x1b\\x", "x"),
        ("\x1b(Bx\x1bc", "x"),
        ("\x9b31mred", "red"),
        ("\x1b]0;never ended", "0;never ended"),
        ("a\r\nb\rc\x0bd\u2028e", "a\nb\nc\nd\ne"),
        ("bell\x07 del\x7f nul\x00", "bell\ufffd del\ufffd nul\ufffd"),
        ("bidi\u202e\u2066", "bidi\ufffd\ufffd"),
        ("lone\ud800", "lone\ufffd"),
        ("\x1b\x1b[31m", "\ufffd"),
    ],
)
def test_text_is_made_safe(text: str, safe: str) -> None:
    assert sanitize(text) == safe
    assert sanitize(safe) == safe


def test_text_is_shortened() -> None:
    assert one_line(" a\n\tb  c ", 4) == "a b…"
    assert tail("1\n2\n3\n", 2) == "… 1 lines before\n2\n3"
    assert head("1\n2\n3\n", 2) == "1\n2\n… 1 lines more"
    assert tail("1\n2", 2) == head("1\n2", 2) == "1\n2"
    assert block("a" * 25 + "\n\n  b", "> ", 22) == "> " + "a" * 20 + "\n> aaaaa\n> \n>   b"
    assert block("  word " + "a" * 10 + " bc", "", 20) == "  word aaaaaaaaaa bc"
    assert block("  word " + "a" * 10 + " bcd e", "", 20) == "  word aaaaaaaaaa\nbcd e"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "?"), (0, "0"), (9_999, "9,999"), (10_000, "10.0k"), (99_950, "100k"), (999_500, "1.0M"), (2**40, "1e+12")],
)
def test_counts_are_short(value: int | None, text: str) -> None:
    assert numbers.count(value) == text


@pytest.mark.parametrize(
    ("usd", "text"),
    [(None, "?"), (0.0, "$0"), (0.00001, "<$0.0001"), (0.0123, "$0.0123"), (0.5, "$0.500"), (1234.5, "$1,234.50")],
)
def test_an_unknown_cost_is_never_zero(usd: float | None, text: str) -> None:
    assert numbers.cost(usd) == text
    assert text in printed(make_row(upstream="openai", cost=CostBreakdown(total_usd=usd)))


def test_where_no_model_was_asked_the_cost_is_not_unknown() -> None:
    text = printed(make_row(upstream="script:answers.json", cost=CostBreakdown(total_usd=None)))

    assert "cost - " in text
    assert "?" not in text


@pytest.mark.parametrize(
    ("ms", "text"),
    [(None, "?"), (3.2, "3ms"), (120, "0.12s"), (9_999, "10.0s"), (59_960, "1m00s"), (3_599_600, "1h00m")],
)
def test_times_are_short(ms: float | None, text: str) -> None:
    assert numbers.duration(ms) == text


@pytest.mark.parametrize(("octets", "text"), [(0, "0 B"), (1500, "1.5 kB"), (10**9, "1.0 GB"), (5 * 10**12, "5.0 TB")])
def test_sizes_have_units(octets: int, text: str) -> None:
    assert numbers.size(octets) == text
