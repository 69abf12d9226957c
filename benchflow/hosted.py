"""One hosted session: an agent's process in a sandbox, its model calls at a tap of the gateway, and the ACP client.

This is where the three meet; none of them knows the others.
"""

import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import anyio

from benchflow import metering
from benchflow.broadcast import Broadcast
from benchflow.clock import Clock, Stamp
from benchflow.contracts import (
    CreateSessionParams,
    EventType,
    Fault,
    LimitHit,
    PermissionConfig,
    PromptMetrics,
    PromptResult,
    SessionFacts,
    TimingBreakdown,
    ToolCallBreakdown,
)
from benchflow.errors import TrialError
from benchflow.gateway.gateway import Gateway, Tap, find_dialect
from benchflow.gateway.message import Exchange
from benchflow.gateway.upstream import TrialContext
from benchflow.install import Install
from benchflow.launch import LaunchValues, agent_environment, canonical_variables, launch_argv, write_home
from benchflow.log import LogFile
from benchflow.manifest import Manifest
from benchflow.outcome import exchange_fault
from benchflow.redact import Redactor
from benchflow.sandbox.interface import Folders, LaunchSpec, Network, Sandbox, SandboxedProcess
from benchflow.session.background import Background
from benchflow.session.session import AcpClient
from benchflow.stderr import StderrLog
from benchflow.trajectory import ACP_LOG, exchange_moments
from benchflow.workspace import Workspace

GATEWAY_PORT = 4141
"""Where the agent finds the gateway, in a sandbox with a loopback of its own."""
DEFAULT_DIALECT = "openai-completions"
"""Whose base URL an agent is given that declares no dialect."""
DRAIN_S = 5.0
"""How long what a dead agent left in the pipe of its stderr may take to be read."""
STOP_GRACE_S = 2.0
"""How long an agent may take to leave once its stdin is closed, and again once it got SIGTERM."""


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """What all sessions of one agent share."""

    manifest: Manifest
    install: Install
    sandbox: Sandbox
    gateway: Gateway
    clock: Clock
    redactor: Redactor
    environ: Mapping[str, str]
    """The user's environment, of which only what the manifest names reaches the agent."""
    covers: tuple[Path, ...]
    """Folders of scenarios, which must look empty to the agent although what it needs may contain them."""
    provider_name: str
    """What stands before the model's name, for agents that want it there."""
    network: Network = "gateway"
    require_capture: bool = True


