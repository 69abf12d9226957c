"""Agents x models x modes x scenarios x repetitions: what is run, in which order, and what breaks only its own part."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, Shell, open_shell
from hypothesis import given, settings
from hypothesis import strategies as st
from own_provider import OwnProvider, OwnRun, ids

from benchflow.contracts import Limits
from benchflow.errors import TrialError
from benchflow.runner.lookup import look_up
from benchflow.runner.matrix import describe_matrix
from benchflow.runner.plan import Cell, NamedSubject, make_plan
from benchflow.runner.request import RunRequest
from benchflow.scenario import find_scenarios

SCENARIOS = find_scenarios(["fix-failing-test", "fix-broken-package", "ship-a-release"])
BROKEN = """\
contract_version = "1.1"
name = "broken"
install_cmd = "echo no such package; exit 4"
launch_cmd = "true"
api_protocol = "openai-completions"
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = open_shell(tmp_path)
    shell.write("small/scenario.toml", TINY.replace('"tiny"', '"small"'))
    return shell


def result_of(shell: Shell, *words: str) -> tuple[dict[str, Any], str]:
    """Run, and return the JSON object with what was said beside it."""
    ended = shell.run("run", *words, "--json", "--sandbox", "process")
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout), ended.stderr


def make_cells(agents: int, scenarios: int) -> list[Cell]:
    """Return a cell for each agent and scenario."""
    return [
        Cell(
            agent=NamedSubject(label=f"a{agent}", digest="1"),
            model="m",
            upstream="u",
            scenario=scenario,
            limits=Limits(),
            sandbox="process",
        )
        for scenario in SCENARIOS[:scenarios]
        for agent in range(agents)
    ]


@settings(max_examples=40, deadline=None)
@given(agents=st.integers(1, 5), scenarios=st.integers(1, 3), repetitions=st.integers(1, 6))
def test_stopped_at_any_trial_no_cell_is_two_repetitions_ahead_of_another(
    agents: int, scenarios: int, repetitions: int
) -> None:
    cells = make_cells(agents, scenarios)
    plan = make_plan(cells, repetitions)

    done: Counter[tuple[str, str]] = Counter()
    for trial in plan:
        done[trial.cell.scenario.id, trial.cell.agent.label] += 1
        counts = [done[cell.scenario.id, cell.agent.label] for cell in cells]
        assert max(counts) - min(counts) <= 1
    assert len({trial.key for trial in plan}) == len(plan) == len(cells) * repetitions
    assert [trial.key for trial in make_plan(cells, repetitions)] == [trial.key for trial in plan]


def test_compared_cells_stand_side_by_side_and_take_turns_to_be_first() -> None:
    assert [line.partition("/")[2] for line in ids(make_plan(make_cells(3, 1), 3))] == [
        *("a0/baseline#0", "a1/baseline#0", "a2/baseline#0"),
        *("a1/baseline#1", "a2/baseline#1", "a0/baseline#1"),
        *("a2/baseline#2", "a0/baseline#2", "a1/baseline#2"),
    ]


