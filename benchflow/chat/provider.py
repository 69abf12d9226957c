"""`ChatProvider`: a model without an agent, as a `SessionProvider` by the contracts alone.

It is what every agent has to be better than.
"""

from benchflow.chat.conversation import DIALECT, Conversation
from benchflow.contracts import (
    CreateSessionParams,
    PromptResult,
    ProviderConfig,
    SessionFacts,
    SessionHandle,
    SessionTrace,
    ToolCallBreakdown,
    TraceSummary,
)
from benchflow.errors import TrialError
from benchflow.gateway.http.client import HttpClient
from benchflow.workspaces.workspace import Workspace


class ChatProvider:
    """Asks a model, once for each prompt, in chat completions."""

    id = "chat"
    capabilities = frozenset({"gateway"})
    api_protocol = DIALECT

    def __init__(self) -> None:
        self._sessions: dict[str, Conversation] = {}
        self._client = HttpClient()

    async def init(self, config: ProviderConfig) -> None:
        """Nothing is needed."""

    async def create_session(self, params: CreateSessionParams) -> SessionHandle:
        """Begin a conversation. Raises TrialError(`setup`) where there is nothing to ask."""
        if params.endpoint is None:
            raise TrialError("setup", "the provider chat asks its model at the session's endpoint, and there is none")
        self._sessions[params.trial] = Conversation(params, self._client)
        created = params.clock.now().ts
        return SessionHandle(
            session_id=f"chat-{params.trial}", provider=self.id, created_at=created, trial=params.trial
        )

    async def prompt(self, handle: SessionHandle, text: str, timeout_s: float | None = None) -> PromptResult:
        """Ask. Whoever calls ends it when its time is up, by cancelling. What fails is in the result."""
        return await self._sessions[handle.trial].ask(text)

    async def stop_session(self, handle: SessionHandle) -> Workspace:
        """Return the workspace; nothing is running."""
        return self._sessions[handle.trial].params.workspace

    async def export_session(self, handle: SessionHandle) -> SessionTrace:
        """Return what the gateway cannot know: what was said, and which files it made."""
        chat = self._sessions[handle.trial]
        return SessionTrace(
            session_id=handle.session_id,
            events=chat.events,
            turns=(),
            tool_calls=ToolCallBreakdown(),
            summary=TraceSummary(total_turns=0, total_tool_calls=0, total_tokens=None, total_duration_ms=0.0),
        )

    def facts(self, handle: SessionHandle) -> SessionFacts:
        """Return how many files were written, and which could not be."""
        chat = self._sessions[handle.trial]
        return SessionFacts(extensions={"chat": {"files_written": chat.written, "files_refused": chat.refused}})

    async def destroy_session(self, handle: SessionHandle) -> None:
        """Forget the conversation."""
        del self._sessions[handle.trial]

    async def shutdown(self) -> None:
        """Close the connections."""
        await self._client.aclose()
