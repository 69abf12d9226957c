import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stored import RUN_ID, make_row, make_unscored, try_folder, write_run
from trials import two_turns
from typer.testing import CliRunner, Result

from benchflow.cli import app
from benchflow.errors import InputError
from benchflow.machine.liveness import claim

KEY = make_row().trial


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with two trials in ./runs, and a BenchFlow home of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHFLOW_HOME", str(tmp_path / "home"))
    folder = write_run(tmp_path / "runs", make_row(), make_unscored(scenario_id="zeta", trial="zeta-0-cafecafe"))
    two_turns(try_folder(folder, KEY))
    return folder


def benchflow(*arguments: str) -> Result:
    """Run the command line; what is no clean exit is raised."""
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_runs_are_listed(run: Path) -> None:
    assert benchflow("runs").stdout.splitlines()[2].split() == [RUN_ID, "ended", "oracle", "1/1", "1", "1.00"]


def test_runs_as_json_are_a_list_and_nothing_else(run: Path) -> None:
    listed = json.loads(benchflow("runs", "--json").stdout)

    assert [(each["run_id"], each["state"], each["summary"]["unscored"]) for each in listed] == [(RUN_ID, "ended", 1)]


def test_a_run_that_cannot_be_read_spoils_only_its_own_line(run: Path) -> None:
    broken = write_run(run.parent, make_row(), run_id="20270101-000000-x")
    (broken / "rows.jsonl").write_text("no row\n" + make_row().to_json().decode() + "\n")

    listed = json.loads(benchflow("runs", "--json").stdout)

    assert [each["state"] for each in listed] == ["ended", "unreadable"]
    assert "line 1 is no profile row" in listed[1]["error"]


def test_a_run_in_which_nothing_has_begun_says_so(run: Path) -> None:
    write_run(run.parent, run_id="20270101-000000-empty")

    assert "none of its trials has begun" in benchflow("show", "last").stderr


def test_a_live_run_is_running_and_a_dead_one_interrupted(run: Path) -> None:
    for name in ("20270101-000000-live", "20270101-000001-dead"):
        write_run(run.parent, run_id=name, unfinished=("open-0-abcdabcd",))
    claim(run.parent / "20270101-000000-live")

    listed = json.loads(benchflow("runs", "--json").stdout)

    assert [each["state"] for each in listed[1:]] == ["running", "interrupted"]
    assert "open-0-abcdabcd: runs\n  benchflow show 20270101-000000-live abcdabcd --follow" in (
        benchflow("show", "20270101-000000").stdout
    )
    assert "open-0-abcdabcd: was interrupted\n" in benchflow("show", "20270101-000001").stdout


def test_a_run_that_was_killed_before_its_first_trial_is_interrupted(run: Path) -> None:
    killed = write_run(run.parent, run_id="20270101-000000-x")
    (killed / "run.json").write_text('{"trials": ["a", "b"]}')

    listed = json.loads(benchflow("runs", "--json").stdout)

    assert (listed[1]["state"], listed[1]["missing"], listed[1]["summary"]["trials"]) == ("interrupted", 2, 2)


def test_no_runs_are_an_empty_list(tmp_path: Path) -> None:
    assert json.loads(benchflow("runs", "--out", str(tmp_path), "--json").stdout) == []
    assert benchflow("runs", "--out", str(tmp_path)).stdout == ""


def test_a_run_is_shown_as_its_table(run: Path) -> None:
    shown = benchflow("show", RUN_ID).stdout

    assert "oracle, not a model" in shown
    assert f"benchflow show {RUN_ID} cafecafe" in shown
    assert benchflow("show").stdout == shown


def test_the_command_below_a_row_shows_that_trial(run: Path) -> None:
    assert benchflow("show", RUN_ID, "cafecafe").stdout.startswith("zeta-0-cafecafe\n")


def test_a_run_as_json_is_the_object_that_run_prints(run: Path) -> None:
    shown = json.loads(benchflow("show", "last", "--json").stdout)

    assert list(shown) == ["run_id", "run_dir", "rows", "summary"]
    assert (shown["run_id"], shown["run_dir"]) == (RUN_ID, str(run))
    assert [row["trial"] for row in shown["rows"]] == [KEY, "zeta-0-cafecafe"]


def test_a_trial_as_json_has_its_turns(run: Path) -> None:
    shown = json.loads(benchflow("show", "last", "1", "--json").stdout)

    assert (shown["trial"], shown["state"], shown["row"]["success"]) == (KEY, "ended", True)
    assert [[call["output"] for call in turn["calls"]] for turn in shown["turns"]] == [["file.txt"], []]