def test_each_agent_runs_with_each_model_on_each_scenario(shell: Shell) -> None:
    words = ("mini,fake", "./tiny", "./small", "--upstream", "oracle", "--model", "x", "--model", "y")

    result, said = result_of(shell, *words, "--concurrency", "2")

    found = {(row["agent"], row["model"], row["scenario_id"]) for row in result["rows"]}
    assert found == {(a, m, s) for a in ("mini", "fake") for m in ("x", "y") for s in ("tiny", "small")}
    assert len(result["rows"]) == 8
    assert all(row["success"] for row in result["rows"])
    assert "2 agents x 2 models x 2 scenarios = 8 trials\n" in said
    run = json.loads((shell.folder / result["run_dir"] / "run.json").read_text())
    arms = [(arm["agent"]["name"], arm["model"], arm["mode"]["name"]) for arm in run["arms"]]
    assert arms == [(a, m, "baseline") for a in ("mini", "fake") for m in ("x", "y")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"repetitions": 3}, None),
        ({"repetitions": 3, "limits": Limits(max_cost_usd=0.5)}, "3 = 3 trials; at most $1.50, but for tries that"),
        ({"limits": Limits(max_cost_usd=0.5), "canary": True}, "1 trial, and 1 warm-up; at most $1.00, but for"),
        ({"max_cost_usd": 2.0, "repetitions": 2}, "2 = 2 trials; none begins after they have cost $2.00"),
    ],
)
def test_count_is_said_with_what_the_trials_cost_at_most(
    shell: Shell, options: dict[str, Any], said: str | None
) -> None:
    request = RunRequest(agents=("fake",), scenarios=(str(shell.folder / "tiny"),), **options)
    job = look_up(request, shell.environ)

    matrix = describe_matrix(job, job.plan("process"))

    assert matrix == said if said is None else str(matrix).startswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mini,mini", "./tiny"), "mini: is named twice"),
        (("mini,", "./tiny"), "empty"),
        (("mini,./acp-mini", "./tiny"), "mini is named twice"),
        (("mini", "./tiny", "--upstream", "null", "--model", "x", "--model", "x"), "--model x: is named twice"),
        (("mini", "./tiny", "--mode", "baseline", "--mode", "baseline"), "--mode baseline: is named twice"),
        (("mini,fake", "./tiny", "--record", "x.cassette"), "--record: a cassette holds what one agent"),
        (("mini,fakee", "./tiny"), "did you mean fake"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_starts(
    shell: Shell, words: tuple[str, ...], said: str
) -> None:
    manifest = Path(__file__).parent.parent / "acp" / "mini" / "manifest.toml"
    shell.write("acp-mini/manifest.toml", manifest.read_text())

    ended = shell.run("run", *words)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert not (shell.folder / "runs").exists()


def test_failing_install_of_one_agent_leaves_the_others_alone(shell: Shell) -> None:
    shell.write("broken/manifest.toml", BROKEN)

    result, said = result_of(shell, "./broken,fake", "./tiny")

    codes = {row["agent"]: (row["error_code"], row["success"]) for row in result["rows"]}
    assert codes == {"broken": ("install", None), "fake": (None, True)}
    assert said.count("installing broken") == 1


def test_canary_has_logs_and_no_row(shell: Shell) -> None:
    result, _ = result_of(shell, "fake", "./tiny", "--canary")

    run = shell.folder / result["run_dir"]
    warm_up = next(folder for folder in (run / "trials").iterdir() if "--1-" in folder.name)
    assert [row["iteration"] for row in result["rows"]] == [0]
    assert (warm_up / "try-1" / "acp.ndjson").stat().st_size > 0
    assert warm_up.name not in (run / "journal.jsonl").read_text()
    assert result["summary"]["trials"] == 1


def test_trials_of_an_arm_whose_canary_fails_are_unscored_and_never_run(shell: Shell) -> None:
    result, said = result_of(shell, "fake:crash-at-start,fake", "./tiny", "-n", "2", "--canary")

    ends = {(row["agent"], row["iteration"]): (row["error_code"], row["score"]) for row in result["rows"]}
    broken = ("launch", None)
    assert ends == {
        ("fake:crash-at-start", 0): broken,
        ("fake:crash-at-start", 1): broken,
        ("fake", 0): (None, 1.0),
        ("fake", 1): (None, 1.0),
    }
    assert "canary of fake:crash-at-start, gpt-4.1, baseline: launch: the canary failed: " in said
    assert "2 agents x 2 = 4 trials, and 2 warm-ups" in said
    run = shell.folder / result["run_dir"] / "trials"
    launched = [folder.name for folder in run.iterdir() if (folder / "try-1" / "acp.ndjson").exists()]
    assert sum("crash-at-start" in name for name in launched) == 1, "the canary alone"


async def test_agent_that_fails_its_task_as_a_canary_goes_on(tmp_path: Path) -> None:
    class Idle(OwnProvider):
        async def prompt(self, handle: Any, text: str, timeout_s: float | None = None) -> Any:
            result = await super().prompt(handle, text, timeout_s)
            (self._sessions[handle.trial].workspace.path / "done.txt").unlink()
            return result

    with OwnRun(tmp_path) as run:
        provider = Idle()
        rows = await run.runner(canary=True).run(make_plan([run.cell(provider=provider)], 1))

    assert [(row.score, row.error_code) for row in rows] == [(0.0, None)]
    assert provider.said == ["init baseline", "create tiny -1", "create tiny 0", "shutdown"]


async def test_refused_key_halts_the_trials_of_its_own_upstream_alone(tmp_path: Path) -> None:
    with OwnRun(tmp_path) as run:
        cells = [run.cell(agent="a", halted=lambda: "no key"), run.cell(agent="b")]
        rows = await run.runner().run(make_plan(cells, 2))

    codes = {(row.agent, row.iteration): row.error_code for row in rows}
    assert codes == {("a", 0): "upstream", ("a", 1): "upstream", ("b", 0): None, ("b", 1): None}


async def test_runner_needs_nothing_but_the_contracts(tmp_path: Path) -> None:
    with OwnRun(tmp_path) as run:
        failing = OwnProvider(failure=TrialError("sandbox", "no room"))
        cells = [run.cell("one"), run.cell("one", agent="other", provider=failing)]
        rows = await run.runner(concurrency=2).run(make_plan(cells, 2))

    ends = sorted((row.agent, row.iteration, row.score, row.error_code, row.tries) for row in rows)
    assert ends == [
        ("other", 0, None, "sandbox", 2),
        ("other", 1, None, "sandbox", 2),
        ("own", 0, 1.0, None, 1),
        ("own", 1, 1.0, None, 1),
    ]
    assert {row.provider for row in rows} == {"own"}
    assert (tmp_path / "runs" / rows[0].run_id / "rows.jsonl").read_bytes().count(b"\n") == 4
