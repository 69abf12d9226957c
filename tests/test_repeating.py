"""Repeating until the rate of success is known well enough: what is decided, by which trials, and what is said."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell
from hypothesis import given, settings
from hypothesis import strategies as st
from own_provider import OwnProvider, OwnRun
from stored import make_row, make_unscored

from benchflow.contracts import Limits
from benchflow.errors import InputError, TrialError
from benchflow.report.progress import Silence
from benchflow.row import ProfileRow
from benchflow.runner.plan import Cell, NamedSubject, Trial, make_plan
from benchflow.runner.repeating import Standing, UntilSure, standing
from benchflow.runner.request import RunRequest
from benchflow.scenario import find_scenarios

SCENARIOS = find_scenarios(["fix-failing-test", "fix-broken-package", "ship-a-release"])
Outcome = Callable[[Trial], bool | None]
"""Whether a trial passes; None: it cannot be scored."""


def make_cells(agents: int, scenarios: int) -> list[Cell]:
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


def row_of(trial: Trial, outcome: Outcome) -> ProfileRow:
    success = outcome(trial)
    row = make_row if success is not None else make_unscored
    return row(trial=trial.key, iteration=trial.iteration, success=success, score=success and float(success))


def played(plan: list[Trial], until: UntilSure, outcome: Outcome, dice: random.Random | None = None) -> Standing:
    """Run what is wanted, one trial after another, or in whatever order, until nothing is."""
    rows: dict[str, ProfileRow] = {}
    while waiting := [trial for trial in standing(plan, rows, until).wanted if trial.key not in rows]:
        for trial in dice.sample(waiting, dice.randint(1, len(waiting))) if dice else waiting:
            rows[trial.key] = row_of(trial, outcome)
    found = standing(plan, rows, until)
    assert {trial.key for trial in found.wanted} == rows.keys()
    return found


@pytest.mark.parametrize(("scenarios", "repetitions"), [(1, 24), (2, 12), (3, 8)])
def test_what_always_passes_is_repeated_until_24_trials_are_there(scenarios: int, repetitions: int) -> None:
    found = played(make_plan(make_cells(1, scenarios), 40), UntilSure(half_width=0.1), lambda _: True)

    (arm,) = found.settled
    assert (arm.reason, arm.repetitions, arm.most, arm.scored) == ("sure", repetitions, 40, 24)
    assert arm.saved == (40 - repetitions) * scenarios
    assert len(found.wanted) == 24


def test_each_arm_stops_by_itself_and_what_is_never_sure_at_the_most() -> None:
    plan = make_plan(make_cells(2, 2), 30)

    found = played(plan, UntilSure(half_width=0.1), lambda t: t.cell.agent.label == "a1" or t.iteration % 2 == 0)

    assert [(arm.agent, arm.reason, arm.repetitions, arm.saved) for arm in found.settled] == [
        ("a1", "sure", 12, 36),
        ("a0", "most", 30, 0),
    ]
    assert found.adaptive
    assert found.adaptive.saved == 36


def test_nothing_is_decided_before_the_least_repetitions() -> None:
    plan = make_plan(make_cells(1, 3), 10)
    for least, repetitions in ((1, 4), (7, 7), (10, 10)):
        found = played(plan, UntilSure(half_width=0.2, least=least), lambda _: True)
        assert [(arm.repetitions, arm.reason) for arm in found.settled] == [(repetitions, "sure")]


def test_unscored_trials_decide_nothing_and_an_arm_without_any_other_is_not_repeated() -> None:
    plan = make_plan(make_cells(2, 1), 40)

    found = played(
        plan,
        UntilSure(half_width=0.1, least=2),
        lambda t: None if t.cell.agent.label == "a1" or t.iteration < 4 else True,
    )

    assert [(arm.agent, arm.reason, arm.repetitions, arm.scored) for arm in found.settled] == [
        ("a0", "unscored", 2, 0),
        ("a1", "unscored", 2, 0),
    ]
    later = played(plan, UntilSure(half_width=0.1), lambda t: None if t.iteration % 2 else True)
    assert [(arm.reason, arm.repetitions, arm.scored) for arm in later.settled] == [("most", 40, 20)] * 2


@settings(max_examples=20, deadline=None)
@given(
    agents=st.integers(1, 3),
    scenarios=st.integers(1, 3),
    at_once=st.integers(1, 9),
    seed=st.integers(0, 1 << 16),
    rate=st.sampled_from((0.5, 0.8, 1.0)),
)
def test_neither_order_nor_interruption_changes_which_trials_there_are(
    agents: int, scenarios: int, at_once: int, seed: int, rate: float
) -> None:
    plan = make_plan(make_cells(agents, scenarios), 12)
    until = UntilSure(half_width=0.25, least=2, at_once=at_once)

    def outcome(trial: Trial) -> bool | None:
        dice = random.Random(f"{seed} {trial.key}")
        return None if dice.random() < 0.1 else dice.random() < rate

    found = played(plan, until, outcome)

    assert played(plan, until, outcome, random.Random(seed)) == found
    assert sum(arm.saved for arm in found.settled) == len(plan) - len(found.wanted)
    assert len(found.settled) == agents


def test_trials_that_run_at_once_are_begun_together() -> None:
    plan, until = make_plan(make_cells(1, 2), 40), UntilSure(half_width=0.1, least=3, at_once=5)
    rows: Mapping[str, ProfileRow] = {}
    sizes = []
    while len(now := standing(plan, rows, until).wanted) > len(rows):
        sizes.append(len(now) - len(rows))
        rows = {trial.key: row_of(trial, lambda _: True) for trial in now}
    assert sizes == [6, 6, 6, 6]  # 3 repetitions of 2 scenarios, for 5 are not 2 whole ones


def test_without_a_limit_of_surety_the_whole_plan_is_wanted() -> None:
    plan = make_plan(make_cells(2, 2), 3)
    assert standing(plan, {}, None) == Standing(wanted=plan)


async def test_runner_ends_modes_when_their_last_arm_is_settled(tmp_path: Path) -> None:
    said: list[str] = []

    class Hooks:
        async def after_scenario(self, context: Any) -> None:
            said.append("trial")

        async def after_mode(self, mode: str) -> None:
            said.append(f"after {mode}")

    class Counting(Silence):
        def left_out(self, count: int) -> None:
            said.append(f"{count} left out")

    with OwnRun(tmp_path) as run:
        plan = make_plan([run.cell()], 30)
        hooks: Any = Hooks()
        runner = run.runner(until=UntilSure(half_width=0.3), hooks=[hooks], progress=Counting())
        rows = await runner.run(plan)
        again = run.runner(until=UntilSure(half_width=0.2), rows={row.trial: row for row in rows})
        more = await again.run(plan)

    assert said == [*["trial"] * 5, "25 left out", "after baseline"]
    assert [row.iteration for row in rows] == list(range(5))
    assert len(more) == 10
    assert more[:5] == rows


async def test_broken_arm_is_tried_as_often_as_asked_and_no_more(tmp_path: Path) -> None:
    with OwnRun(tmp_path) as run:
        failing = OwnProvider(failure=TrialError("launch", "no such file"))
        plan = make_plan([run.cell(provider=failing)], 30)
        rows = await run.runner(until=UntilSure(half_width=0.1, least=2), concurrency=4).run(plan)

    assert [row.error_code for row in rows] == ["launch"] * 2


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


def test_what_it_saved_is_said_and_kept_and_reported(shell: Shell) -> None:
    words = ("fake", "./tiny", "--until-ci", "0.4", "-n", "2", "--max-repetitions", "9", "--sandbox", "process")

    ended = shell.run("run", *words, "--json")

    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert "2 to 9 = at most 9 trials" in ended.stderr
    assert "stopped after 3 of 9 repetitions: success is within" in ended.stderr
    assert "plus or minus 0.4 or better; 6 trials not run" in ended.stderr
    assert (len(result["rows"]), result["summary"]["trials"], result["summary"]["missing"]) == (3, 3, 0)
    kept = json.loads((shell.folder / result["run_dir"] / "run.json").read_text())
    assert kept["adaptive"] == result["summary"]["adaptive"]
    assert kept["adaptive"]["settled"][0]["saved"] == 6

    report = json.loads(shell.run("report", "last", "--json", "-").stdout)["profile"]

    success = report["cells"][0]["success"]
    assert (success["method"], success["n"], report["missing"]) == ("confidence sequence", 3, 0)
    assert [success["low"], success["high"]] == [kept["adaptive"]["settled"][0][limit] for limit in ("low", "high")]
    assert any(note.endswith("6 trials not run") for note in report["notes"])


def test_what_does_not_go_together_is_refused() -> None:
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"max_repetitions": 5}, "give that, too, or only -n"),
        ({"until_ci": 0.1, "repetitions": 6, "max_repetitions": 5}, "--max-repetitions 5: is less than -n 6"),
    )
    for options, said in wrong:
        with pytest.raises(InputError, match=said):
            RunRequest(agents=("a",), scenarios=("s",), **options)
    assert RunRequest(agents=("a",), scenarios=("s",), until_ci=0.1).most_repetitions == 50
