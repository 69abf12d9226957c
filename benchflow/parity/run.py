"""A whole comparison: looks up what was asked for, runs both sides at the same time, and compares them."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from benchflow.errors import InputError, TrialError, first_cause
from benchflow.gateway.upstreams.opening import open_upstream
from benchflow.hosting.backend import OWN_BACKEND
from benchflow.hosting.launch import required_values
from benchflow.install import Install, ensure_installed, find_install
from benchflow.machine.liveness import claim
from benchflow.parity.capture import Capture, NotRun
from benchflow.parity.comparison import Parity, compare
from benchflow.parity.hosted import read_run, run_inside
from benchflow.parity.keeping import check_places
from benchflow.parity.local import local_of
from benchflow.parity.request import SCENARIOS, ParityRequest, Subject, look_up
from benchflow.parity.vanilla import Driven, Vanilla
from benchflow.report.terminal import say
from benchflow.runner.interrupt import EXIT_CODE
from benchflow.runner.request import RunRequest
from benchflow.sandbox.process import ProcessSandbox
from benchflow.workspaces.snapshot import remove_tree
from benchflow.workspaces.toolchain import Toolchains

ELSEWHERE = "-elsewhere"
"""Makes each run's folder longer than the one before: an agent that cuts or counts texts with its paths in them differs
from itself in that, and so it is measured.
"""

Say = Callable[[str], None]
Captures = dict[str, list[Capture | NotRun]]
"""By the scenario's id."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """What came of a comparison, and what it is made of that can be kept."""

    subject: Subject
    parity: Parity
    alone: Captures


def run_sync(request: ParityRequest, environ: Mapping[str, str] = os.environ, say: Say = say) -> Done:
    """Compare. Raises InputError; ends the program where it is interrupted."""
    subject = look_up(request, environ)
    check_places(subject)
    try:
        done = anyio.run(perform, subject, say)
    except BaseExceptionGroup as group:
        raise first_cause(group) from group
    if done is None:
        say("interrupted; nothing was compared")
        sys.exit(EXIT_CODE)
    return done


async def perform(subject: Subject, say: Say) -> Done | None:
    """Install the agent if that is needed, run both sides, and compare what was captured. None: it was interrupted."""
    install = await _install(subject, say)
    begun = time.monotonic()
    subject.home.scratch.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="parity-", dir=subject.home.scratch))
    claim(scratch)
    try:
        captures = await _both(subject, install, scratch, say)
        if captures is None:
            return None
        alone, inside = captures
        parity = await anyio.to_thread.run_sync(_compared, subject, alone, inside, begun)
        return Done(subject=subject, parity=parity, alone=alone)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove_tree, scratch)


async def _both(subject: Subject, install: Install, scratch: Path, say: Say) -> tuple[Captures, Captures] | None:
    """Run both sides at the same time, or the agent inside alone where the other side is kept.

    None: the run inside was interrupted.
    """
    alone: Captures = {scenario.id: [*subject.fixtures.get(scenario.id, ())] for scenario in subject.scenarios}
    inside: Captures = {}
    whole = True

    async def run_hosted() -> None:
        result = await run_inside(_hosted_request(subject, scratch / "runs"), subject.environ, say)
        if result.summary.missing:
            nonlocal whole
            whole = False
            tasks.cancel_scope.cancel()
        else:
            inside.update(await read_run(result, subject.scenarios))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_hosted)
        if not subject.fixtures:
            await _run_alone(subject, install, scratch, alone)
    return (alone, inside) if whole else None


