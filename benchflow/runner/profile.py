"""Many trials of several arms: so many at once, each to its row, until all are done or the run is interrupted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio

from benchflow.contracts import ProviderConfig
from benchflow.errors import TrialError
from benchflow.report.progress import Progress
from benchflow.row import ProfileRow
from benchflow.runner.folder import RunFolder
from benchflow.runner.plan import ArmName, Cell, Trial
from benchflow.runner.spending import overspent
from benchflow.runner.trial import Stage, run_trial


@dataclass(kw_only=True)
class ProfileRunner:
    """Runs the trials of a plan. Rows are on disk as soon as they exist, in the order in which trials end."""

    folder: RunFolder
    stages: Mapping[ArmName, Stage]
    """One for each arm of the plan."""
    progress: Progress
    concurrency: int = 1
    max_cost_usd: float | None = None
    """What the run has cost when no further trial begins; what has not begun then has no row. None: no such limit."""
    rows: dict[str, ProfileRow] = field(default_factory=dict)
    """By the trial's key; what is done when the run is cancelled stays here."""

    async def run(self, plan: Sequence[Trial]) -> list[ProfileRow]:
        """Run all trials, and return their rows in the plan's order."""
        stages = dict(self.stages)
        try:
            async with anyio.create_task_group() as opening:
                for cell in {trial.cell.arm: trial.cell for trial in plan}.values():
                    opening.start_soon(_begin, stages, cell)
            waiting = iter(plan)
            async with anyio.create_task_group() as workers:
                for _ in range(min(self.concurrency, len(plan))):
                    workers.start_soon(self._work, waiting, stages)
        finally:
            with anyio.CancelScope(shield=True):
                for stage in stages.values():
                    await stage.provider.shutdown()
        return self.done(plan)

    @property
    def overspent(self) -> str | None:
        """Why no further trial begins; None: it may."""
        return overspent(self.rows.values(), self.max_cost_usd)

    def done(self, plan: Sequence[Trial]) -> list[ProfileRow]:
        """Return the rows that exist so far, in the plan's order."""
        return [self.rows[trial.key] for trial in plan if trial.key in self.rows]

    async def _work(self, waiting: Iterator[Trial], stages: Mapping[ArmName, Stage]) -> None:
        for trial in waiting:
            if self.overspent:
                return
            self.progress.trial_started(trial)
            ended = await run_trial(trial, stages[trial.cell.arm])
            row = ended.row
            self.folder.append_row(row)
            self.folder.record(trial.key, row.tries, "ended")
            self.rows[trial.key] = row
            self.progress.trial_ended(row)


async def _begin(stages: dict[ArmName, Stage], cell: Cell) -> None:
    """Make an arm's provider ready; one that cannot be leaves the trials of its arm alone unscored."""
    stage = stages[cell.arm]
    config = ProviderConfig(model=cell.model, mode=cell.mode.name, environment=cell.mode.environment)
    try:
        await stage.provider.init(config)
    except TrialError as error:
        stages[cell.arm] = replace(stage, broken=error)
