"""A whole run: what was looked up is opened, run to rows, and closed again, whatever happens."""

import gc
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from benchflow.clock import Clock
from benchflow.errors import InputError, first_cause
from benchflow.machine.leftovers import end_leftovers
from benchflow.redact import Redactor
from benchflow.report.numbers import plural
from benchflow.report.progress import open_progress
from benchflow.report.terminal import say
from benchflow.row import ProfileRow
from benchflow.runner.describe import describe_run
from benchflow.runner.folder import RunFolder
from benchflow.runner.former import FormerPart
from benchflow.runner.gate import GateVerdict, Summary, summarize
from benchflow.runner.interrupt import interruptible
from benchflow.runner.judged import judge_rows, open_base
from benchflow.runner.lookup import Job, look_up
from benchflow.runner.matrix import describe_matrix
from benchflow.runner.opening import Say, Site, open_lines, open_scorer, open_stages, require_upstreams
from benchflow.runner.plan import Trial
from benchflow.runner.profile import ProfileRunner
from benchflow.runner.repeating import Standing
from benchflow.runner.request import RunRequest
from benchflow.runner.same import version_notes
from benchflow.runner.scratch import Scratch
from benchflow.sandbox.choose import Choice, choose_sandbox
from benchflow.workspaces.toolchain import Toolchains

if TYPE_CHECKING:
    from benchflow.runner.resuming import Resumed


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run came to."""

    run_id: str
    run_dir: Path
    rows: Sequence[ProfileRow]
    """In the plan's order; what was interrupted has none."""
    summary: Summary
    exit_code: int
    verdicts: Sequence[GateVerdict] = ()
    """Of the gates that were asked for."""


def run_sync(
    request: RunRequest, environ: Mapping[str, str] = os.environ, *, resumed: "Resumed | None" = None
) -> RunResult:
    """Run it all, or what a run lacks. Raises InputError, before any agent is started where that is possible."""
    job = look_up(request, environ)
    base = open_base(job)
    if resumed and base and base.run and base.run.id == resumed.run.id:
        raise InputError(f"--fail-on-regression {base.name}: is the run that is resumed; name the one before it")
    try:
        result = anyio.run(perform, job, say, resumed)
    except BaseExceptionGroup as group:
        raise first_cause(group) from group
    verdicts = judge_rows(request.gate, result.summary, result.rows, base)
    return replace(result, verdicts=verdicts, exit_code=request.gate.exit_code(result.summary, verdicts))


async def perform(job: Job, say: Say, resumed: "Resumed | None" = None) -> RunResult:
    """Open everything that the job needs, run its trials, and close it all again."""
    for line in dict.fromkeys(line for arm in job.arms for line in (*arm.agent.warnings, arm.upstream.note)):
        if line:
            say(line)
    for note in job.budget_notes:
        say(note)
    await require_upstreams(job)
    async with AsyncExitStack() as stack:
        choice = await choose_sandbox(job.request.sandbox)
        await stack.enter_async_context(choice.sandbox)
        if job.request.sandbox == "auto":
            say(f"sandbox: {choice.sandbox.isolation} ({choice.reason})")
        plan = job.plan(choice.sandbox.isolation)
        if matrix := describe_matrix(job, plan):
            say(matrix)
        site = await _open_site(job, choice, plan, resumed, say, stack)
        lines = await open_lines(site, stack)
        scorer = await open_scorer(site, stack)
        runner = ProfileRunner(
            folder=site.folder,
            stages=open_stages(site, lines, scorer),
            progress=site.progress,
            concurrency=job.request.concurrency,
            canary=job.request.canary,
            hooks=job.plugins.hooks,
            say=say,
            max_cost_usd=job.request.max_cost_usd,
            until=job.until,
            rows=dict(site.former.rows),
            former=site.former.tries,
        )
        gc.freeze()  # the modules and what a run opens once: looking through it again and again costs 1.5 ms a trial
        async with interruptible():
            await runner.run(plan)
        now = runner.standing(plan)
        if now.adaptive:
            from benchflow.report.settled import settled_lines  # most runs have a fixed number of repetitions

            site.folder.write_adaptive(now.adaptive)
            for line in settled_lines(now.adaptive):
                say(line)
    for note in version_notes(runner.rows.values()):
        say(note)
    for miss in dict.fromkeys(miss for arm in job.arms for miss in arm.upstream.misses):
        say(miss)
    halts = list(dict.fromkeys(line.key.refusal for line in lines.values() if line.key.refusal))
    if len(runner.rows) < len(now.wanted) and runner.overspent:
        say(runner.overspent)
        halts.append(runner.overspent)
    return _result(job, site.folder, runner.done(plan), now, halted="; ".join(halts) or None)


async def _open_site(
    job: Job, choice: Choice, plan: Sequence[Trial], resumed: "Resumed | None", say: Say, stack: AsyncExitStack
) -> Site:
    """Make the run's folders, or take those that it has, and say in run.json what it is. `stack` closes all of it."""
    description, redactor = (
        describe_run(job, plan, isolation=choice.sandbox.isolation, reason=choice.reason),
        Redactor(job.secrets),
    )
    if resumed is None:
        clock, former = Clock(), FormerPart()
        folder = stack.enter_context(RunFolder.create(job.request.out, job.label, clock, redactor))
        folder.write_description({**description, "clock": {"wall_ns": clock.wall_ns}})
    else:
        resumed.require_same(description)
        clock = resumed.clock()
        folder = stack.enter_context(RunFolder(resumed.run.folder, clock, redactor))
        former = resumed.former_part()
        folder.write_description(resumed.describe(job.request.options))
        await end_leftovers(job.home.scratch / folder.run_id)
        say(f"resuming {folder.run_id}: {plural(len(former.rows), 'trial')} of it ended before")
    toolchains = Toolchains(job.home)
    return Site(
        job=job,
        sandbox=choice.sandbox,
        toolchains=toolchains,
        scratch=stack.enter_context(Scratch(job.home.scratch / folder.run_id, choice.sandbox, toolchains)),
        folder=folder,
        clock=clock,
        progress=stack.enter_context(open_progress(len(plan) - len(former.rows))),
        say=say,
        former=former,
    )


def _result(job: Job, folder: RunFolder, rows: Sequence[ProfileRow], now: Standing, *, halted: str | None) -> RunResult:
    summary = summarize(
        rows, planned=len(now.wanted), upstream=job.upstream_label, halted=halted, adaptive=now.adaptive
    )
    return RunResult(
        run_id=folder.run_id,
        run_dir=folder.path,
        rows=rows,
        summary=summary,
        exit_code=job.request.gate.exit_code(summary),
    )