async def _run_alone(subject: Subject, install: Install, scratch: Path, into: Captures) -> None:
    upstream = open_upstream("oracle", None, subject.environ, default_model=subject.agent.default_model)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(ProcessSandbox())
        stack.push_async_callback(upstream.upstream.aclose)
        vanilla = Vanilla(
            manifest=subject.hosted,
            install=install,
            upstream=upstream,
            environ=subject.environ,
            sandbox=sandbox,
            toolchains=Toolchains(subject.home),
            secrets=_secrets(subject),
            backend=subject.backend,
            timeout_s=subject.request.timeout_s,
        )
        async with anyio.create_task_group() as scoring:  # the next run need not wait for the last one's score
            for scenario in subject.scenarios:
                for number in range(subject.request.runs_alone):
                    folder = scratch / f"{scenario.id}{ELSEWHERE * number}"
                    try:
                        driven = await vanilla.drive(scenario, folder)
                    except TrialError as error:
                        into[scenario.id].append(_not_run(error))
                    else:
                        scoring.start_soon(_capture, driven, folder, into[scenario.id])


async def _capture(driven: Driven, folder: Path, into: list[Capture | NotRun]) -> None:
    try:
        into.append(await driven.captured())
    except TrialError as error:
        into.append(_not_run(error))
    await anyio.to_thread.run_sync(remove_tree, folder)


def _not_run(error: TrialError) -> NotRun:
    return NotRun(where="alone", reason=f"{error.code}: {error}")


def _secrets(subject: Subject) -> tuple[str, ...]:
    own = required_values(subject.hosted, subject.environ).values()
    return (*own, *(subject.backend.secrets() if subject.backend else ()))


def _hosted_request(subject: Subject, out: Path) -> RunRequest:
    request = subject.request
    return RunRequest(
        agents=(request.agent,),
        scenarios=request.scenarios or SCENARIOS,
        repetitions=request.repeat,
        upstream=None if subject.backend else "oracle",
        own_backend=subject.backend is not None,
        sandbox=request.sandbox,
        timeout_s=request.timeout_s,
        agents_dir=request.agents_dir,
        out=out,
        keep="always",
    )


async def _install(subject: Subject, say: Say) -> Install:
    """Return the agent's install, made first if it is not there; an agent that does not install cannot be compared."""
    found = find_install(subject.agent, subject.home)
    if found:
        return found
    say(f"installing {subject.agent.label}; this is done once")
    try:
        async with ProcessSandbox() as sandbox:
            return await ensure_installed(subject.agent, home=subject.home, sandbox=sandbox, environ=subject.environ)
    except TrialError as error:
        raise InputError(f"{subject.agent.label}: {error}") from error


def _compared(subject: Subject, alone: Captures, inside: Captures, begun: float) -> Parity:
    request = subject.request
    inside = _as_kept(subject, inside) if subject.fixtures else inside
    scenarios = tuple(
        compare(
            alone[scenario.id],
            inside.get(scenario.id, []),
            scenario=scenario.id,
            scenario_digest=scenario.digest,
            captured=subject.captured,
            without=request.without,
            margin=request.margin,
        )
        for scenario in subject.scenarios
    )
    every = [each for runs in (*alone.values(), *inside.values()) for each in runs if isinstance(each, Capture)]
    return Parity(
        agent=subject.agent.label,
        agent_version=next((each.agent_version for each in every if each.agent_version), None),
        agent_digest=subject.agent.digest,
        isolation=next((each.isolation for each in every if each.isolation), None),
        upstream=OWN_BACKEND if subject.backend else "oracle",
        without=request.without,
        margin=request.margin,
        scenarios=scenarios,
        took_s=round(time.monotonic() - begun, 3),
        kept=bool(subject.fixtures),
    )


def _as_kept(subject: Subject, inside: Captures) -> Captures:
    """Take out of the runs inside what was taken out of the fixtures; an agent of another version has none."""
    local = local_of(subject.home, subject.environ)

    def kept(scenario: str, run: Capture | NotRun) -> Capture | NotRun:
        version = subject.fixtures[scenario][0].agent_version
        if isinstance(run, Capture) and run.agent_version != version:
            reason = f"the fixture is stale: it is of version {version}, and this agent is of {run.agent_version}"
            return NotRun(where="inside", reason=reason)
        return local.hide(run) if isinstance(run, Capture) else run

    return {scenario: [kept(scenario, run) for run in runs] for scenario, runs in inside.items()}
