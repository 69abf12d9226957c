"""One hosted session: an agent's process in a sandbox, its model calls at a tap of the gateway, and the ACP client.

This is where the three meet; none of them knows the others.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.to_thread

from benchflow.budgets.choosing import choose_delivery
from benchflow.budgets.trial import TrialBudgets
from benchflow.clock import Stamp
from benchflow.contracts import (
    CreateSessionParams,
    EventType,
    PermissionConfig,
    PromptResult,
    SessionFacts,
)
from benchflow.gateway.gateway import Tap
from benchflow.gateway.message import Exchange
from benchflow.hosting import metering
from benchflow.hosting.bridge import Bridge
from benchflow.hosting.broadcast import Broadcast
from benchflow.hosting.client import make_client
from benchflow.hosting.cutoff import Cutoff
from benchflow.hosting.equipment import Equipment, launch_spec, trial_context
from benchflow.hosting.facts import budget_facts, certificate_facts, find_fault, redaction_facts, session_facts
from benchflow.hosting.modes import servers_inside
from benchflow.hosting.prompting import Prompting
from benchflow.hosting.stderr import StderrLog
from benchflow.log import LogFile
from benchflow.network.border import Border
from benchflow.sandbox.interface import LaunchSpec, SandboxedProcess
from benchflow.sandbox.loopback import close_reserved
from benchflow.session.agentinfo import AgentInfo, SessionInfo
from benchflow.session.background import Background
from benchflow.session.model import ModelChoice
from benchflow.session.session import AcpClient
from benchflow.stopwatch import Stopwatch
from benchflow.trajectories.mend import mend
from benchflow.trajectories.trajectory import ACP_LOG, exchange_moments
from benchflow.workspaces.workspace import Workspace

DRAIN_S = 5.0
"""How long what a dead agent left in the pipe of its stderr may take to be read."""
STOP_GRACE_S = 2.0
"""How long an agent may take to leave once its stdin is closed, and again once it got SIGTERM."""


class HostedSession:
    """A running agent with one open session. Made by `open`; `stop` ends the process, `destroy` frees the rest."""

    def __init__(self, equipment: Equipment, params: CreateSessionParams) -> None:
        self._equipment = equipment
        self._params = params
        self._redactor = equipment.redactor.fresh()
        self._broadcast = Broadcast(params.observers)
        self._stderr = StderrLog(self._log("stderr.log"))
        self._acp_log = self._log(ACP_LOG)
        self._tasks = Background(lambda _: None)
        self._watch = Stopwatch()
        delivery = choose_delivery(
            params.limits.wrap_up, tier=equipment.manifest.tier, captured=equipment.backend is None
        )
        self._budgets = TrialBudgets(params.limits, delivery)
        self._spec: LaunchSpec | None = None
        self._process: SandboxedProcess | None = None
        self._tap: Tap | None = None
        self._client: AcpClient | None = None
        self._bridge: Bridge | None = None
        self._cutoff = Cutoff(params.workspace.path)
        self._border = Border(
            equipment.sandbox.isolation,
            equipment.network,
            equipment.backend.hosts if equipment.backend else (),
            equipment.environ,
        )
        self._prompting: Prompting | None = None
        self._agent_version: str | None = None
        self._model_choice: dict[str, Any] = {}

    @classmethod
    async def open(cls, equipment: Equipment, params: CreateSessionParams) -> Self:
        """Start the agent, and open a session with it. Nothing is left behind when this fails or is cancelled.

        Raises TrialError: `sandbox`, `launch`, `setup`, `handshake`, `auth`, `model`.
        """
        session = cls(equipment, params)
        try:
            await session.launch()
            await session.greet()
            await session.new_session()
            await session.choose_model()
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
    def process(self) -> SandboxedProcess | None:
        """The agent's; None: it was not launched."""
        return self._process

    @property
    def tap(self) -> Tap | None:
        """Its place at the gateway; None: it was not launched."""
        return self._tap

    @property
    def border(self) -> Border:
        """What it may reach of the network beside the gateway, and what it tried."""
        return self._border

    @property
    def workspace(self) -> Workspace:
        """What the agent works in."""
        return self._params.workspace

    @property
    def folder(self) -> Path:
        """Where its logs are."""
        return self._params.folder

    async def prompt(self, text: str, timeout_s: float | None) -> PromptResult:
        """Send a prompt and wait for its end, or for the end of its budget. The agent's failures are results.

        Raises TrialError where its files cannot be brought to an agent that works in a directory of its own.
        """
        assert self._prompting is not None
        if self._bridge is None:
            return await self._prompting.prompt(text, timeout_s)
        async with self._bridge.turn():
            return await self._prompting.prompt(text, timeout_s)

    def ask_to_cancel(self) -> None:
        """Ask the agent to end the open turn, and wait for nothing."""
        if self._client is not None:
            self._client.ask_to_cancel()

    def answer_permissions(self, policy: PermissionConfig) -> None:
        """Answer the permission requests that come from now on by this policy."""
        assert self._client is not None
        self._client.answer_permissions(policy)

    async def stop(self) -> None:
        """End the agent and all that it started; then take what is on its way to the logs. May be called again."""
        if self._process is not None:
            await self._process.stop(STOP_GRACE_S)
        elif self._spec is not None:
            close_reserved(self._spec)
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
            self._client = None
        if self._tap is not None:
            await self._tap.close()
        await self._border.aclose()
        await self._tasks.settle(DRAIN_S)
        await self._broadcast.aclose()
        self._stderr.close()
        self._acp_log.close()
        if self._redactor.knows_any:
            await anyio.to_thread.run_sync(mend, self._acp_log.path, self._redactor)
        if self._bridge is not None:
            bridge, self._bridge = self._bridge, None
            await bridge.collect()
        await self._cutoff.put_back()

    def facts(self) -> SessionFacts:
        """Return what was measured so far."""
        return session_facts(
            self._exchanges,
            agent_version=self._agent_version,
            isolation=self._equipment.sandbox.isolation,
            segments=self._watch.segments,
            fault=find_fault(self._tap, self._exchanges, require_capture=self._equipment.require_capture)
            if self._prompting and self._prompting.prompts
            else None,
            usage=self._prompting.usage if self._equipment.backend and self._prompting else None,
            extensions={
                "model": self._model_choice,
                **budget_facts(self._budgets, self._cutoff),
                **self._border.facts(),
                **redaction_facts(self._redactor),
                **({} if self._equipment.backend else certificate_facts(self._tap)),
            },
        )

    async def launch(self) -> None:
        """Start the agent's process, with its own HOME, and the gateway at its side."""
        kit, params = self._equipment, self._params
        self._spec = spec = launch_spec(kit, params)
        if kit.manifest.bridge is not None:
            self._bridge = self._cutoff.bridge = Bridge.open(
                kit.manifest.bridge, spec.folders, kit.sandbox.inside(spec.folders)
            )
        with self._watch.timed("launch"):
            self._process = process = await kit.sandbox.start(spec)
        if process.stderr is not None:
            self._tasks.start(self._stderr.drain(process.stderr))
        gateway_socket, *border_sockets = process.sockets
        await self._border.serve(border_sockets)
        self._tap = await kit.gateway.attach(
            gateway_socket,
            trial_context(params, process.inside, spec.sockets[0].port),
            folder=params.folder,
            quirks=kit.manifest.quirks,
            redactor=self._redactor,
            on_exchange=self._exchange_ended,
            budgets=self._budgets,
        )
        self._budgets.meter.now = self._tap.agent_time.now

    async def greet(self) -> AgentInfo:
        """Shake hands with the launched agent; return what it says of itself."""
        kit, process = self._equipment, self._process
        assert process is not None
        assert self._tap is not None
        self._client = make_client(
            kit,
            self._params,
            process,
            log=self._acp_log,
            on_event=self._saw,
            stderr_tail=lambda: self._stderr.tail,
            run_command=self._run_command,
        )
        before = self._params.system_instructions if kit.mode.instructions_as == "prompt" else None
        self._prompting = Prompting(self._client, self._tap, self._budgets, before=before, keep=self._cutoff.make)
        with self._watch.timed("handshake"):
            await self._client.__aenter__()
            info = await self._client.initialize(self._deadline_s)
        self._agent_version = info.version
        return info

    async def new_session(self) -> SessionInfo:
        """Open the session; return the agent's answer."""
        assert self._client is not None
        assert self._process is not None
        with self._watch.timed("handshake"):
            cwd = self._process.inside.workspace
            servers = servers_inside(self._params.mcp_servers, self._spec.env if self._spec else {})
            opened = await self._client.new_session(cwd, servers, self._deadline_s)
        self._broadcast.session_id = opened.id
        return opened

    async def choose_model(self) -> ModelChoice | None:
        """Choose the model where the agent offers that. None: it is not to be chosen."""
        kit = self._equipment
        assert self._client is not None
        if not kit.manifest.supports_acp_set_model or (kit.backend and not kit.backend.model):
            return None
        form, model = kit.manifest.acp_model_format, self._params.model
        with self._watch.timed("handshake"):
            choice = await self._client.set_model(model, form, provider=kit.provider_name, timeout_s=self._deadline_s)
        self._model_choice = asdict(choice)
        return choice

    @property
    def _deadline_s(self) -> float:
        """For each request before the first prompt."""
        return self._equipment.manifest.client.handshake_timeout_s

    async def _run_command(self, argv: tuple[str, ...], more: Mapping[str, str], cwd: str | None) -> SandboxedProcess:
        """Run a command for the agent, where and with what the agent itself runs."""
        assert self._spec is not None
        spec = replace(self._spec, argv=argv, env={**self._spec.env, **more}, cwd=cwd, sockets=(), network="none")
        return await self._equipment.sandbox.start(spec)

    def _saw(self, kind: EventType, data: dict[str, Any], stamp: Stamp) -> None:
        """Take an event of the ACP session."""
        if self._prompting is not None:
            self._prompting.saw(kind, data)
        self._broadcast.send(kind, "harness" if kind == "limit" else "acp", data, stamp)

    def _exchange_ended(self, exchange: Exchange) -> None:
        """Take an exchange that has ended."""
        for moment in exchange_moments(exchange):
            stamp = Stamp(ts=moment.ts, mono_ms=moment.mono_ms)
            self._broadcast.send(moment.type, moment.source, moment.data, stamp)

    @property
    def _exchanges(self) -> list[Exchange]:
        return metering.of_model(self._tap.exchanges) if self._tap else []

    def _log(self, name: str) -> LogFile:
        return LogFile(self._params.folder / name, self._redactor)
