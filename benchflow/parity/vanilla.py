"""Captures an agent standalone: its model calls go straight to a plain recording of the upstream, and nowhere else."""

import secrets
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from benchflow.clock import Clock
from benchflow.contracts import ScorerContext
from benchflow.errors import TrialError
from benchflow.gateway.gateway import LOG, find_dialect
from benchflow.gateway.http.server import serve
from benchflow.gateway.prices import Pricing
from benchflow.gateway.records.ledger import Ledger
from benchflow.gateway.records.recording import Recording
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.opening import OpenedUpstream
from benchflow.hosting.backend import OwnBackend
from benchflow.hosting.bridge import Bridge
from benchflow.hosting.equipment import DEFAULT_DIALECT
from benchflow.hosting.launch import LaunchValues
from benchflow.install import Install
from benchflow.log import LogFile
from benchflow.manifest import Manifest
from benchflow.parity.capture import Capture, Result, Setting
from benchflow.parity.conversation import Conversation
from benchflow.parity.driver import Driver, Refused
from benchflow.parity.reading import read_files, read_requests, read_stops, read_tools
from benchflow.parity.standalone import Standalone
from benchflow.redact import Redactor
from benchflow.sandbox.interface import Folders, Inside, Sandbox
from benchflow.scenario import Scenario
from benchflow.scorers.checks import ChecksScorer
from benchflow.store import ACP_LOG, STDERR_LOG
from benchflow.trace import build_trace
from benchflow.workspaces.toolchain import Toolchain, Toolchains
from benchflow.workspaces.workspace import Workspace, prepare_workspace

TAIL = 400
"""Characters of the agent's stderr that stand beside its failure."""


@dataclass(frozen=True, kw_only=True)
class Vanilla:
    """What all standalone runs of one agent share."""

    manifest: Manifest
    """Without what points it at the gateway, where it runs on a backend of its own."""
    install: Install
    upstream: OpenedUpstream
    environ: Mapping[str, str]
    sandbox: Sandbox
    """For the scenario's set-up and its checks; the agent is in none."""
    toolchains: Toolchains
    secrets: tuple[str, ...] = ()
    backend: OwnBackend | None = None
    timeout_s: float | None = None
    """For all prompts of a run; None: the scenario's."""

    async def drive(self, scenario: Scenario, folder: Path) -> "Driven":
        """Run the agent on the scenario in the fresh folder. Raises TrialError where it cannot be run."""
        workspace = await prepare_workspace(scenario, folder, self.sandbox, self.toolchains)
        folders = Folders(workspace=workspace.path, home=folder / "home", tmp=folder / "tmp")
        logs = folder / "logs"
        for each in (folders.home, folders.tmp, logs):
            each.mkdir()
        run = Driven(self, scenario, workspace, folders, logs, await self.toolchains.of(scenario.tools))
        await run.drive()
        return run