@pytest.mark.parametrize(
    ("option", "file"),
    [
        (("--raw", "acp"), "acp.ndjson"),
        (("--raw", "llm"), "llm.jsonl"),
        (("--diff",), "workspace.diff"),
        (("--stderr",), "stderr.log"),
    ],
)
def test_files_are_printed_byte_for_byte_to_a_program(run: Path, option: tuple[str, ...], file: str) -> None:
    content = b"\x1b[31m\xff not UTF-8\n"
    (try_folder(run, KEY) / file).write_bytes(content)

    assert benchflow("show", "last", "1", *option).stdout_bytes == content


def test_a_file_that_a_try_did_not_leave_is_an_error(run: Path) -> None:
    with pytest.raises(InputError, match=r"workspace\.diff: the try left no such file"):
        benchflow("show", "last", "1", "--diff")


@pytest.mark.parametrize("options", [("--diff", "--stderr"), ("--follow", "--raw", "acp"), ("--diff", "--json")])
def test_options_that_exclude_each_other_are_an_error(run: Path, options: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        benchflow("show", "last", "1", *options)


def test_which_trial_must_be_said_where_there_are_several(run: Path) -> None:
    with pytest.raises(InputError, match="has 2 trials; name one, for example by its number in the table"):
        benchflow("show", "last", "--follow")


def test_following_a_trial_that_has_ended_prints_it_and_its_verdict(run: Path) -> None:
    shown = benchflow("show", "last", "1", "--follow").stdout

    assert shown.startswith("prompt: do it\nturn 1 ")
    assert "pass · score 1.00 · 3 of 3 checks passed" in shown
    assert shown.count("There is file.txt.") == 1


def test_following_as_json_prints_events_alone(run: Path) -> None:
    lines = benchflow("show", "last", "1", "--follow", "--json").stdout.splitlines()

    assert [json.loads(line)["type"] for line in lines][-1] == "prompt_end"


def test_json_never_commands_a_terminal_and_says_the_same(run: Path) -> None:
    evil = "\x9b2J\x1b]0;x\x07\u202e\x7f"
    with (run / "rows.jsonl").open("ab") as rows:
        rows.write(make_row(trial="evil-0-00000000", stop_reason=evil).to_json() + b"\n")

    printed = benchflow("show", "last", "--json").stdout

    assert not set(printed) & set(evil) - set("2J]0;x")
    assert evil in [row["stop_reason"] for row in json.loads(printed)["rows"]]


def test_a_shell_ends_with_its_own_status(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (try_folder(run, KEY) / "workspace").mkdir()
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\nexit 7\n")
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))

    assert benchflow("shell", "last", "1").exit_code == 7


def test_an_error_of_the_user_is_one_line_on_stderr_and_exit_2(run: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchflow", "show", "nothing"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: nothing: no such run. `benchflow runs` lists those in runs.\n"


def test_doctor_says_as_json_whether_anything_can_run(run: Path) -> None:
    result = benchflow("doctor", "--json")
    answer = json.loads(result.stdout)

    assert (result.exit_code, answer["can_run"]) == (0, True)
    assert {line["area"] for line in answer["lines"]} == {"machine", "sandbox", "programs", "runtimes", "storage"}
    assert "sandbox\n  " in benchflow("doctor").stdout


def test_gc_says_what_would_go_and_removes_it_only_when_it_may(run: Path, tmp_path: Path) -> None:
    left = tmp_path / "home" / "scratch" / "left"
    left.mkdir(parents=True)
    (left / "file").write_bytes(b"x" * 10_000)
    yesterday = time.time() - 86_400
    os.utime(left, (yesterday, yesterday))

    planned = json.loads(benchflow("gc", "--dry-run", "--json").stdout)
    assert [(each["kind"], each["path"], each["removed"]) for each in planned["items"]] == [
        ("scratch", str(left), False)
    ]
    assert left.exists()

    said = benchflow("gc").stdout
    assert not left.exists()
    assert f"{left}: its run ended without removing it\nfreed " in said


def test_gc_takes_workspaces_of_old_runs_when_asked(run: Path) -> None:
    workspace = try_folder(run, KEY) / "workspace"
    workspace.mkdir()

    benchflow("gc", "--workspaces")
    assert workspace.exists()

    benchflow("gc", "--workspaces", "--older-than", "0")
    assert not workspace.exists()
