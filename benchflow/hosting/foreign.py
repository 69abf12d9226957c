"""Somebody else's provider, whose bugs break one trial and cost nobody the run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchflow.contracts import (
    CreateSessionParams,
    Fault,
    PromptResult,
    ProviderConfig,
    SessionFacts,
    SessionHandle,
    SessionProvider,
    SessionTrace,
)
from benchflow.errors import BenchFlowError, ErrorCode, TrialError
from benchflow.hosting.session_log import write_session_log
from benchflow.redact import Redactor
from benchflow.trace import write_events
from benchflow.workspaces.workspace import Workspace

Value = TypeVar("Value")


class ForeignProvider:
    """Passes on what another provider does, and makes a trial's end of what it raises.

    Before the first prompt that is a failed launch; in a prompt it is what runs that crashed; where it cannot be
    stopped, nobody knows what is still alive.
    """

    def __init__(
        self, provider: SessionProvider, *, say: Callable[[str], None], redactor: Redactor | None = None
    ) -> None:
        """With `redactor` what it tells of its sessions is kept in their folders; None: somebody else does that."""
        self._provider = provider
        self._say = say
        self._redactor = redactor
        self._folders: dict[str, Path] = {}
        self.id = provider.id
        self.capabilities = provider.capabilities

    async def init(self, config: ProviderConfig) -> None:
        """Make it ready. Raises TrialError."""
        await self._call("launch", object, "init", config)

    async def create_session(self, params: CreateSessionParams) -> SessionHandle:
        """Open a session. Raises TrialError."""
        self._folders[params.trial] = params.folder
        return await self._call("launch", SessionHandle, "create_session", params)

    async def prompt(self, handle: SessionHandle, text: str, timeout_s: float | None = None) -> PromptResult:
        """Send one prompt. Raises TrialError."""
        return await self._call("crash", PromptResult, "prompt", handle, text, timeout_s)

    async def stop_session(self, handle: SessionHandle) -> Workspace:
        """End the session. Raises TrialError."""
        return await self._call("sandbox", Workspace, "stop_session", handle)

    async def export_session(self, handle: SessionHandle) -> SessionTrace:
        """Return what happened. Raises TrialError."""
        trace = await self._call("capture", SessionTrace, "export_session", handle)
        if self._redactor:
            folder = self._folders[handle.trial]
            write_session_log(folder, trace.events, handle.session_id, self._redactor.fresh())
            write_events(folder)
        return trace

    def facts(self, handle: SessionHandle) -> SessionFacts:
        """Return what was measured; that it cannot be had is a fault."""
        try:
            return _of_type(SessionFacts, self._provider.facts(handle))
        except Exception as exc:  # noqa: BLE001 - a plugin's bug must not cost the run
            return SessionFacts(fault=Fault(code="capture", message=self._failed("facts", exc)))

    async def destroy_session(self, handle: SessionHandle) -> None:
        """Free what the session held. Its trial has ended, whatever comes of it."""
        try:
            await self._provider.destroy_session(handle)
        except Exception as exc:  # noqa: BLE001 - as above
            self._say(self._failed("destroy_session", exc))

    async def shutdown(self) -> None:
        """Free the rest."""
        try:
            await self._provider.shutdown()
        except Exception as exc:  # noqa: BLE001 - as above
            self._say(self._failed("shutdown", exc))

    async def _call(self, code: ErrorCode, expected: type[Value], method: str, *arguments: Any) -> Value:
        try:
            return _of_type(expected, await getattr(self._provider, method)(*arguments))
        except BenchFlowError:
            raise
        except Exception as exc:  # a plugin's bug must not cost the run
            raise TrialError(code, self._failed(method, exc)) from exc

    def _failed(self, method: str, error: Exception) -> str:
        return f"the provider {self.id} failed in {method}: {type(error).__name__}: {error}"


def _of_type(expected: type[Value], value: Any) -> Value:
    if not isinstance(value, expected):
        raise TypeError(f"it returned {type(value).__name__}, and not {expected.__name__}")
    return value
