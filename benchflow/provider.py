"""`AcpProvider`: an agent that speaks ACP, hosted in a sandbox with the gateway at its side, as a `SessionProvider`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio.to_thread

from benchflow.contracts import (
    CreateSessionParams,
    PromptResult,
    ProviderConfig,
    SessionFacts,
    SessionHandle,
    SessionTrace,
)
from benchflow.hosting.equipment import Equipment
from benchflow.hosting.hosted import HostedSession
from benchflow.trace import export_trace
from benchflow.workspaces.workspace import Workspace

SMALL_BYTES = 100_000
"""Logs of less than this are read in a millisecond."""


@dataclass(kw_only=True)
class AcpProvider:
    """Hosts the sessions of one agent; each is a process of its own."""

    equip: Callable[[], Awaitable[Equipment]]
    """Installs the agent, and returns what its sessions share. Raises TrialError(`install`)."""
    id: str = "acp"
    capabilities: frozenset[str] = frozenset({"capture", "permissions", "mcp"})
    _equipment: Equipment | None = None
    _sessions: dict[str, HostedSession] = field(default_factory=dict)

    async def init(self, config: ProviderConfig) -> None:
        """Install the agent, if it is not there yet. Raises TrialError(`install`)."""
        self._equipment = await self.equip()

    async def create_session(self, params: CreateSessionParams) -> SessionHandle:
        """Start the agent and open a session. Raises TrialError: `sandbox`, `launch`, `handshake`, `auth`, `model`."""
        if self._equipment is None:
            raise RuntimeError("the provider was not initialised")
        session = await HostedSession.open(self._equipment, params)
        handle = SessionHandle(
            session_id=session.id,
            provider=self.id,
            created_at=self._equipment.clock.now().ts,
            trial=params.trial,
        )
        self._sessions[params.trial] = session
        return handle

    async def prompt(self, handle: SessionHandle, text: str, timeout_s: float | None = None) -> PromptResult:
        """Send one prompt and wait for its end."""
        return await self._sessions[handle.trial].prompt(text, timeout_s)

    async def stop_session(self, handle: SessionHandle) -> Workspace:
        """End the agent and everything it started. Raises TrialError(`sandbox`) if something cannot be ended."""
        session = self._sessions[handle.trial]
        await session.stop()
        return session.workspace

    async def export_session(self, handle: SessionHandle) -> SessionTrace:
        """Make the trace of the session's logs, and write events.jsonl beside them."""
        folder = self._sessions[handle.trial].folder
        if sum(file.stat().st_size for file in folder.iterdir()) < SMALL_BYTES:
            return export_trace(folder)  # sooner done than handed to a thread
        return await anyio.to_thread.run_sync(export_trace, folder)

    def facts(self, handle: SessionHandle) -> SessionFacts:
        """Return what was measured."""
        return self._sessions[handle.trial].facts()

    async def destroy_session(self, handle: SessionHandle) -> None:
        """Forget the session; its scratch folders go with the try's workspace."""
        del self._sessions[handle.trial]

    async def shutdown(self) -> None:
        """Nothing is held beyond the sessions."""
