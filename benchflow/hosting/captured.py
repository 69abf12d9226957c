"""A provider whose sessions ask their model through the gateway: recorded, metered, priced, held to their budgets.

It speaks the contracts on both sides, so that it neither knows what the provider runs, nor does the provider know it.
"""

from dataclasses import dataclass, field, replace

import anyio
import anyio.to_thread

from benchflow.clock import Clock
from benchflow.contracts import (
    CreateSessionParams,
    Event,
    PromptResult,
    ProviderConfig,
    SessionFacts,
    SessionHandle,
    SessionProvider,
    SessionTrace,
)
from benchflow.gateway.gateway import Gateway
from benchflow.hosting.captured_session import CapturedSession
from benchflow.hosting.session_log import write_session_log
from benchflow.redact import Redactor
from benchflow.trace import export_trace
from benchflow.workspaces.workspace import Workspace

OF_THE_RUN = frozenset({"prompt_begin", "prompt_end", "turn_begin", "turn_end"})
"""Events that the run sees for itself, whatever the provider tells."""


@dataclass(kw_only=True)
class CapturedProvider:
    """Gives each session of a provider a place at the gateway."""

    provider: SessionProvider
    gateway: Gateway
    clock: Clock
    redactor: Redactor
    require_capture: bool = True
    _sessions: dict[str, CapturedSession] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.provider.id

    @property
    def capabilities(self) -> frozenset[str]:
        return self.provider.capabilities | {"capture"}

    async def init(self, config: ProviderConfig) -> None:
        """Make the provider ready."""
        await self.provider.init(config)

    async def create_session(self, params: CreateSessionParams) -> SessionHandle:
        """Open a place at the gateway, and the provider's session with it. Raises TrialError."""
        session = await CapturedSession.open(
            self.gateway,
            params,
            clock=self.clock,
            redactor=self.redactor.fresh(),
            tools_in_text="tools" not in self.provider.capabilities,
        )
        try:
            given = replace(params, endpoint=session.endpoint, observers=(_Relay(session),), clock=self.clock)
            handle = await self.provider.create_session(given)
        except BaseException:
            with anyio.CancelScope(shield=True):  # nothing is left behind
                await session.close()
            raise
        session.id = handle.session_id
        self._sessions[params.trial] = session
        return handle

    async def prompt(self, handle: SessionHandle, text: str, timeout_s: float | None = None) -> PromptResult:
        """Send one prompt and wait for its end, or for the end of a budget, which cancels it."""
        return await self._sessions[handle.trial].prompt(
            text, lambda: self.provider.prompt(handle, text, None), timeout_s
        )

    async def stop_session(self, handle: SessionHandle) -> Workspace:
        """End the session, and then its place at the gateway. Raises TrialError."""
        session = self._sessions[handle.trial]
        try:
            workspace = await self.provider.stop_session(handle)
        finally:
            await session.close()
        await session.put_back()
        return workspace

    async def export_session(self, handle: SessionHandle) -> SessionTrace:
        """Make the trace of what the run saw of the session, and of what its provider tells beside that."""
        session = self._sessions[handle.trial]
        told = await self.provider.export_session(handle)
        beside = [event for event in told.events if event.type not in OF_THE_RUN]
        write_session_log(session.folder, [*session.prompts, *beside], session.id, session.redactor)
        return await anyio.to_thread.run_sync(export_trace, session.folder)

    def facts(self, handle: SessionHandle) -> SessionFacts:
        """Return what was measured, and what the provider says of itself."""
        return self._sessions[handle.trial].facts(self.provider.facts(handle), require_capture=self.require_capture)

    async def destroy_session(self, handle: SessionHandle) -> None:
        """Forget the session."""
        del self._sessions[handle.trial]
        await self.provider.destroy_session(handle)

    async def shutdown(self) -> None:
        """Free what the provider holds beyond its sessions."""
        await self.provider.shutdown()


@dataclass(frozen=True)
class _Relay:
    """Hands what a provider tells as it happens to those who watch, among what the run sees."""

    session: CapturedSession

    async def on_event(self, event: Event) -> None:
        if event.type not in OF_THE_RUN:
            self.session.tell(event)
