"""A run that was killed, at whatever instant, goes on to the rows that it would have had."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, Shell, open_shell
from own_provider import OwnProvider, OwnRun, ids
from sandboxes import needs_bubblewrap
from stored import entry, make_row, make_unscored, try_folder, write_json, write_run

from benchflow.clock import Clock
from benchflow.errors import InputError, TrialError
from benchflow.machine.holding import Hold
from benchflow.machine.leftovers import end_leftovers
from benchflow.report.runs import describe_run
from benchflow.row import ProfileRow
from benchflow.runner.asking import ask
from benchflow.runner.former import FormerTries
from benchflow.runner.mending import mend
from benchflow.runner.plan import make_plan
from benchflow.runner.resuming import Resumed
from benchflow.runner.same import version_notes
from benchflow.store import StoredRun

SUITE = ("run", "fake", "./tiny", "-n", "4", "--concurrency", "2", "--faults", "5xx=0.3,seed=4")
"""Of its trials some pass at once, one is tried again, and one cannot be scored."""
PLAN_BYTES = 8_000
"""More than a run has written before it has a plan that it can go on with."""
OF_TIME = ("run_id", "started_at", "completed_at", "timing", "session_id", "tool_calls", "extensions", "error")
OF_SANDBOX = ("trial", "isolation")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A folder with the suite's run, as it is when nobody kills it. Tests leave it as it was."""
    shell = open_shell(tmp_path_factory.mktemp("ended"))
    shell.write("small/scenario.toml", TINY.replace('"tiny"', '"small"'))
    shell.write("modes.toml", '[modes.calm]\ninstructions = "Be calm."\n')
    assert shell.run(*SUITE, "--sandbox", "process").returncode == 3
    return shell


@pytest.fixture
def undisturbed(ended: Shell) -> Path:
    """The suite's run."""
    return only_run(ended)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """Return what the rows of a run say, but for when and how fast, by their iterations."""
    values = [json.loads(line) for line in (folder / "rows.jsonl").read_bytes().splitlines()]
    assert len({value["trial"] for value in values}) == len(values), "a trial has two rows"
    rows = [{name: value[name] for name in value if name not in (*OF_TIME, *OF_SANDBOX)} for value in values]
    return sorted(rows, key=lambda row: row["iteration"])


def only_run(shell: Shell) -> Path:
    return next(folder for folder in (shell.folder / "runs").iterdir() if folder.is_dir())


