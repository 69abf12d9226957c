"""Many trials of several arms: so many at once, each to its row, until all are done or the run is interrupted."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio

from benchflow.adaptive import Settled
from benchflow.contracts import ProviderConfig, RunHooks
from benchflow.errors import TrialError
from benchflow.report.progress import Progress, Silence
from benchflow.report.terminal import say
from benchflow.row import ProfileRow
from benchflow.runner.folder import RunFolder
from benchflow.runner.former import NEW, FormerTries
from benchflow.runner.hooks import HookCaller
from benchflow.runner.observing import brief
from benchflow.runner.plan import ArmName, Cell, Trial, make_canaries
from benchflow.runner.repeating import Standing, UntilSure, standing
from benchflow.runner.spending import overspent
from benchflow.runner.stage import Stage
from benchflow.runner.trial import Ended, run_trial

NOT_THE_ARMS = frozenset({"cancelled", "scorer"})
"""What a warm-up may end with, beside a verdict, and its arm may go on all the same."""


@dataclass(kw_only=True)
class ProfileRunner:
    """Runs the trials of a plan. Rows are on disk as soon as they exist, in the order in which trials end.

    It knows contracts alone, so that it can be used with a provider, a scorer and workspaces of anybody's:

        cell = Cell(agent=NamedSubject(label="mine", digest="1"), model="m", upstream="mine", scenario=scenario,
                    limits=scenario.budget, sandbox="process")
        clock = Clock()
        with RunFolder.create(Path("runs"), "mine", clock, Redactor([])) as folder:
            stage = Stage(provider=provider, scorer=scorer, workspaces=workspaces, folder=folder, clock=clock)
            runner = ProfileRunner(folder=folder, stages={cell.arm: stage}, concurrency=4)
            rows = await runner.run(make_plan([cell], repetitions=3))
    """

    folder: RunFolder
    stages: Mapping[ArmName, Stage]
    """One for each arm of the plan."""
    progress: Progress = field(default_factory=Silence)
    concurrency: int = 1
    canary: bool = False
    """Warm each arm up with a trial that has no row; an arm whose surroundings break it has no other trials."""
    hooks: Sequence[RunHooks] = ()
    say: Callable[[str], None] = say
    """Tells the user what no row says."""
    max_cost_usd: float | None = None
    """What the run has cost when no further trial begins; what has not begun then has no row. None: no such limit."""
    until: UntilSure | None = None
    """When an arm is repeated no more; then the plan has the most repetitions there may be. None: all of it is run."""
    rows: dict[str, ProfileRow] = field(default_factory=dict)
    """By the trial's key; what is done when the run is cancelled stays here. What is there before is not run again."""
    former: Mapping[str, FormerTries] = field(default_factory=dict)
    """What there is of trials without such a row that an earlier part of the run began, by their keys."""
    _settled: list[Settled] = field(default_factory=list, init=False)

    async def run(self, plan: Sequence[Trial]) -> list[ProfileRow]:
        """Run all trials that have no row yet, and return all rows in the plan's order."""
        left = [trial for trial in self.standing(plan).wanted if trial.key not in self.rows]
        if not left:
            return self.done(plan)
        canaries = make_canaries(left) if self.canary else []
        stages = dict(self.stages)
        hooks = HookCaller(self.hooks, self.folder, [*canaries, *plan], say=self.say)
        await hooks.left_out([trial for trial in plan if trial.key in self.rows])
        await hooks.before_run()
        try:
            await _begin(stages, {trial.cell.arm: trial.cell for trial in left})
            await self._at_once(canaries, lambda trial: self._warm_up(trial, stages, hooks))
            while (waiting := await self._waiting(plan, hooks)) and not self.overspent:
                await self._at_once(waiting, lambda trial: self._run(trial, stages, hooks))
        finally:
            with anyio.CancelScope(shield=True):
                for stage in stages.values():
                    await stage.provider.shutdown()
            await hooks.after_run(self.done(plan))
        return self.done(plan)

    @property
    def overspent(self) -> str | None:
        """Why no further trial begins; None: it may."""
        return overspent(self.rows.values(), self.max_cost_usd)

    def standing(self, plan: Sequence[Trial]) -> Standing:
        """Return how far the run is: what is to be run of the plan, by the rows that exist so far."""
        return standing(plan, self.rows, self.until)

    def done(self, plan: Sequence[Trial]) -> list[ProfileRow]:
        """Return the rows that exist so far, in the plan's order."""
        return [self.rows[trial.key] for trial in plan if trial.key in self.rows]

    async def _waiting(self, plan: Sequence[Trial], hooks: HookCaller) -> list[Trial]:
        """Return what is to be run as far as is known by now; say what is not to be run any more."""
        now = self.standing(plan)
        for found in now.settled[len(self._settled) :]:
            self._settled.append(found)
            arm = ArmName(agent=found.agent, model=found.model, upstream=found.upstream, mode=found.mode)
            left_out = [trial for trial in plan if trial.cell.arm == arm and trial.key not in self.rows]
            if left_out:
                self.progress.left_out(len(left_out))
                await hooks.left_out(left_out)
        return [trial for trial in now.wanted if trial.key not in self.rows]

    async def _at_once(self, trials: Sequence[Trial], run: Callable[[Trial], Awaitable[None]]) -> None:
        """Run so many of the trials at once, in their order."""

        async def work(waiting: Iterator[Trial]) -> None:
            for trial in waiting:
                if not self.overspent:
                    await run(trial)

        waiting = iter(trials)
        async with anyio.create_task_group() as workers:
            for _ in range(min(self.concurrency, len(trials))):
                workers.start_soon(work, waiting)

    async def _run(self, trial: Trial, stages: Mapping[ArmName, Stage], hooks: HookCaller) -> None:
        await hooks.before_trial(trial)
        self.progress.trial_started(trial)
        ended = await run_trial(trial, stages[trial.cell.arm], self.former.get(trial.key, NEW))
        row = brief(ended.row)
        self.folder.append_row(row)
        self.folder.record(trial.key, row.tries, "ended")
        self.rows[trial.key] = row
        self.progress.trial_ended(row)
        await hooks.after_trial(trial, ended)

    async def _warm_up(self, trial: Trial, stages: dict[ArmName, Stage], hooks: HookCaller) -> None:
        """Run a trial without a row; where its surroundings broke it, no other of its arm can begin."""
        arm = trial.cell.arm
        await hooks.before_trial(trial)
        ended = await run_trial(trial, stages[arm])
        cause = _broke(ended)
        if cause and not stages[arm].broken:
            self.say(f"canary of {arm}: {cause.code}: {cause}; its trials are not run, and unscored")
            stages[arm] = replace(stages[arm], broken=cause)
        await hooks.after_trial(trial, ended)


async def _begin(stages: dict[ArmName, Stage], cells: Mapping[ArmName, Cell]) -> None:
    """Make the providers ready, all at once; one that cannot be leaves the trials of its arm alone unscored."""

    async def begin(arm: ArmName, cell: Cell) -> None:
        config = ProviderConfig(model=cell.model, mode=cell.mode.name, environment=cell.mode.environment)
        try:
            await stages[arm].provider.init(config)
        except TrialError as error:
            stages[arm] = replace(stages[arm], broken=error)

    async with anyio.create_task_group() as opening:
        for arm, cell in cells.items():
            opening.start_soon(begin, arm, cell)


def _broke(ended: Ended) -> TrialError | None:
    """Return what broke a warm-up, if it would break the other trials of its arm too."""
    row = ended.row
    if row.score is not None or row.error_code is None or row.error_code in NOT_THE_ARMS:
        return None
    return TrialError(row.error_code, f"the canary failed: {row.error}")
