"""Many trials: so many at once, each to its row, until all are done or the run is interrupted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import anyio

from benchflow.contracts import ProviderConfig
from benchflow.errors import TrialError
from benchflow.report.progress import Progress
from benchflow.row import ProfileRow
from benchflow.runner.folder import RunFolder
from benchflow.runner.plan import Trial
from benchflow.runner.trial import Stage, run_trial


@dataclass(kw_only=True)
class ProfileRunner:
    """Runs the trials of a plan. Rows are on disk as soon as they exist, in the order in which trials end."""

    folder: RunFolder
    stage: Stage
    progress: Progress
    concurrency: int = 1
    rows: dict[str, ProfileRow] = field(default_factory=dict)
    """By the trial's key; what is done when the run is cancelled stays here."""

    async def run(self, plan: Sequence[Trial]) -> list[ProfileRow]:
        """Run all trials, and return their rows in the plan's order."""
        try:
            await self.stage.provider.init(ProviderConfig(model=plan[0].cell.model))
        except TrialError as error:
            self.stage = replace(self.stage, broken=error)
        waiting = iter(plan)
        try:
            async with anyio.create_task_group() as workers:
                for _ in range(min(self.concurrency, len(plan))):
                    workers.start_soon(self._work, waiting)
        finally:
            with anyio.CancelScope(shield=True):
                await self.stage.provider.shutdown()
        return self.done(plan)

    def done(self, plan: Sequence[Trial]) -> list[ProfileRow]:
        """Return the rows that exist so far, in the plan's order."""
        return [self.rows[trial.key] for trial in plan if trial.key in self.rows]

    async def _work(self, waiting: Iterator[Trial]) -> None:
        for trial in waiting:
            self.progress.trial_started(trial)
            row = await run_trial(trial, self.stage)
            self.folder.append_row(row)
            self.folder.record(trial.key, row.tries, "ended")
            self.rows[trial.key] = row
            self.progress.trial_ended(row)