def size_of(folder: Path) -> int:
    """Return how many bytes of logs there are below a folder."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                found += os.stat(os.path.join(place, name)).st_size
            except FileNotFoundError:
                continue
    return found


def start_and_end(shell: Shell, words: tuple[str, ...], more_bytes: int, sign: signal.Signals) -> int:
    """Start BenchFlow, signal it as soon as it has written so much more, and return how it ended."""
    runs = shell.folder / "runs"
    enough = size_of(runs) + more_bytes
    process = shell.start(*words)
    deadline = time.monotonic() + 60
    while process.poll() is None and size_of(runs) < enough and time.monotonic() < deadline:
        time.sleep(0.01)  # the files are what is waited for
    process.send_signal(sign)
    process.communicate(timeout=60)
    return process.returncode


def kill_often(shell: Shell, chance: random.Random, most_bytes: int, sandbox: str, kills: int) -> Path:
    """Interrupt the suite once, and kill what goes on with it so often, at random moments; return the run's folder."""
    first = chance.randint(PLAN_BYTES, most_bytes // 2)
    code = start_and_end(shell, (*SUITE, "--sandbox", sandbox), first, signal.SIGINT)
    assert code == 130
    for _ in range(kills):
        start_and_end(shell, ("run", "--resume", "last"), chance.randint(1, most_bytes), signal.SIGKILL)
    return only_run(shell)


@pytest.mark.parametrize("sandbox", ["process", pytest.param("bubblewrap", marks=needs_bubblewrap)])
def test_run_that_is_killed_again_and_again_has_the_rows_of_one_that_was_not(
    shell: Shell, undisturbed: Path, sandbox: str
) -> None:
    seed = random.randrange(10**6)

    run = kill_often(shell, random.Random(seed), size_of(undisturbed), sandbox, kills=2 if sandbox == "process" else 1)
    left = leave_running(shell.folder / "home" / "scratch" / run.name)
    ended = shell.run("run", "--resume", "last", "--json", "--concurrency", "1")

    assert ended.stdout, f"seed {seed}: {ended.stderr}"
    assert rows_of(run) == rows_of(undisturbed), f"seed {seed}"
    summary = json.loads(ended.stdout)["summary"]
    assert (ended.returncode, summary["trials"], summary["unscored"], summary["missing"]) == (3, 4, 1, 0)
    assert left.wait(timeout=30) == -signal.SIGKILL
    assert_is_whole(shell, run)


def assert_is_whole(shell: Shell, run: Path) -> None:
    """Nothing of a killed part is left, and all that is read of a run is as of one that was never killed."""
    for name in ("rows.jsonl", "journal.jsonl"):
        lines = (run / name).read_bytes().splitlines(keepends=True)
        assert all(json.loads(line) and line.endswith(b"\n") for line in lines)
    stamps = [json.loads(line)["ts"] for line in (run / "journal.jsonl").read_bytes().splitlines()]
    assert stamps == sorted(stamps)
    stored = StoredRun(run)
    assert stored.open_trials == []
    for row in stored.rows:
        folder = stored.trial(row.trial).try_folder()
        assert folder.name == f"try-{row.tries}"
        assert json.loads((folder / "result.json").read_bytes())["trial"] == row.trial
        times = [json.loads(line)["mono_ms"] for line in (folder / "acp.ndjson").read_bytes().splitlines()]
        assert all(before <= after for before, after in pairwise(times))
    assert not list((shell.folder / "home" / "scratch").iterdir())
    listed = describe_run(stored)
    assert (listed.state, listed.missing) == ("ended", 0)


def test_unscored_trials_are_tried_until_they_are_scored(ended: Shell, undisturbed: Path) -> None:
    run = shutil.copytree(undisturbed, undisturbed.parent.with_name("copies") / "again")
    before = {row.trial: row for row in StoredRun(run).rows}

    done = ended.run("run", "--resume", str(run), "--retry-unscored", "--json")

    result = json.loads(done.stdout)
    assert (done.returncode, result["summary"]["unscored"], result["summary"]["passed"]) == (0, 0, 4), done.stderr
    after = {row.trial: row for row in StoredRun(run).rows}
    assert [row["trial"] for row in result["rows"]] == [row.trial for row in after.values()]
    for key, row in before.items():
        assert after[key] == row if row.score is not None else after[key].tries == row.tries + 1


def test_second_writer_is_refused_with_the_first_ones_pid(done: Shell) -> None:
    run = only_run(done)
    with Hold(run):
        refused = done.run("run", "--resume", "last")
    with Hold(run):
        pass  # it is free again

    assert refused.returncode == 2
    assert f"process {os.getpid()} writes this run; wait until it ends, or end it" in refused.stderr


async def test_what_lives_in_a_folder_is_ended_and_nothing_else(tmp_path: Path) -> None:
    inside, outside = leave_running(tmp_path / "scratch" / "run"), leave_running(tmp_path / "scratch" / "run-2")
    try:
        assert await end_leftovers(tmp_path / "scratch" / "run") == 1
        assert inside.wait(timeout=30) == -signal.SIGKILL
        assert outside.poll() is None
    finally:
        outside.kill()
        outside.wait()


def leave_running(scratch: Path) -> subprocess.Popen[bytes]:
    """Start what an agent may have left behind."""
    home = scratch / "trial" / "home"
    home.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(["sleep", "1000"], env={"HOME": str(home)}, cwd=home, start_new_session=True)


FAULTS = "oracle with faults 5xx=0.3,seed=4"
REFUSALS: list[tuple[Mapping[str, Any], str]] = [
    ({"model": ("x",), "upstream": "oracle"}, "models: gpt-4.1 in the run, x now"),
    ({"upstream": "null"}, f"upstreams: {FAULTS} in the run, null with faults 5xx=0.3,seed=4 now"),
    ({"faults": "429=0.1"}, f"upstreams: {FAULTS} in the run, oracle with faults 429=0.1,retry_after_s=1,seed=0 now"),
    ({"repetitions": 3}, "repetitions: 4 in the run, 3 now"),
    ({"max_turns": 5}, "limits.max_turns: none in the run, 5 now"),
    ({"timeout": 5.0}, "timeout: none in the run, 5.0 now"),
    ({"sandbox": "bubblewrap"}, "sandbox: process in the run, bubblewrap now"),
    ({"strict_model": True}, "strict-model: false in the run, true now"),
    ({"require_capture": False}, "require-capture: none in the run, false now"),
    ({"mode": ("calm",)}, "modes: baseline in the run, calm now"),
    ({"agents": ("mini",)}, "agents: fake in the run, mini now"),
    ({"scenarios": ("./small",)}, "scenarios: tiny in the run, small now"),
]


@pytest.fixture
def done(ended: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The same, and BenchFlow is at home there."""
    monkeypatch.chdir(ended.folder)
    monkeypatch.setenv("BENCHFLOW_HOME", str(ended.folder / "home"))
    return ended


def refusal(*words: str, **options: Any) -> str:
    """Return why a run with other options cannot go on."""
    with pytest.raises(InputError) as error:
        ask(words, options, resume="last").plan()
    return str(error.value)


def test_another_configuration_is_refused_with_both_values(done: Shell) -> None:
    for options, said in REFUSALS:
        assert f"\n  {said}\n" in refusal(**options), options


def test_changed_scenario_is_refused_before_anything_starts(done: Shell) -> None:
    done.write("tiny/scenario.toml", TINY.replace("the word done", "the words well done"))
    said = refusal()
    done.write("tiny/scenario.toml", TINY)
    assert re.search(r"\n  scenario tiny: [0-9a-f]{12} in the run, [0-9a-f]{12} now\n", said)
    assert "rows of both cannot be mixed" in said


def test_what_does_not_decide_the_rows_may_change(done: Shell) -> None:
    free: dict[str, Any] = {"concurrency": 4, "keep": "always", "max_unscored": "1", "max_cost": 3.0, "rpm": 60}

    plan = ask((), free, resume="last").plan()

    assert (plan.trials, plan.ended, plan.sandbox) == (0, 4, "process")


def test_a_run_that_cannot_go_on_says_why(done: Shell) -> None:
    run = only_run(done)
    description = json.loads((run / "run.json").read_text())

    def with_config(config: dict[str, Any] | None) -> str:
        (run / "run.json").write_text(json.dumps({**description, "config": config}))
        return refusal()

    assert "run.json has no options to go on from; begin a new run" in with_config(None)
    assert "it records x.cassette, which its end has cut" in with_config(
        {**description["config"], "record": "x.cassette"}
    )
    assert "run.json: config: unknown key `agentss`; did you mean `agents`" in with_config({"agentss": ["fake"]})
    (run / "run.json").unlink()
    assert "it was killed before it had a plan; begin a new run" in refusal()
    (run / "run.json").write_text(json.dumps(description))
    with pytest.raises(InputError, match="--retry-unscored: says what --resume RUN runs again"):
        ask((), {}, retry_unscored=True)
    with pytest.raises(InputError, match="leave out --config"):
        ask((), {}, resume="last", config=Path("profile.toml"))


ROW = make_row(extensions={"analyses": {"error": {"summary": "none"}}})
NEXT = make_row(trial="fix-mini-baseline-1-5e6f7a8b", iteration=1)


def mended(run: Path, start: bytes) -> bytes:
    """Return what follows a run's only whole row, where it was cut after the start of another, and mended."""
    whole = ROW.to_json() + b"\n"
    (run / "rows.jsonl").write_bytes(whole + start)
    mend(run)
    content = (run / "rows.jsonl").read_bytes()
    assert content.startswith(whole)
    return content.removeprefix(whole)


def test_row_that_was_cut_at_any_byte_is_whole_again_or_gone(tmp_path: Path) -> None:
    run = write_run(tmp_path, ROW, unfinished=(NEXT.trial, "other"))
    line = NEXT.to_json()
    for at in (*range(0, len(line), 101), len(line) - 1, len(line)):
        assert mended(run, line[:at]) == (line + b"\n" if at == len(line) else b""), "there is no result"
    write_json(try_folder(run, "other") / "result.json", replace(NEXT, trial="other", error_code="cancelled"))
    write_json(try_folder(run, NEXT.trial) / "result.json", NEXT)
    for at in range(len(line) + 1):
        assert mended(run, line[:at]) == (line + b"\n" if at else b"")


def test_cut_row_that_may_be_of_two_trials_is_run_again(tmp_path: Path) -> None:
    run = write_run(tmp_path, ROW, unfinished=(NEXT.trial, "other"))
    for row in (NEXT, replace(NEXT, trial="other")):
        write_json(try_folder(run, row.trial) / "result.json", row)

    assert mended(run, NEXT.to_json()[:30]) == b""
    assert mended(run, NEXT.to_json()[:90]) == NEXT.to_json() + b"\n"


def test_journal_that_was_cut_at_any_byte_can_be_gone_on_with(tmp_path: Path) -> None:
    before, last = entry("a", "started"), entry("a", "ended")
    path = tmp_path / "journal.jsonl"
    for at in range(len(last) + 1):
        path.write_bytes(before + last[:at])
        mend(tmp_path)
        assert path.read_bytes() == (before + last if at >= len(last) - 1 else before)


def test_try_that_was_cut_is_run_again_under_its_number_and_one_that_ended_is_not(tmp_path: Path) -> None:
    unscored = make_unscored(trial="unscored", tries=2)
    run = write_run(tmp_path, make_row(), unscored, unfinished=("cut", "between"))
    with (run / "journal.jsonl").open("ab") as journal:
        journal.write(entry("between", "ended", 1) + entry("between", "started", 2))
        journal.write(entry("unscored", "started", 3) + entry("unscored", "ended", 3) + entry("unscored", "started", 4))

    plain = Resumed(run=StoredRun(run)).former_part()
    again = Resumed(run=StoredRun(run), retry_unscored=True).former_part()

    assert (set(plain.rows), plain.tries) == ({make_row().trial, "unscored"}, {"between": FormerTries(ended=1)})
    assert set(again.rows) == {make_row().trial}
    assert again.tries == {"between": FormerTries(ended=1), "unscored": FormerTries(ended=3, forgiven=2)}


async def test_runner_goes_on_where_an_earlier_part_has_ended(tmp_path: Path) -> None:
    with OwnRun(tmp_path) as run:
        provider = OwnProvider(failure=TrialError("upstream", "busy"))
        plan = make_plan([run.cell(provider=provider)], 3)
        has: ProfileRow = make_row(trial=plan[0].key)
        (left := run.folder.try_folder(plan[1].key, 2)).joinpath("acp.ndjson").write_text("cut")
        former = {plan[1].key: FormerTries(ended=1), plan[2].key: FormerTries(ended=2, forgiven=2)}
        rows = await run.runner(rows={has.trial: has}, former=former).run(plan)

    assert rows[0] is has
    assert [row.tries for row in rows[1:]] == [2, 4], "one more try of each was left"
    assert (left.with_name("try-2.former-1") / "acp.ndjson").read_text() == "cut"
    assert not (left / "acp.ndjson").exists()
    assert len(ids(plan)) == 3


def test_clock_of_a_resumed_run_goes_on_from_its_beginning_and_never_back() -> None:
    first = Clock(origin_ns=time.monotonic_ns() - 5_000_000_000, wall_ns=time.time_ns() - 5_000_000_000)
    last = first.now()

    later = Clock.continued(first.wall_ns, last.ts).now()
    ahead = Clock.continued(first.wall_ns, "2099-01-01T00:00:00.000000Z").now()

    assert later.mono_ms > last.mono_ms
    assert later.ts > last.ts
    assert later.mono_ms < last.mono_ms + 60_000
    assert Clock.continued(first.wall_ns, None).now().mono_ms >= 5_000
    assert ahead.ts > "2099-01-01T00:00:00.000000Z"


def test_changed_version_of_an_agent_is_said() -> None:
    rows = [make_row(agent_version=version) for version in ("1.0", None, "1.0", "1.1")]

    assert version_notes(rows[:3]) == []
    assert version_notes(rows) == ["mini changed within the run: it says of itself that it is 1.0, then 1.1"]


@pytest.mark.bench
@pytest.mark.parametrize("sandbox", ["process", pytest.param("bubblewrap", marks=needs_bubblewrap)])
def test_many_kills(tmp_path_factory: pytest.TempPathFactory, undisturbed: Path, sandbox: str) -> None:
    """Ten rounds of eight kills each, at seeded moments."""
    for seed in range(10):
        shell = open_shell(tmp_path_factory.mktemp(f"round-{seed}"))
        run = kill_often(shell, random.Random(seed), size_of(undisturbed), sandbox, kills=7)
        shell.run("run", "--resume", "last")
        assert rows_of(run) == rows_of(undisturbed), f"seed {seed}"
        assert_is_whole(shell, run)
