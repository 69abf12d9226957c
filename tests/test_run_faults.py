"""Whole runs on a failing upstream: under each kind of fault a score or the right code, and never a 0 not earned."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell

from benchflow.gateway.wrapping.fault_plan import read_faults
from benchflow.runner.lookup import look_up
from benchflow.runner.request import RunRequest


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


def row_of(shell: Shell, agent: str, faults: str, *words: str) -> dict[str, Any]:
    return shell.row(agent, "--sandbox", "process", "--faults", faults, *words)


PASSED = ("stop", None, True, 1.0)
UPSTREAM = ("error", "upstream", None, None)


def end(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["completion_reason"], row["error_code"], row["success"], row["score"]


@pytest.mark.parametrize(
    ("faults", "played"),
    [
        ("429=1,first=2,retry_after_s=0.05", {"429": 2}),
        ("cut=1,cut_at=0,first=1", {"cut": 1}),
        ("stall=1,stall_s=0.1,first=1", {"stall": 1}),
        ("slow=1,slow_bytes_per_s=20000", {"slow": 2}),
    ],
)
def test_fault_that_the_agent_gets_past_is_counted_and_costs_it_nothing(
    shell: Shell, faults: str, played: dict[str, int]
) -> None:
    row = row_of(shell, "mini", faults)

    assert (end(row), row["tries"]) == (PASSED, 1)
    assert row["extensions"]["faults"] == played


@pytest.mark.parametrize(
    ("agent", "faults"),
    [
        ("fake:hides-upstream-error", "429=1,retry_after_s=0.01"),
        ("fake:hides-upstream-error", "cut=1"),
        ("fake:hides-upstream-error", "stall=1,stall_s=60"),
        ("fake", "5xx=1"),
        ("mini", "429=1,retry_after_s=0.01"),
        ("mini", "slow=1,slow_bytes_per_s=10"),
    ],
)
def test_fault_that_the_agent_does_not_get_past_is_the_upstreams_whatever_the_agent_says(
    shell: Shell, agent: str, faults: str
) -> None:
    row = row_of(shell, agent, faults, "--timeout", "0.7")

    assert (end(row), row["tries"]) == (UPSTREAM, 2)
    assert row["extensions"]["faults"]


def test_faults_that_the_gateway_repeats_do_not_reach_the_agent_nor_its_time(shell: Shell) -> None:
    words = ("--retry-upstream", "3", "--timeout", "2")

    row = row_of(shell, "fake:hides-upstream-error", "429=1,retry_after_s=1.1,first=2", *words)

    assert end(row) == PASSED
    assert row["extensions"]["repeated"] == 2
    assert row["extensions"]["held_ms"] >= 2200
    assert row["timing"]["wall_ms"] < row["timing"]["segments"]["prompt"] - 2000
    assert row["exchanges"]["failed"] == 0


def test_faults_are_part_of_a_trials_key(shell: Shell) -> None:
    def key(faults: str | None) -> str:
        plan = read_faults(faults) if faults else None
        request = RunRequest(agents=("mini",), scenarios=(str(shell.folder / "tiny"),), faults=plan)
        return look_up(request, shell.environ).plan("process")[0].key

    assert len({key(None), key("429=0.5"), key("429=0.5,seed=1"), key("429=0.4,cut=0.1"), key("seed=0,429=0.5")}) == 4


def test_faults_limits_and_repetitions_are_in_the_runs_description(shell: Shell) -> None:
    shell.write("faults.toml", "slow = 0.5\nslow_bytes_per_s = 90000\n")

    limits = ("--max-requests", "1", "--rpm", "1000", "--tpm", "1000000", "--max-wait", "5", "--retry-upstream", "2")

    row = row_of(shell, "mini", "faults.toml", *limits)

    run = json.loads((shell.folder / "runs" / row["run_id"] / "run.json").read_text())
    assert run["upstream"] == row["upstream"] == "oracle with faults slow=0.5,slow_bytes_per_s=90000,seed=0"
    assert run["request"]["faults"]["rates"] == {"slow": 0.5}
    pace, retries = run["request"]["pace"], run["request"]["retries"]
    assert (pace["max_requests"], pace["rpm"], pace["tpm"], pace["max_wait_s"]) == (1, 1000, 1000000, 5)
    assert (retries["times"], retries["max_wait_s"], row["success"]) == (2, 5, True)


def test_mistake_in_the_faults_is_named_before_anything_starts(shell: Shell) -> None:
    ended = shell.run("run", "mini", "./tiny", "--faults", "stahl=0.1")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--faults: unknown key `stahl`; did you mean `stall`" in ended.stderr
    assert not (shell.folder / "runs").exists()
