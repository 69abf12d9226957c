"""Hooks: their order, that an error in one ends nothing, and what a mode's first and last trial are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import orjson
from own_provider import OwnProvider, OwnRun

from benchflow.contracts import AfterScenarioContext, BeforeScenarioContext, RunContext, RunHooks
from benchflow.errors import TrialError
from benchflow.mode import Mode
from benchflow.row import ProfileRow
from benchflow.runner.hooks import HOOKS_LOG
from benchflow.runner.plan import make_plan


class Diary(RunHooks):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.after: list[AfterScenarioContext] = []

    async def before_run(self, context: RunContext) -> None:
        self.lines.append(f"run {','.join(context.modes)} {','.join(context.scenarios)} x{context.repetitions}")

    async def before_mode(self, mode: str) -> None:
        self.lines.append(f"mode {mode}")

    async def before_scenario(self, context: BeforeScenarioContext) -> None:
        self.lines.append(f"{context.mode} {context.scenario.id}#{context.iteration}")

    async def after_scenario(self, context: AfterScenarioContext) -> None:
        self.lines.append(f"{context.mode} {context.scenario.id}#{context.iteration} {context.result.success}")
        self.after.append(context)

    async def after_mode(self, mode: str) -> None:
        self.lines.append(f"mode {mode} over")

    async def after_run(self, context: RunContext, rows: Sequence[ProfileRow]) -> None:
        self.lines.append(f"run over, {len(rows)} rows")


class Clumsy(RunHooks):
    """Fails at every turn."""

    async def before_run(self, context: RunContext) -> None:
        raise ValueError("no run for me")

    async def after_scenario(self, context: AfterScenarioContext) -> None:
        raise KeyError("lost")


async def test_hooks_are_called_in_order_and_modes_once(tmp_path: Path) -> None:
    diary = Diary()
    with OwnRun(tmp_path) as run:
        cells = [run.cell(), run.cell(mode=Mode(name="careful", instructions="Mind. "))]
        await run.runner(hooks=[diary]).run(make_plan(cells, 2))

    assert diary.lines == [
        "run baseline,careful tiny x2",
        *("mode baseline", "baseline tiny#0", "baseline tiny#0 True"),
        *("mode careful", "careful tiny#0", "careful tiny#0 True"),
        *("careful tiny#1", "careful tiny#1 True", "mode careful over"),
        *("baseline tiny#1", "baseline tiny#1 True", "mode baseline over"),
        "run over, 4 rows",
    ]
    assert diary.after[0].trace is not None


async def test_no_trial_of_a_mode_begins_before_its_hook_is_done(tmp_path: Path) -> None:
    provider = OwnProvider()

    class Slow(Diary):
        async def before_mode(self, mode: str) -> None:
            await anyio.wait_all_tasks_blocked()  # every other trial has had its chance to begin
            self.lines.append(f"mode {mode} after {provider.said}")

    slow = Slow()
    with OwnRun(tmp_path) as run:
        await run.runner(hooks=[slow], concurrency=3).run(make_plan([run.cell(provider=provider)], 3))

    assert [line for line in slow.lines if line.startswith("mode")] == [
        "mode baseline after ['init baseline']",
        "mode baseline over",
    ]


async def test_error_in_a_hook_is_said_and_logged_and_costs_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    diary = Diary()
    with OwnRun(tmp_path) as run:
        rows = await run.runner(hooks=[Clumsy(), diary], say=said.append).run(make_plan([run.cell()], 1))
        log = [orjson.loads(line) for line in (run.folder.path / HOOKS_LOG).read_bytes().splitlines()]

    assert [row.success for row in rows] == [True]
    assert diary.lines[-1] == "run over, 1 rows", "hooks after the one that failed are called all the same"
    assert [line.partition(":")[0] for line in said] == [
        "hook Clumsy.before_run failed, and the run goes on",
        "hook Clumsy.after_scenario failed, and the run goes on",
    ]
    assert [(entry["hook"], entry["error"]) for entry in log] == [
        ("Clumsy.before_run", "ValueError: no run for me"),
        ("Clumsy.after_scenario", "KeyError: 'lost'"),
    ]
    assert "Traceback" in log[0]["traceback"]


async def test_after_scenario_is_called_of_a_trial_that_failed_too(tmp_path: Path) -> None:
    diary = Diary()
    with OwnRun(tmp_path) as run:
        cell = run.cell(provider=OwnProvider(failure=TrialError("launch", "no such program")))
        await run.runner(hooks=[diary]).run(make_plan([cell], 1))

    assert [(each.result.error_code, each.trace) for each in diary.after] == [("launch", None)]


async def test_interrupted_run_ends_its_modes_and_itself(tmp_path: Path) -> None:
    diary = Diary()
    begun = anyio.Event()

    class Endless(OwnProvider):
        async def prompt(self, handle: Any, text: str, timeout_s: float | None = None) -> Any:
            begun.set()
            await anyio.sleep_forever()

    with OwnRun(tmp_path) as run:
        runner = run.runner(hooks=[diary])
        plan = make_plan([run.cell(provider=Endless())], 2)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run, plan)
            with anyio.fail_after(20):
                await begun.wait()
            tasks.cancel_scope.cancel()

    assert diary.lines[-2:] == ["mode baseline over", "run over, 0 rows"]


async def test_hooks_need_not_have_every_method(tmp_path: Path) -> None:
    class Bare:
        """Has one method alone, and inherits nothing."""

        def __init__(self) -> None:
            self.runs = 0

        async def before_run(self, context: RunContext) -> None:
            self.runs += 1

    bare = Bare()
    with OwnRun(tmp_path) as run:
        rows = await run.runner(hooks=[bare]).run(make_plan([run.cell()], 1))

    assert (bare.runs, rows[0].success) == (1, True)
