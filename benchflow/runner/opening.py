"""Opens what the arms of a run need: a gateway for each upstream, and a stage for each arm's trials."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

from benchflow.clock import Clock
from benchflow.contracts import Event, Scorer, SessionProvider
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.upstream import Upstream
from benchflow.gateway.upstreams.opening import OpenedUpstream
from benchflow.gateway.wrapping.chain import build_chain
from benchflow.gateway.wrapping.keywatch import KeyWatch
from benchflow.hosting.equipment import Equipment
from benchflow.provider import AcpProvider
from benchflow.redact import Redactor
from benchflow.report.progress import Progress
from benchflow.runner.arm import Arm
from benchflow.runner.folder import RunFolder
from benchflow.runner.former import FormerPart
from benchflow.runner.installs import Installs
from benchflow.runner.lookup import Job
from benchflow.runner.plan import ArmName, Trial
from benchflow.runner.plugged import PluggedAgent
from benchflow.runner.stage import Stage, WorkspaceMaker
from benchflow.sandbox.interface import Sandbox
from benchflow.scenario import BUNDLED
from benchflow.workspaces.toolchain import Toolchains

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Site:
    """What all arms of a run share."""

    job: Job
    sandbox: Sandbox
    toolchains: Toolchains
    scratch: WorkspaceMaker
    folder: RunFolder
    clock: Clock
    progress: Progress
    say: Say
    former: FormerPart

    @property
    def redactor(self) -> Redactor:
        """Replaces secrets in all files of the run."""
        return self.folder.redactor


@dataclass(frozen=True, kw_only=True)
class Line:
    """An upstream of the run with its gateway, and whether it takes the key."""

    gateway: Gateway
    key: KeyWatch


async def require_upstreams(job: Job) -> None:
    """Make sure that the upstreams are there, and speak what their agents do. Raises InputError."""
    asked: set[tuple[str, str, str | None]] = set()
    for arm in job.arms:
        upstream, dialect = arm.upstream, arm.agent.api_protocol
        question = (upstream.label, upstream.model, dialect)
        if upstream.target and question not in asked:
            from benchflow.gateway.upstreams.spoken import require_spoken

            await require_spoken(upstream, arm.agent.label, dialect)
            asked.add(question)


async def open_lines(site: Site, stack: AsyncExitStack) -> dict[str, Line]:
    """Open a gateway for each upstream of the run's arms, by its label. `stack` closes them."""
    upstreams = {arm.upstream.label: arm.upstream for arm in site.job.arms}
    return {label: await _open_line(site, opened, stack) for label, opened in upstreams.items()}


async def _open_line(site: Site, opened: OpenedUpstream, stack: AsyncExitStack) -> Line:
    job, request = site.job, site.job.request
    others = len({arm.upstream.label for arm in job.arms}) > 1
    chain = build_chain(
        opened.upstream,
        pace=request.pace,
        retries=request.retries,
        faults=request.faults,
        on_key_refused=lambda refusal: site.say(
            f"{refusal}; no further trial {'with it ' if others else ''}is started"
        ),
        record=_recorder(job, site.redactor),
    )
    gateway = Gateway(
        chain.upstream,
        clock=site.clock,
        redactor=site.redactor,
        strict_model=request.strict_model,
        prices=job.prices,
    )
    return Line(gateway=await stack.enter_async_context(gateway), key=chain.key)


async def open_scorer(site: Site, stack: AsyncExitStack) -> Scorer:
    """Open the run's scorer. `stack` closes it."""
    job = site.job
    return await stack.enter_async_context(
        job.scoring.open(
            sandbox=site.sandbox,
            toolchains=site.toolchains,
            clock=site.clock,
            redactor=site.redactor,
            prices=job.prices,
        )
    )


def open_stages(site: Site, lines: Mapping[str, Line], scorer: Scorer) -> dict[ArmName, Stage]:
    """Make the stage of each arm."""
    job = site.job
    installs = Installs(job.home, job.environ, reinstall=job.request.reinstall, say=site.say)
    return {arm.name: _stage(site, arm, lines[arm.upstream.label], installs, scorer) for arm in job.arms}


def _stage(site: Site, arm: Arm, line: Line, installs: Installs, scorer: Scorer) -> Stage:
    return Stage(
        provider=_provider(site, arm, line, installs),
        scorer=scorer,
        workspaces=site.scratch,
        toolchains=site.toolchains,
        folder=site.folder,
        clock=site.clock,
        keep=site.job.request.keep,
        collectors=site.job.plugins.collectors,
        analyzers=site.job.plugins.analyzers,
        observers=lambda trial: (_Watcher(site.progress, trial),) if site.progress.watches else (),
        halted=lambda: line.key.refusal,
    )


def _provider(site: Site, arm: Arm, line: Line, installs: Installs) -> SessionProvider:
    agent, job = arm.agent, site.job
    if isinstance(agent, PluggedAgent):
        return _plugged(site, arm, agent, line)

    async def equip() -> Equipment:
        return Equipment(
            manifest=arm.backend.manifest if arm.backend else agent,
            install=await installs.get(agent),
            sandbox=site.sandbox,
            gateway=line.gateway,
            clock=site.clock,
            redactor=site.redactor,
            environ=job.environ,
            covers=(BUNDLED, *(scenario.folder for scenario in job.scenarios)),
            provider_name=arm.upstream.provider,
            network="hosts" if arm.backend else "gateway",
            mode=arm.mode,
            backend=arm.backend,
            require_capture=arm.require_capture,
        )

    return AcpProvider(equip=equip)


def _plugged(site: Site, arm: Arm, agent: PluggedAgent, line: Line) -> SessionProvider:
    """Make a provider of the user's, with a place at the gateway for each session if that is where it asks."""
    from benchflow.hosting.captured import CapturedProvider  # most runs have an agent
    from benchflow.hosting.foreign import ForeignProvider

    if not agent.asks_gateway:
        return ForeignProvider(agent.make(), say=site.say, redactor=site.redactor)
    return CapturedProvider(
        provider=ForeignProvider(agent.make(), say=site.say),
        gateway=line.gateway,
        clock=site.clock,
        redactor=site.redactor,
        require_capture=arm.require_capture,
    )


def _recorder(job: Job, redactor: Redactor) -> Callable[[Upstream], Upstream] | None:
    """Return what records the run's cassette; None: it has none."""
    if job.request.record is None:
        return None
    from benchflow.runner.tape import recorder

    return recorder(job, job.request.record, redactor)


@dataclass(frozen=True)
class _Watcher:
    """Tells the progress of a run what an agent does."""

    progress: Progress
    trial: Trial

    async def on_event(self, event: Event) -> None:
        self.progress.trial_event(self.trial, event)
