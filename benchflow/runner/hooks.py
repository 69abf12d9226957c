"""Calls the hooks of a run, in their order. An error in one is said, logged, and ends nothing."""

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import orjson

from benchflow.clock import Clock
from benchflow.contracts import AfterScenarioContext, BeforeScenarioContext, RunContext, RunHooks
from benchflow.row import ProfileRow
from benchflow.runner.folder import RunFolder
from benchflow.runner.plan import Trial
from benchflow.runner.trial import Ended

HOOKS_LOG = "hooks.jsonl"
"""In the folder of a run, where a hook has failed: which one, and its traceback."""
INTERRUPTED_S = 10.0
"""How long the hooks that end a run may take when it was interrupted."""


class HookCaller:
    """The hooks of one run, and how far its modes are."""

    def __init__(
        self, hooks: Sequence[RunHooks], folder: RunFolder, plan: Sequence[Trial], *, say: Callable[[str], None]
    ) -> None:
        """`plan` has all trials that there will be, warm-ups too."""
        self._hooks = hooks
        self._folder = folder
        self._say = say
        self._clock = Clock()
        self._left = Counter(trial.cell.mode.name for trial in plan)
        self._ready: dict[str, anyio.Event] = {}
        self._context = RunContext(
            run_id=folder.run_id,
            modes=list(self._left),
            scenarios=list(dict.fromkeys(trial.cell.scenario.id for trial in plan)),
            repetitions=max((trial.iteration + 1 for trial in plan), default=0),
        )

    async def before_run(self) -> None:
        await self._call("before_run", self._context)

    async def before_trial(self, trial: Trial) -> None:
        """Call `before_mode` if it is the first trial of its mode, and `before_scenario`."""
        if not self._hooks:
            return
        mode = trial.cell.mode.name
        if mode not in self._ready:
            self._ready[mode] = anyio.Event()
            await self._call("before_mode", mode)
            self._ready[mode].set()
        await self._ready[mode].wait()  # another trial of the mode may be the first
        await self._call("before_scenario", BeforeScenarioContext(**_of(trial)))

    async def after_trial(self, trial: Trial, ended: Ended) -> None:
        """Call `after_scenario`, and `after_mode` if it was the last trial of its mode."""
        if not self._hooks:
            return
        context = AfterScenarioContext(**_of(trial), result=ended.row, trace=ended.trace)
        await self._call("after_scenario", context)
        mode = trial.cell.mode.name
        self._left[mode] -= 1
        if not self._left[mode]:
            await self._call("after_mode", mode)

    async def left_out(self, trials: Sequence[Trial]) -> None:
        """Call `after_mode` if, but for these trials, the last of their mode has ended: they are not run after all."""
        for mode, count in Counter(trial.cell.mode.name for trial in trials).items():
            self._left[mode] -= count
            if not self._left[mode] and mode in self._ready:
                await self._call("after_mode", mode)

    async def after_run(self, rows: Sequence[ProfileRow]) -> None:
        """Call `after_run`, after `after_mode` of the modes that an interruption left open. It cannot be cancelled."""
        with anyio.CancelScope(shield=True):
            if any(self._left.values()):
                with anyio.move_on_after(INTERRUPTED_S):
                    await self._end(rows)
            else:
                await self._end(rows)

    async def _end(self, rows: Sequence[ProfileRow]) -> None:
        for mode in self._ready:
            if self._left[mode]:
                await self._call("after_mode", mode)
        await self._call("after_run", self._context, rows)

    async def _call(self, name: str, *arguments: Any) -> None:
        for hooks in self._hooks:
            method = getattr(hooks, name, None)
            if method is None:
                continue
            try:
                await method(*arguments)
            except Exception as exc:  # noqa: BLE001 - a hook's bug must not cost a run
                self._failed(f"{type(hooks).__name__}.{name}", exc)

    def _failed(self, hook: str, error: Exception) -> None:
        said = f"{type(error).__name__}: {error}"
        self._say(f"hook {hook} failed, and the run goes on: {said}; see {self._folder.path / HOOKS_LOG}")
        entry = {
            "ts": self._clock.now().ts,
            "hook": hook,
            "error": said,
            "traceback": "".join(traceback.format_exception(error)),
        }
        log = self._folder.log_file(self._folder.path / HOOKS_LOG)
        try:
            log.write(orjson.dumps(entry) + b"\n")
        finally:
            log.close()


def _of(trial: Trial) -> dict[str, Any]:
    cell = trial.cell
    return {
        "scenario": cell.scenario,
        "mode": cell.mode.name,
        "model": cell.model,
        "iteration": trial.iteration,
    }