class HostedSession:
    """A running agent with one open session. Made by `open`; `stop` ends the process, `destroy` frees the rest."""

    def __init__(self, equipment: Equipment, params: CreateSessionParams) -> None:
        self._equipment = equipment
        self._params = params
        self._broadcast = Broadcast(params.observers)
        self._stderr = StderrLog(self._log("stderr.log"))
        self._acp_log = self._log(ACP_LOG)
        self._tasks = Background(lambda _: None)
        self._segments: dict[str, float] = {}
        self._texts: list[str] = []
        self._prompts = 0
        self._process: SandboxedProcess | None = None
        self._tap: Tap | None = None
        self._client: AcpClient | None = None
        self._agent_version: str | None = None
        self._model_choice: dict[str, Any] = {}

    @classmethod
    async def open(cls, equipment: Equipment, params: CreateSessionParams) -> Self:
        """Start the agent, and open a session with it. Nothing is left behind when this fails or is cancelled.

        Raises TrialError: `sandbox`, `launch`, `setup`, `handshake`, `auth`, `model`.
        """
        session = cls(equipment, params)
        try:
            await session._launch()
            await session._greet()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await session.stop()
            raise
        return session

    @property
    def id(self) -> str:
        """The agent's name for the session."""
        return self._broadcast.session_id

    @property
    def workspace(self) -> Workspace:
        """What the agent works in."""
        return self._params.workspace

    @property
    def folder(self) -> Path:
        """Where its logs are."""
        return self._params.folder

    async def prompt(self, text: str, timeout_s: float | None) -> PromptResult:
        """Send a prompt and wait for its end, or for the end of its budget. The agent's failures are results."""
        assert self._client is not None
        assert self._tap is not None
        self._texts.clear()
        self._prompts += 1
        self._tap.prompt_sent(text)
        begun = time.monotonic()
        try:
            outcome = await self._client.prompt([text], timeout_s)
        except TrialError as error:
            return self._result(begun, error=error)
        finally:
            self._tap.prompt_answered()
        return self._result(begun, stop_reason=outcome.stop_reason, allowed_s=timeout_s if outcome.timed_out else None)

    async def stop(self) -> None:
        """End the agent and all that it started; then take what is on its way to the logs. May be called again."""
        if self._process is not None:
            await self._process.stop(STOP_GRACE_S)
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
            self._client = None
        if self._tap is not None:
            await self._tap.close()
        await self._tasks.settle(DRAIN_S)
        await self._broadcast.aclose()
        self._stderr.close()
        self._acp_log.close()

    def facts(self) -> SessionFacts:
        """Return what was measured so far."""
        exchanges = self._exchanges
        return SessionFacts(
            agent_version=self._agent_version,
            model_served=metering.model_served(exchanges),
            isolation=self._equipment.sandbox.isolation,
            tokens=metering.total_tokens(exchanges),
            cost=metering.total_cost(exchanges),
            exchanges=metering.count(exchanges),
            segments={**self._segments, "model": metering.model_ms(exchanges)},
            fault=self._fault(),
            extensions={"by_role": metering.by_role(exchanges), "model": self._model_choice},
        )

    async def _launch(self) -> None:
        """Start the agent's process, with its own HOME, and the gateway at its side."""
        kit, params = self._equipment, self._params
        base = params.workspace.path.parent
        folders = Folders(workspace=params.workspace.path, home=base / "home", tmp=base / "tmp")
        folders.home.mkdir()
        folders.tmp.mkdir()
        inside = kit.sandbox.inside(folders)
        socket = kit.sandbox.socket("tcp", GATEWAY_PORT, kit.network)
        values = LaunchValues(
            base_url=f"http://127.0.0.1:{socket.port}{find_dialect(kit.manifest.api_protocol or DEFAULT_DIALECT).base_path}",
            api_key=f"sk-benchflow-{secrets.token_hex(16)}",
            model=params.model,
            provider=kit.provider_name,
            agent_dir=str(kit.install.folder),
            home=inside.home,
            workspace=inside.workspace,
            python=sys.executable,
        )
        variables = canonical_variables(kit.manifest, values)
        write_home(kit.manifest, variables, folders.home)
        toolchain = params.toolchain
        entries = toolchain.agent_path(kit.install.path_entries) if toolchain else kit.install.path_entries
        spec = LaunchSpec(
            argv=launch_argv(kit.manifest, variables),
            env=agent_environment(kit.manifest, variables, path=":".join(entries), tmp=inside.tmp, environ=kit.environ),
            folders=folders,
            binds=(*kit.install.binds, *(toolchain.binds if toolchain else ())),
            covers=kit.covers,
            network=kit.network,
            sockets=(socket,),
        )
        with self._timed("launch"):
            self._process = process = await kit.sandbox.start(spec)
        if process.stderr is not None:
            self._tasks.start(self._stderr.drain(process.stderr))
        context = TrialContext(
            trial=params.trial,
            attempt=params.attempt,
            model=params.model,
            prompts=params.prompts,
            solution=params.solution,
            iteration=params.iteration,
            scenario_id=params.scenario_id,
            workspace=inside.workspace,
        )
        self._tap = await kit.gateway.attach(
            process.sockets[0],
            context,
            folder=params.folder,
            quirks=kit.manifest.quirks,
            on_exchange=self._exchange_ended,
        )

    async def _greet(self) -> None:
        """Shake hands, open the session, and choose the model where the agent offers that."""
        kit, process = self._equipment, self._process
        assert process is not None
        self._client = AcpClient(
            process.stdin,
            process.stdout,
            log=self._acp_log,
            clock=kit.clock,
            permissions=self._permissions(),
            on_event=self._saw,
            exited=process.exited,
            stderr_tail=lambda: self._stderr.tail,
        )
        with self._timed("handshake"):
            await self._client.__aenter__()
            info = await self._client.initialize()
            self._agent_version = info.version
            opened = await self._client.new_session(process.inside.workspace, self._params.mcp_servers)
            self._broadcast.session_id = opened.id
            if kit.manifest.supports_acp_set_model:
                choice = await self._client.set_model(
                    self._params.model, kit.manifest.acp_model_format, provider=kit.provider_name
                )
                self._model_choice = asdict(choice)

    def _permissions(self) -> PermissionConfig:
        """The trial's policy, or the manifest's where the trial has none of its own."""
        own = self._equipment.manifest.permissions
        if self._params.permissions != PermissionConfig():
            return self._params.permissions
        return PermissionConfig(auto_approve=own.auto_approve, allowed_tools=own.allowed_tools)

    def _saw(self, kind: EventType, data: dict[str, Any], stamp: Stamp) -> None:
        """Take an event of the ACP session."""
        if kind == "agent_message":
            self._texts.append(str(data.get("text", "")))
        self._broadcast.send(kind, "acp", data, stamp)

    def _exchange_ended(self, exchange: Exchange) -> None:
        """Take an exchange that has ended."""
        for moment in exchange_moments(exchange):
            stamp = Stamp(ts=moment.ts, mono_ms=moment.mono_ms)
            self._broadcast.send(moment.type, moment.source, moment.data, stamp)

    def _result(
        self,
        begun: float,
        *,
        stop_reason: str | None = None,
        allowed_s: float | None = None,
        error: TrialError | None = None,
    ) -> PromptResult:
        """Make the result of a prompt; `allowed_s` is the budget that ended it, if one did."""
        wall_ms = round((time.monotonic() - begun) * 1000, 3)
        exchanges = self._exchanges
        limit = None
        if allowed_s is not None:
            limit = LimitHit(
                kind="timeout_s", allowed=allowed_s, used=wall_ms / 1000, phase="hard", counter="wall_clock"
            )
        return PromptResult(
            text="".join(self._texts),
            metrics=PromptMetrics(
                tokens=metering.total_tokens(exchanges),
                timing=TimingBreakdown(wall_ms=wall_ms),
                tool_calls=ToolCallBreakdown(),
                cost=metering.total_cost(exchanges),
            ),
            completion_reason="error" if error else "timeout" if limit else "stop",
            stop_reason=stop_reason,
            limit=limit,
            error=str(error) if error else None,
            error_code=error.code if error else None,
        )

    def _fault(self) -> Fault | None:
        """Say what the exchanges say went wrong; without a prompt there was nothing that could."""
        if self._tap is None or not self._prompts:
            return None
        failure = self._tap.failure
        if isinstance(failure, TrialError):
            return Fault(code=failure.code, message=str(failure))
        if failure is not None:
            raise failure
        return exchange_fault(self._tap.exchanges, require_capture=self._equipment.require_capture)

    @property
    def _exchanges(self) -> list[Exchange]:
        return self._tap.exchanges if self._tap else []

    def _log(self, name: str) -> LogFile:
        return LogFile(self._params.folder / name, self._equipment.redactor)

    @contextmanager
    def _timed(self, segment: str) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self._segments[segment] = round((time.monotonic() - begun) * 1000, 3)