class Driven:
    """One run: drives the agent, then, when that is dead, makes the capture of what was recorded."""

    def __init__(
        self,
        vanilla: Vanilla,
        scenario: Scenario,
        workspace: Workspace,
        folders: Folders,
        logs: Path,
        toolchain: Toolchain,
    ) -> None:
        self._vanilla = vanilla
        self._toolchain = toolchain
        self._scenario = scenario
        self._workspace = workspace
        self._folders = folders
        self._logs = logs
        self._clock = Clock()
        self._redactor = Redactor(vanilla.secrets)
        self._talk: Conversation | None = None
        self._port = 0
        self._took_s = 0.0
        self._began = datetime.now(UTC)

    async def drive(self) -> None:
        """Serve the upstream, start the agent, and send it the scenario's prompts."""
        ledger = Ledger(
            self._logs / LOG,
            clock=self._clock,
            redactor=self._redactor,
            upstream=self._vanilla.upstream.upstream.name,
            pricing=Pricing(bought=False),
            quirks=self._vanilla.manifest.quirks,
        )
        log = LogFile(self._logs / ACP_LOG, self._redactor)
        begun = time.monotonic()
        try:
            with socket.create_server(("127.0.0.1", 0)) as listening:
                listening.setblocking(False)
                self._port = listening.getsockname()[1]
                upstream = Recording(self._vanilla.upstream.upstream, ledger)
                async with serve(upstream, [listening], context=self._context()):
                    await self._with_agent(ledger, log)
        finally:
            self._took_s = round(time.monotonic() - begun, 3)
            log.close()
            ledger.close()
        if ledger.failure is not None:
            raise ledger.failure

    async def _with_agent(self, ledger: Ledger, log: LogFile) -> None:
        bridge = self._bridge()
        stderr = self._logs / STDERR_LOG
        try:
            async with self._standalone().running(stderr) as process:
                self._talk = self._conversation(Driver(process, log, self._clock), ledger)
                await self._talk.open(str(self._folders.workspace))
                for text in self._scenario.prompts:
                    async with bridge.turn() if bridge else nullcontext():
                        await self._talk.prompt(text)
        except Refused as refused:
            raise TrialError("handshake", str(refused)) from refused
        except TrialError as error:
            said = stderr.read_text("utf-8", "replace")[-TAIL:].strip() if stderr.exists() else ""
            raise TrialError(error.code, f"{error}; stderr: {said}" if said else str(error)) from error
        if bridge is not None:
            await bridge.collect()

    async def captured(self) -> Capture:
        """Score what the dead agent has left, and make the capture. Raises TrialError where it cannot be scored."""
        assert self._talk is not None
        vanilla, scenario = self._vanilla, self._scenario
        trace = build_trace(self._logs)
        context = ScorerContext(
            agent_output="\n".join(self._talk.said),
            workspace=self._workspace,
            trace=trace,
            mode="baseline",
            model=vanilla.upstream.model,
            iteration=0,
        )
        verdict = await ChecksScorer(vanilla.sandbox, vanilla.toolchains).evaluate(scenario, context)
        if verdict.error:
            raise TrialError("scorer", verdict.error)
        return Capture(
            where="alone",
            agent=vanilla.manifest.label,
            agent_digest=vanilla.manifest.digest,
            agent_version=self._talk.version,
            scenario=scenario.id,
            scenario_digest=scenario.digest,
            isolation=None,
            began=f"{self._began:%Y-%m-%dT%H:%M:%SZ}",
            took_s=self._took_s,
            setting=self._setting(),
            requests=await anyio.to_thread.run_sync(read_requests, self._logs),
            result=Result(
                score=verdict.score,
                success=verdict.success,
                stop_reasons=read_stops(trace),
                tools=read_tools(trace),
                files=await anyio.to_thread.run_sync(read_files, self._workspace.path),
            ),
        )

    def _setting(self) -> Setting:
        return Setting(
            workspace=str(self._folders.workspace),
            home=str(self._folders.home),
            tmp=str(self._folders.tmp),
            model=self._vanilla.upstream.model,
            port=self._port,
            prompts=tuple(self._scenario.prompts),
            day=f"{self._began:%Y-%m-%d}",
        )

    def _context(self) -> TrialContext:
        return TrialContext(
            trial="standalone",
            attempt=1,
            model=self._vanilla.upstream.model,
            prompts=self._scenario.prompts,
            solution=self._scenario.solution,
            scenario_id=self._scenario.id,
            workspace=str(self._folders.workspace),
            home=str(self._folders.home),
            tmp=str(self._folders.tmp),
            port=self._port,
        )

    def _standalone(self) -> Standalone:
        vanilla, address = self._vanilla, f"http://127.0.0.1:{self._port}"
        dialect = find_dialect(vanilla.manifest.api_protocol or DEFAULT_DIALECT)
        values = LaunchValues(
            base_url=address + dialect.base_path,
            gateway_url=address,
            api_key=f"sk-benchflow-{secrets.token_hex(16)}",
            model=vanilla.upstream.model,
            provider=vanilla.upstream.provider,
            agent_dir=str(vanilla.install.folder),
            home=str(self._folders.home),
            workspace=str(self._folders.workspace),
            python=sys.executable,
        )
        return Standalone(
            manifest=vanilla.manifest,
            install=vanilla.install,
            values=values,
            folders=self._folders,
            environ=vanilla.environ,
            toolchain=self._toolchain,
            backend=vanilla.backend,
        )

    def _conversation(self, driver: Driver, ledger: Ledger) -> Conversation:
        vanilla = self._vanilla
        return Conversation(
            driver,
            ledger,
            manifest=vanilla.manifest,
            provider=vanilla.upstream.provider,
            model=None if vanilla.backend and not vanilla.backend.model else vanilla.upstream.model,
            timeout_s=vanilla.timeout_s or self._scenario.budget.timeout_s,
        )

    def _bridge(self) -> Bridge | None:
        table, folders = self._vanilla.manifest.bridge, self._folders
        if table is None:
            return None
        place = Inside(workspace=str(folders.workspace), home=str(folders.home), tmp=str(folders.tmp))
        return Bridge.open(table, folders, place)
