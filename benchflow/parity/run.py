"""A whole comparison: looks up what was asked for, runs both sides at the same time, and compares them."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from benchflow.errors import InputError, TrialError, first_cause
from benchflow.gateway.neutral import RULES
from benchflow.gateway.upstreams.opening import open_upstream
from benchflow.hosting.backend import OWN_BACKEND, OwnBackend, read_backend
from benchflow.hosting.launch import required_values
from benchflow.install import Install, ensure_installed, find_install
from benchflow.machine.home import Home
from benchflow.machine.liveness import claim
from benchflow.manifest import Manifest
from benchflow.model import suggest
from benchflow.parity.capture import Capture, NotRun
from benchflow.parity.comparison import Parity, compare
from benchflow.parity.hosted import read_run, run_inside
from benchflow.parity.outcome import MARGIN
from benchflow.parity.vanilla import Driven, Vanilla
from benchflow.registry import Registry
from benchflow.report.terminal import say
from benchflow.runner.interrupt import EXIT_CODE
from benchflow.runner.request import RunRequest
from benchflow.sandbox.choose import Wish
from benchflow.sandbox.process import ProcessSandbox
from benchflow.scenario import Scenario, find_scenarios
from benchflow.workspaces.snapshot import remove_tree
from benchflow.workspaces.toolchain import Toolchains

SCENARIOS = ("fix-failing-test", "rename-across-package", "reconcile-inventory")
"""Compared where the user names none: real work in code over one and over many files, and data over two prompts."""
ALONE = 2
"""The least number of runs alone: fewer show no noise."""

ELSEWHERE = "-elsewhere"
"""Makes each run's folder longer than the one before: an agent that cuts or counts texts with its paths in them differs
from itself in that, and so it is measured.
"""

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ParityRequest:
    """What a user asks `benchflow parity` for. The meanings stand in its `--help`."""

    agent: str
    scenarios: tuple[str, ...] = ()
    repeat: int = 1
    without: tuple[str, ...] = ()
    margin: float = MARGIN
    sandbox: Wish = "auto"
    timeout_s: float | None = None
    agents_dir: Path | None = None

    def __post_init__(self) -> None:
        for name in self.without:
            if name not in RULES:
                raise InputError(f"--without {name}: no such rule; {suggest(name, RULES)}")
        if not 0 < self.margin <= 1:
            raise InputError(f"--margin {self.margin:g}: a difference of scores, above 0 and up to 1")

    @property
    def runs_alone(self) -> int:
        """How often the agent runs alone on each scenario."""
        return max(ALONE, self.repeat)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a request comes to on this machine."""

    request: ParityRequest
    home: Home
    environ: Mapping[str, str]
    agent: Manifest
    scenarios: Sequence[Scenario]
    backend: OwnBackend | None
    """Its own, where its model calls are not routed."""

    @property
    def captured(self) -> bool:
        """Its model calls can be compared."""
        return self.backend is None and self.agent.api_protocol is not None

    @property
    def hosted(self) -> Manifest:
        """The manifest as it is run."""
        return self.backend.manifest if self.backend else self.agent


def run_sync(request: ParityRequest, environ: Mapping[str, str] = os.environ, say: Say = say) -> Parity:
    """Compare. Raises InputError; ends the program where it is interrupted."""
    subject = look_up(request, environ)
    try:
        parity = anyio.run(perform, subject, say)
    except BaseExceptionGroup as group:
        raise first_cause(group) from group
    if parity is None:
        say("interrupted; nothing was compared")
        sys.exit(EXIT_CODE)
    return parity


def look_up(request: ParityRequest, environ: Mapping[str, str]) -> Subject:
    """Find the agent and the scenarios. Raises InputError."""
    agent = Registry.open(agents_dir=request.agents_dir, environ=environ).find(request.agent)
    scenarios = find_scenarios(request.scenarios or SCENARIOS)
    own = agent.backend is not None and agent.api_protocol is None
    if not own and (unplayable := [scenario.id for scenario in scenarios if scenario.solution is None]):
        raise InputError(
            f"{', '.join(unplayable)}: without a [solution] there is nothing that both sides could be told"
        )
    return Subject(
        request=request,
        home=Home.find(environ),
        environ=environ,
        agent=agent,
        scenarios=scenarios,
        backend=read_backend(agent, environ) if own else None,
    )


async def perform(subject: Subject, say: Say) -> Parity | None:
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
        return await anyio.to_thread.run_sync(_compared, subject, alone, inside, begun)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove_tree, scratch)


Captures = dict[str, list[Capture | NotRun]]
"""By the scenario's id."""


async def _both(subject: Subject, install: Install, scratch: Path, say: Say) -> tuple[Captures, Captures] | None:
    """Run both sides at the same time. None: the run inside was interrupted."""
    alone: Captures = {scenario.id: [] for scenario in subject.scenarios}
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
    )
