"""A whole run: what was looked up is opened, run to rows, and closed again, whatever happens."""

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio

from benchflow.clock import Clock
from benchflow.contracts import Event
from benchflow.errors import first_cause
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.upstream import Upstream
from benchflow.gateway.wrapping.chain import build_chain
from benchflow.hosting.equipment import Equipment
from benchflow.install import Install, ensure_installed, find_install
from benchflow.provider import AcpProvider
from benchflow.redact import Redactor
from benchflow.report.progress import Progress, open_progress
from benchflow.report.terminal import say
from benchflow.row import ProfileRow
from benchflow.runner.describe import describe_run
from benchflow.runner.folder import RunFolder
from benchflow.runner.gate import Summary, summarize
from benchflow.runner.interrupt import interruptible
from benchflow.runner.lookup import Job, look_up
from benchflow.runner.plan import Trial
from benchflow.runner.profile import ProfileRunner
from benchflow.runner.request import RunRequest
from benchflow.runner.scratch import Scratch
from benchflow.runner.trial import Stage
from benchflow.sandbox.choose import choose_sandbox
from benchflow.sandbox.interface import Sandbox
from benchflow.sandbox.process import ProcessSandbox
from benchflow.scenario import BUNDLED
from benchflow.scorers.checks import ChecksScorer
from benchflow.workspaces.toolchain import Toolchains

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run came to."""

    run_id: str
    run_dir: Path
    rows: Sequence[ProfileRow]
    """In the plan's order; what was interrupted has none."""
    summary: Summary
    exit_code: int


def run_sync(request: RunRequest, environ: Mapping[str, str] = os.environ) -> RunResult:
    """Run it all. Raises InputError, before any agent is started where that is possible."""
    job = look_up(request, environ)
    try:
        return anyio.run(perform, job, say)
    except BaseExceptionGroup as group:
        raise first_cause(group) from group


async def perform(job: Job, say: Say) -> RunResult:
    """Open everything that the job needs, run its trials, and close it all again."""
    for line in (*job.agent.warnings, job.upstream.note):
        if line:
            say(line)
    await _require_upstream(job)
    clock, request = Clock(), job.request
    redactor = Redactor(job.secrets)
    async with AsyncExitStack() as stack:
        choice = await choose_sandbox(request.sandbox)
        sandbox = await stack.enter_async_context(choice.sandbox)
        if request.sandbox == "auto":
            say(f"sandbox: {sandbox.isolation} ({choice.reason})")
        plan = job.plan(sandbox.isolation)
        folder = stack.enter_context(RunFolder.create(request.out, job.agent.label, clock, redactor))
        folder.write_description(describe_run(job, plan, choice))
        toolchains = Toolchains(job.home)
        scratch = stack.enter_context(Scratch(job.home.scratch / folder.run_id, sandbox, toolchains))
        chain = build_chain(
            job.upstream.upstream,
            pace=request.pace,
            retries=request.retries,
            faults=request.faults,
            on_key_refused=lambda refusal: say(f"{refusal}; no further trial is started"),
            record=_recorder(job, redactor),
        )
        gateway = await stack.enter_async_context(
            Gateway(
                chain.upstream,
                clock=clock,
                redactor=redactor,
                strict_model=request.strict_model,
                prices=job.prices,
            )
        )
        progress = stack.enter_context(open_progress(len(plan)))
        provider = AcpProvider(equip=lambda: _equip(job, sandbox, gateway, clock, redactor, say))
        stage = Stage(
            provider=provider,
            scorer=ChecksScorer(sandbox, toolchains),
            workspaces=scratch,
            toolchains=toolchains,
            folder=folder,
            clock=clock,
            keep=request.keep,
            observers=lambda trial: (_Watcher(progress, trial),) if progress.watches else (),
            halted=lambda: chain.key.refusal,
        )
        gc.freeze()  # the modules and what a run opens once: looking through it again and again costs 1.5 ms a trial
        runner = ProfileRunner(folder=folder, stage=stage, progress=progress, concurrency=request.concurrency)
        async with interruptible():
            await runner.run(plan)
    for miss in job.upstream.misses:
        say(miss)
    return _result(job, folder, runner.done(plan), planned=len(plan), halted=chain.key.refusal)


def _recorder(job: Job, redactor: Redactor) -> Callable[[Upstream], Upstream] | None:
    """Return what records the run's cassette; None: it has none."""
    if job.request.record is None:
        return None
    from benchflow.runner.tape import recorder

    return recorder(job, job.request.record, redactor)


async def _require_upstream(job: Job) -> None:
    """Make sure that the upstream is there, and speaks what the agent does. Raises InputError."""
    if job.upstream.target:
        from benchflow.gateway.upstreams.spoken import require_spoken

        await require_spoken(job.upstream, job.agent.label, job.agent.api_protocol)


async def _equip(job: Job, sandbox: Sandbox, gateway: Gateway, clock: Clock, redactor: Redactor, say: Say) -> Equipment:
    return Equipment(
        manifest=job.backend.manifest if job.backend else job.agent,
        install=await _install(job, say),
        sandbox=sandbox,
        gateway=gateway,
        clock=clock,
        redactor=redactor,
        environ=job.environ,
        covers=(BUNDLED, *(scenario.folder for scenario in job.scenarios)),
        provider_name=job.upstream.provider,
        network="hosts" if job.backend else "gateway",
        backend=job.backend,
        require_capture=job.require_capture,
    )


async def _install(job: Job, say: Say) -> Install:
    """Install the agent, if it is not there yet. An install sees the machine: it may need its compilers."""
    found = None if job.request.reinstall else find_install(job.agent, job.home)
    if found:
        return found
    say(f"installing {job.agent.label}; this is done once")
    async with ProcessSandbox() as sandbox:
        install = await ensure_installed(
            job.agent, home=job.home, sandbox=sandbox, environ=job.environ, reinstall=job.request.reinstall
        )
    say(f"installed {job.agent.label} in {install.seconds:.1f} s; log: {install.log}")
    return install


def _result(job: Job, folder: RunFolder, rows: Sequence[ProfileRow], *, planned: int, halted: str | None) -> RunResult:
    summary = summarize(rows, planned=planned, upstream=job.upstream_label, halted=halted)
    return RunResult(
        run_id=folder.run_id,
        run_dir=folder.path,
        rows=rows,
        summary=summary,
        exit_code=job.request.gate.exit_code(summary),
    )


@dataclass(frozen=True)
class _Watcher:
    """Tells the progress of a run what an agent does."""

    progress: Progress
    trial: Trial

    async def on_event(self, event: Event) -> None:
        self.progress.trial_event(self.trial, event)
