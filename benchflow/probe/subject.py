"""The agent under the probe: a session of it, opened anew where a step has spoiled the one before."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import orjson
from anyio.abc import TaskGroup

from benchflow.contracts import CreateSessionParams, PermissionConfig, PromptResult
from benchflow.gateway.message import Exchange
from benchflow.hosting.equipment import Equipment
from benchflow.hosting.hosted import HostedSession
from benchflow.probe.memory import MemoryWatch
from benchflow.probe.upstream import ProbeUpstream
from benchflow.sandbox.interface import Network
from benchflow.scenario import Scenario
from benchflow.session.agentinfo import AgentInfo, SessionInfo
from benchflow.trajectories.trajectory import ACP_LOG
from benchflow.workspaces.toolchain import Toolchains
from benchflow.workspaces.workspace import Workspace, prepare_workspace


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """What a probe is done with."""

    equipment: Equipment
    upstream: ProbeUpstream
    """What stands behind the equipment's gateway."""
    scenario: Scenario
    toolchains: Toolchains
    model: str
    scratch: Path
    """For workspaces and homes; whoever made it removes it."""
    logs: Path
    timeout_s: float
    """For each step after the handshake."""

    @property
    def network(self) -> Network:
        return self.equipment.network


class Subject:
    """One agent, of which at most one session is open at a time. Whoever opens one stops it."""

    def __init__(self, settings: ProbeSettings, tasks: TaskGroup) -> None:
        self.settings = settings
        self.info: AgentInfo | None = None
        self.opened: SessionInfo | None = None
        self.memory: MemoryWatch | None = None
        self.session: HostedSession | None = None
        self.workspace: Workspace | None = None
        self.played = False
        """The scenario was played in the open session."""
        self.tried: set[str] = set()
        """Hosts that it tried to reach in sessions that were stopped."""
        self._tasks = tasks
        self._watching: anyio.CancelScope | None = None
        self._opened = 0

    @property
    def on_own_backend(self) -> bool:
        """It runs on a backend of its own, and asks nothing of the gateway."""
        return self.settings.equipment.backend is not None

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """Those of the open session that have ended."""
        tap = self.session.tap if self.session else None
        return [exchange for exchange in tap.exchanges if exchange.kind == "generate"] if tap else []

    async def launch(self) -> None:
        """Start the agent, in a workspace of its own. Raises TrialError."""
        await self.stop()
        self.played = False
        settings = self.settings
        self._opened += 1
        name = f"{self._opened}"
        folder = settings.scratch / name
        self.workspace = await prepare_workspace(
            settings.scenario, folder, settings.equipment.sandbox, settings.toolchains
        )
        logs = settings.logs / f"session-{name}"
        logs.mkdir(parents=True)
        params = CreateSessionParams(
            scenario_id=settings.scenario.id,
            iteration=0,
            workspace=self.workspace,
            folder=logs,
            trial=f"probe-{name}",
            model=settings.model,
            prompts=settings.scenario.prompts,
            solution=settings.scenario.solution,
            toolchain=await settings.toolchains.of(settings.scenario.tools),
        )
        self.session = HostedSession(settings.equipment, params)
        await self.session.launch()
        self._watch()

    def _watch(self) -> None:
        """Follow the memory of the launched process."""
        process = self.session.process if self.session else None
        if process is None:
            return
        before = self.memory.peak_mb if self.memory else None
        self.memory = MemoryWatch(process.pid)
        self.memory.peak_mb = before
        self._watching = anyio.CancelScope()
        self._tasks.start_soon(self._look_at_memory, self.memory, self._watching)

    async def _look_at_memory(self, memory: MemoryWatch, scope: anyio.CancelScope) -> None:
        with scope:
            await memory.run()

    async def open_again(self) -> None:
        """Open a fresh session, as a run does. Raises TrialError."""
        await self.launch()
        session = self.running
        await session.greet()
        await session.new_session()
        await session.choose_model()

    @property
    def running(self) -> HostedSession:
        """The open session."""
        if self.session is None:
            raise RuntimeError("no session is open")
        return self.session

    async def prompt(self, text: str) -> PromptResult:
        """Send a prompt, and wait for its end, or for the end of the step's time."""
        return await self.running.prompt(text, self.settings.timeout_s)

    def answer_permissions(self, policy: PermissionConfig) -> None:
        """Answer permission requests by this policy from now on."""
        self.running.answer_permissions(policy)

    async def stop(self) -> None:
        """End the agent and everything that it started."""
        session, self.session = self.session, None
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        if session is not None:
            with anyio.CancelScope(shield=True):
                await session.stop()
            self.tried |= session.border.tried

    def frames(self, method: str) -> Iterator[Any]:
        """Yield the params of the agent's messages of this method in the open session."""
        log = self.running.folder / ACP_LOG
        for line in log.read_bytes().splitlines():
            if method.encode() not in line:
                continue
            frame = orjson.loads(line).get("frame")
            if isinstance(frame, dict) and frame.get("method") == method:
                yield frame.get("params")

    def updates(self) -> Counter[str]:
        """Count the session's updates by their kind."""
        shown = [params.get("update") for params in self.frames("session/update") if isinstance(params, dict)]
        return Counter(str(update.get("sessionUpdate")) for update in shown if isinstance(update, dict))


def described(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    """Return what arrived on the wire, for a step's facts."""
    return {
        "main": sum(exchange.role == "main" and exchange.succeeded for exchange in exchanges),
        "auxiliary": sum(exchange.role == "auxiliary" for exchange in exchanges),
        "subagent": sum(exchange.role == "subagent" for exchange in exchanges),
        "models": sorted({exchange.model_asked for exchange in exchanges if exchange.model_asked}),
    }
