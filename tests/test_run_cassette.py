"""`--record` and `--replay` on the command line: whole runs, recorded once and played without what answered them."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import PROGRAM, Shell, open_shell
from sandboxes import needs_bubblewrap

from benchflow.gateway.records.exchanges import read_exchanges

TIMES = ("run_id", "started_at", "completed_at", "timing", "session_id", "ms", "exchange")
"""What differs between any two runs; an exchange is named after its trial."""
CONDITIONS = ("trial", "upstream", "isolation", "network", "hosts_looked_up", "digest")
"""What differs between a run and its replay, perhaps in another sandbox."""

STEPS = """
[[solution.steps]]
run = "pwd; ls -go done.txt; date; mktemp; echo $HOME; python3 -c 'print(id(object()) * 0)'"
[[solution.steps]]
write = "notes/one.txt"
content = "one\\n"
"""
"""What shows where and when it was done."""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = open_shell(tmp_path)
    tiny = shell.folder / "tiny/scenario.toml"
    tiny.write_text(tiny.read_text() + STEPS)
    return shell


def rows(ended: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """The rows of a run, without what differs between any two."""
    assert ended.stdout, ended.stderr
    found = json.loads(ended.stdout)["rows"]
    return [_lasting(row) for row in found]


def _lasting(value: Any) -> Any:
    if isinstance(value, list):
        return [_lasting(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _lasting(item) for name, item in value.items() if not _passes(name)}


def _passes(name: str) -> bool:
    return name in (*TIMES, *CONDITIONS) or name.startswith(("latency.", "tool_calls.time"))


def run(shell: Shell, *words: str, agent: str = "mini") -> subprocess.CompletedProcess[str]:
    return shell.run("run", agent, "./tiny", "--json", *words)


@pytest.mark.parametrize(
    ("recorded", "played"),
    [
        ("process", "process"),
        pytest.param("process", "bubblewrap", marks=needs_bubblewrap),
        pytest.param("bubblewrap", "process", marks=needs_bubblewrap),
    ],
)
def test_replay_gives_the_rows_of_the_recording_in_either_sandbox(shell: Shell, recorded: str, played: str) -> None:
    first = run(shell, "--upstream", "oracle", "--sandbox", recorded, "--record", "c")
    again = run(shell, "--replay", "c", "--sandbox", played)

    assert (first.returncode, again.returncode) == (0, 0), again.stderr
    assert rows(again) == rows(first)
    assert rows(first)[0]["success"] is True
    (row,) = json.loads(again.stdout)["rows"]
    assert (row["upstream"], row["model"]) == ("cassette:c of oracle", rows(first)[0]["model"])


def test_recording_at_once_is_the_same_file_as_one_after_another(shell: Shell) -> None:
    for name, concurrency in (("one", "1"), ("three", "3")):
        words = ("--upstream", "oracle", "--sandbox", "process", "-n", "3", "--concurrency", concurrency)
        assert run(shell, *words, "--record", name).returncode == 0

    assert (shell.folder / "one").read_text() == (shell.folder / "three").read_text()
    again = run(shell, "--replay", "one", "-n", "3", "--concurrency", "3", "--sandbox", "process")
    assert [row["success"] for row in rows(again)] == [True, True, True]


def test_replay_needs_no_network(shell: Shell) -> None:
    alone = ("unshare", "--user", "--map-root-user", "--net")
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a network namespace cannot be made here")
    assert run(shell, "--upstream", "oracle", "--sandbox", "process", "--record", "c").returncode == 0

    ended = shell.run(
        "run", "mini", "./tiny", "--json", "--replay", "c", "--sandbox", "process",
        before=(*alone, "sh", "-c", 'ip link set lo up 2>/dev/null; exec "$@"', "sh"),
    )  # fmt: skip

    assert [row["success"] for row in rows(ended)] == [True], ended.stderr


def test_word_of_the_prompt_that_changed_is_a_miss_that_shows_it(shell: Shell) -> None:
    run(shell, "--upstream", "oracle", "--sandbox", "process", "--record", "c")
    tiny = shell.folder / "tiny/scenario.toml"
    tiny.write_text(tiny.read_text().replace("with the word done in it", "with the word finished in it"))

    ended = run(shell, "--replay", "c", "--sandbox", "process")

    assert ended.returncode == 3
    (row,) = rows(ended)
    assert (row["error_code"], row["success"], row["score"], row["tries"]) == ("setup", None, None, 1)
    assert "c: was recorded before these scenarios were changed: tiny\n" in ended.stderr
    assert (
        "tiny #1: cassette:c has no recording of main request 1; it differs from recorded request 1 in" in ended.stderr
    )
    assert "recorded:" in ended.stderr or "[-done-]{+finished+}" in ended.stderr


def test_replayed_exchange_says_what_was_put_into_its_answer(shell: Shell) -> None:
    run(shell, "--upstream", "oracle", "--sandbox", "process", "--record", "c")
    text = (shell.folder / "c").read_text()
    (shell.folder / "c").write_text(text.replace("Step 1 of ", "⟦workspace⟧ Step 1 of "))

    run(shell, "--replay", "c", "--sandbox", "process")

    log = max((shell.folder / "runs").rglob("llm.jsonl"), key=lambda path: path.stat().st_mtime)
    changes = [change for exchange in read_exchanges(log) for change in exchange.changes if change.kind == "replay"]
    assert {(change.path, change.before) for change in changes} == {("response.body", "⟦workspace⟧")}
    assert all(change.after.endswith("/workspace") for change in changes)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--replay", "nothing"),
            "nothing: cannot be read (No such file or directory); record it with --record nothing",
        ),
        (("--replay", "c", "-n", "2"), "--replay c: 1 of 2 repetitions of 'tiny' were recorded; replay with -n 1, or "),
        (
            ("--replay", "c", "--model", "openai/x"),
            "--replay: the cassette says which model answers; leave out --model",
        ),
        (("--upstream", "oracle", "--record", "c"), "--record c: is there already; replay it with --replay, or delete"),
        (("--upstream", "oracle", "--record", "no/c"), "no/c: cannot be written (No such file or directory)"),
        (("--replay", "bad"), "bad: line 1: no JSON object"),
    ],
)
def test_what_the_user_can_fix_is_said_before_anything_starts(
    shell: Shell, words: tuple[str, ...], message: str
) -> None:
    run(shell, "--upstream", "oracle", "--sandbox", "process", "--record", "c")
    shell.write("bad", "hello\n")

    ended = run(shell, *words)

    assert ended.returncode == 2
    assert message in ended.stderr


def test_scenario_that_was_not_recorded_is_refused_by_name(shell: Shell) -> None:
    run(shell, "--upstream", "oracle", "--sandbox", "process", "--record", "c")

    ended = shell.run("run", "mini", "fix-failing-test", "--replay", "c")

    assert ended.returncode == 2
    assert "scenario 'fix-failing-test' was not recorded; it has tiny." in ended.stderr


def test_another_agent_than_recorded_is_noticed(shell: Shell) -> None:
    run(shell, "--upstream", "oracle", "--sandbox", "process", "--record", "c")

    ended = run(shell, "--replay", "c", "--sandbox", "process", agent="fake")

    assert "c: was recorded with the agent mini; this is fake\n" in ended.stderr


@pytest.mark.real
def test_real_agent_is_replayed_without_what_answered_it(shell: Shell) -> None:
    if not shutil.which("node"):
        pytest.skip("the agent needs Node")
    words = ("run", "opencode", "fix-failing-test", "summarize-orders", "-n", "2", "--json", "--out", "runs")

    def benchflow(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *words, *more], cwd=shell.folder, env={**os.environ}, capture_output=True, text=True, check=False
        )

    first = benchflow("--upstream", "oracle", "--record", "c", "--concurrency", "2")
    for sandbox in ("process", "bubblewrap"):
        again = benchflow("--replay", "c", "--sandbox", sandbox)
        assert rows(again) == rows(first)
    assert [row["success"] for row in rows(first)] == [True] * 4
