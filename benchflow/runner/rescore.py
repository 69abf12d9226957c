"""A stored run scored again: what is needed is looked up, opened, used on every trial, and closed. No agent runs."""

import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import anyio

from benchflow.clock import Clock
from benchflow.contracts import Scorer
from benchflow.errors import InputError, first_cause
from benchflow.gateway.prices import find_own_prices
from benchflow.judging.choice import ScorerChoice
from benchflow.log import LogFile
from benchflow.machine.home import Home
from benchflow.machine.scratch import scratch_folder
from benchflow.redact import Redactor
from benchflow.row import ProfileRow, without_secrets
from benchflow.runner.interrupt import interruptible
from benchflow.runner.plugged import PluginNames, load_plugins
from benchflow.runner.rescoring import Desk, Rescored, rescore
from benchflow.sandbox.choose import choose_sandbox
from benchflow.scenario import Scenario, find_scenarios
from benchflow.scorers.choosing import Scoring, choose_scoring
from benchflow.store import Store, StoredRun
from benchflow.workspaces.toolchain import Toolchains

ROWS = "rows.jsonl"


@dataclass(frozen=True, kw_only=True)
class RescoreRequest:
    """What the user asked for. The meanings stand in `benchflow score --help`."""

    run: str = "last"
    out: Path = Path("runs")
    scoring: ScorerChoice = field(default_factory=ScorerChoice)
    keep_verdicts: bool = False
    """Collectors and analyzers alone are asked."""
    plugins: PluginNames = field(default_factory=PluginNames)
    scenarios: tuple[str, ...] = ()
    """Empty: those of the run."""
    changed_scenarios: bool = False
    sandbox: Literal["auto", "bubblewrap", "process"] = "auto"
    prices: Path | None = None
    concurrency: int = 1
    replace: bool = False
    """The new rows count from now on: they are appended to the run's own."""


@dataclass(frozen=True, kw_only=True)
class RescoreResult:
    """What came of it."""

    run: StoredRun
    file: Path
    """Has the new rows."""
    results: Sequence[Rescored]
    """In the order of the run's table; what was interrupted has none."""
    scorer: str | None
    replaced: bool

    @property
    def exit_code(self) -> int:
        """130 interrupted, 3 a trial that should have been scored could not be, 0."""
        if len(self.results) < len(self.run.rows):
            return 130
        return 3 if any(result.broken for result in self.results) else 0


def rescore_sync(request: RescoreRequest, environ: Mapping[str, str] = os.environ) -> RescoreResult:
    """Score a stored run again. Raises InputError, before anything is scored where that is possible."""
    if request.keep_verdicts and (request.scoring.scorer or request.scoring.judge.named):
        raise InputError("--keep-verdicts: no scorer and no judge is asked then; leave it out, or them")
    run = Store(request.out).find(request.run)
    if run.is_running:
        raise InputError(f"{run.id}: still runs; score it again when it has ended")
    if not run.rows:
        raise InputError(f"{run.id}: has no rows to score again")
    scenarios = _find_scenarios(run, request)
    scoring = None if request.keep_verdicts else choose_scoring(request.scoring, scenarios.values(), environ)
    try:
        return anyio.run(_perform, request, run, scenarios, scoring, environ)
    except BaseExceptionGroup as group:
        raise first_cause(group) from group


def _find_scenarios(run: StoredRun, request: RescoreRequest) -> dict[str, Scenario]:
    """Find the run's scenarios where they are now. Raises InputError for one that is not where it was."""
    asked: Mapping[str, Any] = run.description.get("request") or {}
    names = request.scenarios or tuple(asked.get("scenarios") or {row.scenario_id for row in run.rows})
    try:
        found = find_scenarios(names)
    except InputError as exc:
        raise InputError(f"{run.id}: its scenarios: {exc}; say with --scenario where they are now") from exc
    wanted = {row.scenario_id for row in run.rows}
    return {scenario.id: scenario for scenario in found if scenario.id in wanted}


async def _perform(
    request: RescoreRequest,
    run: StoredRun,
    scenarios: Mapping[str, Scenario],
    scoring: Scoring | None,
    environ: Mapping[str, str],
) -> RescoreResult:
    redactor = Redactor(scoring.secrets if scoring else ())
    number = free_number(run.folder)
    file = run.folder / rows_file(number)
    results: dict[str, Rescored] = {}
    async with _open_desk(request, run, scenarios, scoring, environ, redactor, number) as desk:
        log = LogFile(file, redactor)
        try:
            async with interruptible(), anyio.create_task_group() as workers:
                waiting = iter(run.rows)
                for _ in range(min(request.concurrency, len(run.rows))):
                    workers.start_soon(_work, waiting, desk, redactor, log, results)
        finally:
            log.close()
    done = [results[row.trial] for row in run.rows if row.trial in results]
    if request.replace and len(done) == len(run.rows):
        _append(run.folder / ROWS, [result.after for result in done if result.after], redactor)
    return RescoreResult(
        run=run,
        file=file,
        results=done,
        scorer=scoring.name if scoring else None,
        replaced=request.replace and len(done) == len(run.rows),
    )


async def _work(
    waiting: Iterator[ProfileRow], desk: Desk, redactor: Redactor, log: LogFile, results: dict[str, Rescored]
) -> None:
    for row in waiting:
        result = await rescore(row, desk)
        if result.after:
            result = replace(result, after=without_secrets(result.after, redactor))
            assert result.after is not None
            log.write(result.after.to_json() + b"\n")
        results[row.trial] = result


@asynccontextmanager
async def _open_desk(
    request: RescoreRequest,
    run: StoredRun,
    scenarios: Mapping[str, Scenario],
    scoring: Scoring | None,
    environ: Mapping[str, str],
    redactor: Redactor,
    number: int,
) -> AsyncIterator[Desk]:
    """Open the scorer, with a sandbox and a scratch folder of its own."""
    home, clock = Home.find(environ), Clock()
    plugins = load_plugins(request.plugins)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context((await choose_sandbox(request.sandbox)).sandbox)
        toolchains = Toolchains(home)
        scratch = stack.enter_context(scratch_folder(home, "score"))
        scorer: Scorer | None = None
        if scoring:
            prices = find_own_prices(request.prices, environ)
            scorer = await stack.enter_async_context(
                scoring.open(sandbox=sandbox, toolchains=toolchains, clock=clock, redactor=redactor, prices=prices)
            )
        yield Desk(
            run=run,
            scenarios=scenarios,
            changed_scenarios=request.changed_scenarios,
            scorer=scorer,
            needs_workspace=scoring is not None and scoring.needs_workspace,
            sandbox=sandbox,
            toolchains=toolchains,
            scratch=scratch,
            clock=clock,
            number=number,
            collectors=plugins.collectors,
            analyzers=plugins.analyzers,
        )


def rows_file(number: int) -> str:
    """Return the name of the file with the rows of a run's n-th scoring."""
    return f"rows.rescored-{number}.jsonl"


def free_number(folder: Path) -> int:
    """Return the number of the run's next scoring, from 1."""
    number = 1
    while (folder / rows_file(number)).exists():
        number += 1
    return number


def _append(path: Path, rows: Sequence[ProfileRow], redactor: Redactor) -> None:
    """Append rows to the run's own: of each trial the last one counts."""
    log = LogFile(path, redactor)
    try:
        log.write(b"".join(row.to_json() + b"\n" for row in rows))
    finally:
        log.close()
