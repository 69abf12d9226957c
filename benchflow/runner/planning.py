"""What a run would do, found without starting anything and without writing anything."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchflow.contracts import Limits
from benchflow.install import find_install
from benchflow.manifest import Manifest
from benchflow.row import ProfileRow
from benchflow.runner.describe import describe_run
from benchflow.runner.judged import open_base
from benchflow.runner.lookup import Job, look_up
from benchflow.runner.matrix import describe_matrix, most_cost
from benchflow.runner.plan import Cell, Trial, make_canaries
from benchflow.runner.repeating import standing
from benchflow.runner.request import RunRequest
from benchflow.sandbox.interface import Isolation

if TYPE_CHECKING:
    from benchflow.runner.resuming import Resumed


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """One agent, model and mode on one scenario, as rows will name them."""

    agent: str
    model: str
    upstream: str
    mode: str
    scenario: str
    trials: int
    """That are to be run; of those that may be left out, too."""
    limits: Limits


@dataclass(frozen=True, kw_only=True)
class PlannedTrial:
    """One repetition of a cell."""

    scenario: str
    agent: str
    model: str
    mode: str
    iteration: int


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """What would be done."""

    trials: int
    """That would be run, warm-ups aside; at most, where repetitions go on until enough is known."""
    ended: int
    """Trials of the run that is resumed that have their rows."""
    warm_ups: int
    matrix: str | None
    """How the number of all trials comes about; None: there is one cell."""
    cells: Sequence[PlannedCell]
    order: Sequence[PlannedTrial]
    """All trials, in the order in which they begin."""
    max_cost_usd: float | None
    """What the trials cost at most by their budgets, but for tries that are repeated. None: no budget says it."""
    installs: Sequence[str]
    """Agents that would be installed first."""
    sandbox: str
    """What was asked for; what `auto` takes is found by trying."""
    notes: Sequence[str]
    """What the user should be told before anything starts."""


def plan_run(
    request: RunRequest, environ: Mapping[str, str] = os.environ, *, resumed: "Resumed | None" = None
) -> DryRun:
    """Look up all that a run needs, and say what it would do. Raises InputError for what would keep it from that."""
    job = look_up(request, environ)
    open_base(job)
    taken: Isolation = resumed.isolation if resumed else "bubblewrap"
    isolation: Isolation = taken if request.sandbox == "auto" else request.sandbox
    done: Mapping[str, ProfileRow] = {}
    if resumed:
        resumed.require_same(describe_run(job, job.plan(isolation), isolation=isolation))
        done = resumed.former_part().rows
    plan = job.plan(isolation)
    left = [trial for trial in plan if trial.key not in done]
    if resumed:
        wanted = {trial.key for trial in standing(plan, done, job.until).wanted} if job.until else None
        left = [trial for trial in left if wanted is None or trial.key in wanted]
    warm_ups = make_canaries(left) if request.canary else []
    return DryRun(
        trials=len(left),
        ended=len(done),
        warm_ups=len(warm_ups),
        matrix=describe_matrix(job, plan),
        cells=_cells(left),
        order=[_planned(trial) for trial in left],
        max_cost_usd=most_cost([*left, *warm_ups]),
        installs=_installs(job, left),
        sandbox=isolation if resumed else request.sandbox,
        notes=[note for note in (*(arm.upstream.note for arm in job.arms[:1]), *job.budget_notes) if note],
    )


def _cells(trials: Sequence[Trial]) -> list[PlannedCell]:
    counts: dict[int, int] = {}
    cells: dict[int, Cell] = {}
    for trial in trials:
        counts[id(trial.cell)] = counts.get(id(trial.cell), 0) + 1
        cells[id(trial.cell)] = trial.cell
    return [
        PlannedCell(
            agent=cell.agent.label,
            model=cell.model,
            upstream=cell.upstream,
            mode=cell.mode.name,
            scenario=cell.scenario.id,
            trials=counts[place],
            limits=cell.limits,
        )
        for place, cell in cells.items()
    ]


def _planned(trial: Trial) -> PlannedTrial:
    cell = trial.cell
    return PlannedTrial(
        scenario=cell.scenario.id,
        agent=cell.agent.label,
        model=cell.model,
        mode=cell.mode.name,
        iteration=trial.iteration,
    )


def _installs(job: Job, trials: Sequence[Trial]) -> list[str]:
    """Return the agents that are not installed as they are now, or would be installed anew."""
    wanted = {trial.cell.agent.label for trial in trials}
    agents = {arm.agent.label: arm.agent for arm in job.arms if arm.agent.label in wanted}
    return [
        label
        for label, agent in agents.items()
        if isinstance(agent, Manifest) and (job.request.reinstall or not find_install(agent, job.home))
    ]
