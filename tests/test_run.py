"""`benchflow run` as a shell sees it: rows, exit codes, messages, and what is left when it is ended."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import TINY, Shell, open_shell, with_step


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


MANIFEST = """\
contract_version = "1.1"
name = "mine"
install_cmd = "true"
launch_cmd = 'exec "$BENCHFLOW_PYTHON" -I -m benchflow.agents.fake'
api_protocol = "openai-completions"
"""


def processes_below(folder: Path) -> list[str]:
    """Return the command lines of living processes that name the folder in their environment or arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except (OSError, NotADirectoryError):
            continue
        if entry.name.isdecimal() and int(entry.name) != os.getpid() and os.fsencode(folder) in text:
            found.append(text.decode(errors="replace"))
    return found


def until(condition: Callable[[], object], what: str, seconds: float = 30) -> None:
    """Wait for a condition, bounded."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.02)


def test_json_is_one_object_and_nothing_else_is_on_stdout(shell: Shell) -> None:
    ended = shell.run("run", "fake", "./tiny", "--json", "--sandbox", "process")

    result = json.loads(ended.stdout)
    assert list(result) == ["run_id", "run_dir", "rows", "summary"]
    row = result["rows"][0]
    assert (row["success"], row["score"], row["upstream"], row["completion_reason"]) == (True, 1.0, "oracle", "stop")
    assert row["agent_turns"] == row["exchanges"]["main"] == 2
    assert "oracle, not a model" in ended.stderr
    assert ended.returncode == 0


def test_everything_that_a_run_leaves_behind_is_there(shell: Shell) -> None:
    result = json.loads(shell.run("run", "fake", "./tiny", "--json", "--sandbox", "process").stdout)

    run = shell.folder / result["run_dir"]
    folder = run / "trials" / result["rows"][0]["trial"] / "try-1"
    assert sorted(path.name for path in run.iterdir()) == ["journal.jsonl", "rows.jsonl", "run.json", "trials"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "acp.ndjson",
        "events.jsonl",
        "llm.jsonl",
        "result.json",
        "stderr.log",
        "workspace.diff",
    ]
    assert "+done" in (folder / "workspace.diff").read_text()
    journal = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    assert [(entry["try"], entry["state"]) for entry in journal] == [(1, "started"), (1, "ended")]
    assert list((shell.folder / "home" / "scratch").iterdir()) == []


def test_null_upstream_is_a_fail_with_a_score_and_not_an_error(shell: Shell) -> None:
    row = shell.row("fake", "--upstream", "null", "--sandbox", "process")

    assert (row["success"], row["score"], row["error_code"], row["completion_reason"]) == (False, 0.0, None, "stop")


@pytest.mark.parametrize(
    ("agent", "reason", "code", "scored"),
    [
        ("fake:hangs", "timeout", None, True),
        ("fake:crash-on-prompt", "error", "crash", True),
        ("fake:killed", "error", "crash", True),
        ("fake:bad-params-on-prompt", "error", "protocol", True),
        ("fake:crash-at-start", "error", "launch", False),
        ("fake:crash-on-session-new", "error", "handshake", False),
        ("fake:wants-login", "error", "auth", False),
        ("fake:crash-on-set-model", "error", "model", False),
        ("fake:no-model-call", "error", "capture", False),
    ],
)
def test_who_broke_it_decides_whether_it_is_scored(
    shell: Shell, agent: str, reason: str, code: str | None, scored: bool
) -> None:
    row = shell.row(agent, "--sandbox", "process", "--timeout", "2")

    assert (row["completion_reason"], row["error_code"], row["score"] is not None) == (reason, code, scored)
    assert (row["success"] is None) == (not scored)


def test_timeout_says_which_budget_and_after_how_long_as_measured(shell: Shell) -> None:
    row = shell.row("fake:hangs", "--sandbox", "process", "--timeout", "1")

    limit = row["limit"]
    assert (limit["kind"], limit["allowed"], limit["phase"], limit["counter"]) == (
        "timeout_s",
        1.0,
        "hard",
        "wall_clock",
    )
    assert limit["used"] > 1.0
    assert row["tokens"]["total"] > 0, "what was used until then is not lost"


def test_unscored_trials_end_with_3_unless_they_are_allowed(shell: Shell) -> None:
    words = ("run", "fake:crash-at-start", "./tiny", "--sandbox", "process")

    assert shell.run(*words).returncode == 3
    assert shell.run(*words, "--max-unscored", "1").returncode == 0
    assert shell.run(*words, "--max-unscored", "100%").returncode == 0


def test_gate_is_missed_with_1_and_refuses_an_oracle_that_nobody_asked_for(shell: Shell) -> None:
    words = ("run", "fake", "./tiny", "--sandbox", "process", "--fail-under", "0.5")

    missed = shell.run(*words, "--upstream", "null")
    refused = shell.run(*words)

    assert missed.returncode == 1
    assert shell.run(*words, "--upstream", "oracle").returncode == 0
    assert refused.returncode == 2
    assert "--upstream oracle" in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no agent"),
        (("fake",), "no scenario"),
        (("fakee", "./tiny"), "did you mean fake"),
        (("fake:hang", "./tiny"), "did you mean `hangs`"),
        (("fake", "fix-failing-tests"), "fix-failing-test"),
        (("fake", "./none"), "none"),
        (("fake", "./tiny", "--model", "gpt-4.1"), "openai/gpt-4.1"),
        (("fake", "./tiny", "--model", "openai/gpt-4.1"), "OPENAI_API_KEY"),
        (("fake", "./tiny", "--upstream", "orakel"), "oracle"),
        (("fake", "./tiny", "--max-unscored", "some"), "--max-unscored"),
        (("fake", "all", "--tag", "no-such-tag"), "no-such-tag"),
        (("--command", "'", "./tiny"), "--command"),
    ],
)
def test_wrong_words_are_an_error_that_names_the_remedy(shell: Shell, words: tuple[str, ...], said: str) -> None:
    ended = shell.run("run", *words)

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MANIFEST + 'launch_comand = "x"\n', r"manifest\.toml: .*launch_comand.*did you mean `launch_cmd`"),
        (MANIFEST.replace('"true"', "3"), r"manifest\.toml: .*install_cmd"),
        (MANIFEST + "[env\n", r"manifest\.toml: .*line 6"),
        (MANIFEST.replace("1.1", "2.0"), r"manifest\.toml: .*contract_version.* 2\.0"),
        (MANIFEST + 'requires_env = ["NO_SUCH_KEY"]\n', r"NO_SUCH_KEY.*not set"),
        (MANIFEST + '[runtimes]\npython = ">=9"\n', r"python.*>=9"),
        (MANIFEST.replace("openai-completions", "morse"), r"morse"),
    ],
)
def test_bad_manifest_is_an_error_that_names_file_and_key(shell: Shell, text: str, said: str) -> None:
    shell.write("mine/manifest.toml", text)

    ended = shell.run("run", "./mine", "./tiny", "--sandbox", "process")

    assert ended.returncode == 2, ended.stderr
    assert re.search(said, ended.stderr, re.DOTALL), ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TINY.replace("prompt =", "promt ="), r"scenario\.toml: .*promt.*`prompt`"),
        (TINY.replace("timeout_s = 20", 'timeout_s = "long"'), r"scenario\.toml: .*timeout_s.*number"),
        (TINY + "[workspace\n", r"scenario\.toml: .*line 12"),
        (TINY.replace("file_exists", "file_exist"), r"file_exists"),
    ],
)
def test_bad_scenario_is_an_error_that_names_file_and_key(shell: Shell, text: str, said: str) -> None:
    shell.write("tiny/scenario.toml", text)

    ended = shell.run("run", "fake", "./tiny", "--sandbox", "process")

    assert ended.returncode == 2, ended.stderr
    assert re.search(said, ended.stderr, re.DOTALL), ended.stderr


def test_scenario_whose_workspace_links_out_of_it_is_refused(shell: Shell) -> None:
    shell.write("tiny/workspace/notes.txt", "notes")
    (shell.folder / "tiny" / "workspace" / "passwd").symlink_to("/etc/passwd")

    ended = shell.run("run", "fake", "./tiny", "--sandbox", "process")

    assert ended.returncode == 2
    assert "passwd: links to /etc/passwd" in ended.stderr


def test_failing_install_is_an_unscored_row_with_the_end_of_its_log(shell: Shell) -> None:
    shell.write("mine/manifest.toml", MANIFEST.replace('"true"', '"echo no such package; exit 4"'))

    ended = shell.run("run", "./mine", "./tiny", "--json", "--sandbox", "process")

    row = json.loads(ended.stdout)["rows"][0]
    assert ended.returncode == 3
    assert (row["error_code"], row["success"]) == ("install", None)
    assert "status 4" in row["error"]
    assert "no such package" in row["error"]


def test_hanging_install_is_killed_with_all_it_started(shell: Shell) -> None:
    text = MANIFEST.replace('"true"', "'setsid sleep 4242 & sleep 4243'") + "install_timeout = 1\n"
    shell.write("mine/manifest.toml", text)

    row = shell.run("run", "./mine", "./tiny", "--json", "--sandbox", "process")

    assert json.loads(row.stdout)["rows"][0]["error_code"] == "install"
    assert processes_below(shell.folder) == []


def test_launch_command_that_does_not_exist_names_it(shell: Shell) -> None:
    text = MANIFEST.replace("'exec \"$BENCHFLOW_PYTHON\" -I -m benchflow.agents.fake'", '"no-such-agent --acp"')
    shell.write("mine/manifest.toml", text)

    row = json.loads(shell.run("run", "./mine", "./tiny", "--json", "--sandbox", "process").stdout)["rows"][0]

    assert row["error_code"] == "launch"
    assert "no-such-agent" in row["error"]


def test_unregistered_command_is_run_and_unknown_names_never_are(shell: Shell) -> None:
    ended = shell.run("run", "--command", "touch ran.txt", "./tiny", "--json", "--sandbox", "process")
    unknown = shell.run("run", "touch ran.txt", "./tiny")

    assert json.loads(ended.stdout)["rows"][0]["error_code"] == "launch"
    assert unknown.returncode == 2
    assert "--command" in unknown.stderr
    assert not (shell.folder / "ran.txt").exists()


def test_folder_that_cannot_be_written_is_named(shell: Shell) -> None:
    shell.write("file", "in the way")

    ended = shell.run("run", "fake", "./tiny", "--sandbox", "process", "--out", "file/runs")

    assert ended.returncode == 2
    assert "file/runs" in ended.stderr
    assert "--out" in ended.stderr


def test_full_disk_is_an_error_that_says_so(shell: Shell) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here to mount a small disk in")
    (shell.folder / "out").mkdir()
    mount = 'mount -t tmpfs -o size=16k none out && exec "$@"'
    words = ("run", "fake:chatty", "./tiny", "--sandbox", "process", "--out", "out")

    ended = shell.run(*words, before=("unshare", "-rm", "sh", "-c", mount, "sh"))

    assert ended.returncode == 2, ended.stderr
    assert "No space left" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert processes_below(shell.folder) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_ends_its_agents_and_keeps_finished_rows(shell: Shell, sent: signal.Signals) -> None:
    # The first trial ends at once, the second hangs in its solution.
    shell.write("waits/scenario.toml", with_step("sleep 4244", id="waits"))
    process = shell.start("run", "fake", "./tiny", "./waits", "--json", "--sandbox", "process", "--out", "out")
    until(lambda: list(shell.folder.glob("out/*/trials/waits-*/try-1/llm.jsonl")), "the second trial")

    os.killpg(process.pid, sent)
    stdout, stderr = process.communicate(timeout=30)

    result = json.loads(stdout)
    assert process.returncode == 130, stderr
    assert [row["scenario_id"] for row in result["rows"]] == ["tiny"]
    assert result["summary"]["missing"] == 1
    [cancelled] = shell.folder.glob("out/*/trials/waits-*/try-1/result.json")
    assert json.loads(cancelled.read_text())["error_code"] == "cancelled"
    assert processes_below(shell.folder) == []


@pytest.mark.parametrize("agent", ["fake:daemon", "fake:deaf"])
def test_killed_benchflow_leaves_no_process_and_every_finished_row_readable(shell: Shell, agent: str) -> None:
    shell.write("waits/scenario.toml", with_step("sleep 4245", id="waits"))
    words = ("run", agent, "./tiny", "./waits", "--sandbox", "process", "--out", "out", "--timeout", "3")
    process = shell.start(*words)
    until(lambda: list(shell.folder.glob("out/*/trials/waits-*/try-1/llm.jsonl")), "the second trial")

    process.kill()
    process.communicate(timeout=30)

    until(lambda: processes_below(shell.folder) == [], "the end of every process")
    [run] = shell.folder.glob("out/*/")
    shown = json.loads(shell.run("show", str(run), "--json").stdout)
    assert [row["scenario_id"] for row in shown["rows"]] == ["tiny"]


def test_trials_at_once_do_not_mix(shell: Shell) -> None:
    words = ("run", "fake", "./tiny", "-n", "12", "--concurrency", "6", "--json", "--sandbox", "process")

    rows = json.loads(shell.run(*words).stdout)["rows"]

    assert [row["iteration"] for row in rows] == list(range(12))
    assert {row["success"] for row in rows} == {True}
    assert {row["exchanges"]["main"] for row in rows} == {2}
    assert len({row["trial"] for row in rows}) == 12


def test_workspaces_are_kept_as_asked(shell: Shell) -> None:
    def kept(*words: str) -> list[Path]:
        result = json.loads(shell.run("run", "fake", "./tiny", "--json", "--sandbox", "process", *words).stdout)
        return list((shell.folder / result["run_dir"]).glob("trials/*/try-1/workspace"))

    assert kept() == []
    assert len(kept("--keep", "always")) == 1
    assert len(kept("--upstream", "null")) == 1
    assert kept("--upstream", "null", "--keep", "never") == []


def test_secret_of_the_user_is_in_no_file_of_the_run(shell: Shell) -> None:
    shell.write("mine/manifest.toml", MANIFEST + 'requires_env = ["MY_SECRET"]\n[env]\nSHOWN = "x"\n')
    shell.write("tiny/scenario.toml", with_step("env; env | base64; env >&2"))
    secret = "correct-horse/battery staple"

    ended = shell.run("run", "./mine", "./tiny", "--sandbox", "process", environ={"MY_SECRET": secret})

    assert ended.returncode == 0, ended.stderr
    for path in (shell.folder / "runs").rglob("*"):
        if path.is_file():
            assert secret not in path.read_text(errors="replace"), path
