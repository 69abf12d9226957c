"""What budgets did, as tables and reports show it, in every format."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import Shell, open_shell
from stored import make_row, make_unscored, write_run

from benchflow.contracts import LimitHit
from benchflow.report.profile.making import make_profile
from benchflow.report.verdict import judge
from benchflow.row import ProfileRow

BASE, HEAD = "20261121-101010-mini-aaaa", "20261121-101010-mini-bbbb"
SOFT = LimitHit(kind="max_turns", allowed=6, used=5, phase="soft", counter="main_exchanges")
HARD = replace(SOFT, used=6, phase="hard")
IDLE = LimitHit(kind="idle_timeout_s", allowed=9, used=9.01, phase="hard", counter="idle_clock")
TIME = replace(IDLE, kind="timeout_s", counter="wall_clock")


def trials(*, capped: int) -> list[ProfileRow]:
    """Eight trials: four ended by themselves, one never began, of the rest some were capped, the others wrapped up."""
    made = [make_row(success=True, score=1.0) for _ in range(4)]
    for number in range(3):
        if number < capped:
            more = {"completion_reason": "tool_limit", "limit": HARD, "success": False, "score": 0.0}
            made.append(make_row(**more, extensions={"budgets": {"discarded": 2}}))
        else:
            made.append(make_row(wrapped_up=True, limit=SOFT, success=number == 2, score=0.5))
    made.append(make_unscored())
    return [replace(row, iteration=n, trial=f"fix-mini-baseline-{n}-{n:07x}a") for n, row in enumerate(made)]


def shell_with(tmp_path: Path) -> Shell:
    shell = open_shell(tmp_path)
    for run, capped in ((BASE, 3), (HEAD, 1)):
        rows = [replace(row, run_id=run) for row in trials(capped=capped)]
        write_run(tmp_path / "runs", *rows, run_id=run)
    return shell


def test_shares_and_scores_are_by_how_the_scored_trials_ended() -> None:
    found = make_profile(trials(capped=1)).cells[0].limits

    assert (found.untouched, found.wrapped_up, found.capped) == (4, 2, 1)
    assert [share.n for share in (found.share_untouched, found.share_wrapped_up, found.share_capped)] == [7, 7, 7]
    assert found.share_wrapped_up.value == pytest.approx(2 / 7)
    assert found.share_capped.low is not None
    assert (found.score_untouched.value, found.score_wrapped_up.value, found.score_capped.value) == (1, 0.5, 0)


@pytest.mark.parametrize(
    ("row", "label"),
    [
        (make_row(wrapped_up=True, limit=SOFT), "pass (wrapped up)"),
        (make_row(completion_reason="tool_limit", limit=HARD), "pass (tool_limit: max_turns)"),
        (make_row(completion_reason="timeout", limit=TIME), "pass (timeout)"),
        (make_row(completion_reason="timeout", limit=IDLE, success=False), "fail (timeout: idle_timeout_s)"),
    ],
)
def test_outcome_names_what_ended_the_trial(row: ProfileRow, label: str) -> None:
    assert judge(row).label == label


def test_table_of_a_run_says_how_many_were_warned_and_capped(tmp_path: Path) -> None:
    shell = shell_with(tmp_path)

    narrow = shell.run("show", HEAD).stdout
    wide = shell.run("show", HEAD, environ={"COLUMNS": "140"}).stdout
    one = shell.run("show", HEAD, "0000004a").stdout

    assert "2 wrapped up, 1 ended by a budget" in " ".join(narrow.split())
    assert "pass (wrapped up)" in wide
    assert "ended by max_turns at 6, allowed 6 (main_exchanges)" in " ".join(one.split())
    assert "2 paths that were changed after it were put back" in " ".join(one.split())


def test_every_format_of_a_report_says_what_the_limits_did(tmp_path: Path) -> None:
    shell = shell_with(tmp_path)
    files = ("html", "markdown", "csv", "junit", "json")

    ended = shell.run("report", HEAD, *(word for name in files for word in (f"--{name}", f"f.{name}")))

    assert ended.returncode == 0, ended.stderr
    assert max(map(len, ended.stdout.splitlines())) <= 80
    said = {name: (tmp_path / f"f.{name}").read_text() for name in files}
    for text in (ended.stdout, said["markdown"], said["html"]):
        assert "wrapped up" in text
        assert "2 (28.6%)" in text
    limits = json.loads(said["json"])["profile"]["cells"][0]["limits"]
    assert (limits["wrapped_up"], limits["capped"], limits["share_capped"]["n"]) == (2, 1, 7)
    rows = list(csv.DictReader(io.StringIO(said["csv"])))
    assert [(row["wrapped_up"], row["limit.kind"], row["limit.phase"]) for row in rows[4:7]] == [
        ("false", "max_turns", "hard"),
        ("true", "max_turns", "soft"),
        ("true", "max_turns", "soft"),
    ]
    cases = list(ElementTree.fromstring(said["junit"]).iter("testcase"))
    assert [case.findtext("system-out") for case in cases[4:7]] == [
        "ended by max_turns at 6, allowed 6 (main_exchanges)",
        "warned of the end of max_turns at 5, allowed 6 (main_exchanges)",
        "warned of the end of max_turns at 5, allowed 6 (main_exchanges)",
    ]
    assert [failure.get("type") for case in cases if (failure := case.find("failure")) is not None] == [
        "tool_limit: max_turns",
        "wrapped up",
    ]


def test_comparison_says_what_the_limits_did_on_both_sides(tmp_path: Path) -> None:
    shell = shell_with(tmp_path)

    ended = shell.run("compare", BASE, HEAD, "--markdown", "f.md")

    lines = (tmp_path / "f.md").read_text().splitlines()
    at = lines.index("| side | cell | by themselves | score | wrapped up | score | capped | score |")
    assert [line.split(" | ")[0].strip("| ") for line in lines[at + 2 : at + 4]] == ["base", "head"]
    assert "3 (42.9%)" in lines[at + 2]
    assert "1 (14.3%)" in lines[at + 3]
    assert max(map(len, ended.stdout.splitlines())) <= 80
