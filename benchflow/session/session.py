"""The client's side of one ACP session: handshake, authentication, model, prompts, cancel.

It is given two byte streams and knows nothing of processes, sandboxes or gateways.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import anyio

import benchflow
from benchflow.clock import Clock, Stamp
from benchflow.contracts import EventType, LimitHit, McpServer, PermissionConfig
from benchflow.errors import ErrorCode, TrialError
from benchflow.sandbox.interface import ByteReader, ByteWriter
from benchflow.session.agentinfo import PROTOCOL_VERSION, AgentInfo, SessionInfo, read_agent_info, read_version
from benchflow.session.connection import Connection
from benchflow.session.failures import gone, no_answer, prompt_refused, refused
from benchflow.session.files import WorkspaceFiles
from benchflow.session.framelog import Direction, FrameLog, LineSink
from benchflow.session.framing import MAX_LINE_BYTES, Json
from benchflow.session.model import ModelChoice, ModelFormat, find_offers, model_name, pick_value
from benchflow.session.permissions import PermissionDesk
from benchflow.session.projection import Projection
from benchflow.session.rpc import AUTH_REQUIRED, PeerGone, RpcError
from benchflow.session.serving import Handler
from benchflow.session.terminals import Terminals
from benchflow.session.turn import GivenUp, PromptOutcome, Turn
from benchflow.session.updates import prompt_usage, stop_reason

OnEvent = Callable[[EventType, dict[str, Any], Stamp], None]

HANDSHAKE_TIMEOUT_S = 60.0
"""For each request before the first prompt: a cold start was seen to take 17 s."""
CANCEL_GRACE_S = 10.0
"""How long a cancelled agent may take to end its turn."""

_ALLOW_ALL = PermissionConfig()


class AcpClient:
    """One agent's session. Use it as an asynchronous context manager; leave it only when the agent is dead, so that the
    log has everything to the last line.

    Every failure is a TrialError: `launch` (it ended without a word), `handshake`, `auth` and `model` before the first
    prompt; then `crash` (it died, or gave up with an error), `protocol`, and `auth` where it only then asks for that.
    """

    def __init__(
        self,
        stdin: ByteWriter,
        stdout: ByteReader,
        *,
        log: LineSink,
        clock: Clock,
        permissions: PermissionConfig = _ALLOW_ALL,
        on_event: OnEvent | None = None,
        exited: Callable[[], Awaitable[int]] | None = None,
        stderr_tail: Callable[[], str] | None = None,
        files: WorkspaceFiles | None = None,
        terminals: Terminals | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        """`exited` and `stderr_tail` are the process's: with them an end has a cause. `files` and `terminals` turn on
        the capabilities `fs` and `terminal`; without them they are off.
        """
        self._permissions = PermissionDesk(permissions)
        self._on_event = on_event
        self._files = files
        self._terminals = terminals
        self._projection = Projection()
        self._info: AgentInfo | None = None
        self._session: SessionInfo | None = None
        self._turn: Turn | None = None
        self._prompted = False
        handlers: dict[str, Handler] = {"session/request_permission": self._permissions.answer}
        for service in filter(None, (files, terminals)):
            handlers.update(service.handlers)
        unwanted = None if on_event or self._permissions.curious else "session/update"
        self._frames = FrameLog(log, clock, unwanted=unwanted)
        self._connection = Connection(
            stdin,
            stdout,
            frames=self._frames,
            handlers=handlers,
            on_notification=self._notified,
            observe=self._frame_passed if on_event else None,
            exited=exited,
            stderr_tail=stderr_tail,
            max_line_bytes=max_line_bytes,
        )

    async def __aenter__(self) -> "AcpClient":
        self._connection.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            if self._terminals:
                await self._terminals.aclose()
            await self._connection.aclose()

    # Before the first prompt

    async def initialize(self, timeout_s: float = HANDSHAKE_TIMEOUT_S) -> AgentInfo:
        """Agree on the protocol's version; return what the agent says of itself."""
        files, terminals = self._files is not None, self._terminals is not None
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {"fs": {"readTextFile": files, "writeTextFile": files}, "terminal": terminals},
            "clientInfo": {"name": "benchflow", "title": "BenchFlow", "version": benchflow.__version__},
        }
        result = await self._ask("initialize", params, timeout_s, "handshake")
        version = read_version(result)
        if version != PROTOCOL_VERSION:
            said = "no version" if version is None else f"version {version}"
            raise TrialError(
                "handshake", f"the agent names {said} of ACP in its answer; BenchFlow speaks {PROTOCOL_VERSION}"
            )
        self._info = read_agent_info(result)
        return self._info

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[McpServer] = (), timeout_s: float = HANDSHAKE_TIMEOUT_S
    ) -> SessionInfo:
        """Open the session in `cwd`, an absolute path as the agent sees it; authenticate if the agent demands it."""
        params = {"cwd": cwd, "mcpServers": [_mcp_server(server) for server in mcp_servers]}
        try:
            result = await self._call("session/new", params, timeout_s, "handshake")
        except RpcError as error:
            if error.code != AUTH_REQUIRED:
                raise refused("session/new", error, "handshake") from error
            await self._authenticate(error, timeout_s)
            result = await self._ask("session/new", params, timeout_s, "handshake")
        session_id = result.get("sessionId") if isinstance(result, dict) else None
        if not isinstance(session_id, str) or not session_id:
            raise TrialError("handshake", "the agent's answer to session/new has no sessionId")
        self._session = SessionInfo(id=session_id, raw=result)
        return self._session

    async def set_model(
        self,
        model: str,
        form: ModelFormat = "bare",
        *,
        provider: str | None = None,
        timeout_s: float = HANDSHAKE_TIMEOUT_S,
    ) -> ModelChoice:
        """Choose the model where the agent offers a way; `provider` is put in front of it where `form` asks for that.

        A refusal is returned, not raised: launch settings may have chosen it already, and the wire will tell.
        """
        session = self._opened()
        name = model_name(model, form, provider)
        choice = ModelChoice(how="not_offered", value=name)
        for offer in find_offers(session.raw):
            value, listed = pick_value(offer, name, model)
            if offer.current == value:
                return ModelChoice(how="already", value=value, listed=listed)
            how = "set_model" if offer.method == "session/set_model" else "config_option"
            try:
                await self._call(offer.method, offer.params(session.id, value), timeout_s, "model")
            except RpcError as error:
                choice = ModelChoice(how="refused", value=value, listed=listed, error=str(error))
            else:
                return ModelChoice(how=how, value=value, listed=listed)
        return choice

    async def _authenticate(self, demand: RpcError, timeout_s: float) -> None:
        """Try the methods that need nobody at a browser; raise TrialError(`auth`) if none does it."""
        methods = self._info.auth_methods if self._info else ()
        said = [f"session/new: {demand}"]
        for method in methods:
            if method.keyed:
                try:
                    await self._call("authenticate", {"methodId": method.id}, timeout_s, "auth")
                except RpcError as error:
                    said.append(f"authenticate with {method.id}: {error}")
                else:
                    return
        offered = ", ".join(f"{method.id} ({method.name})" for method in methods) or "none"
        raise TrialError(
            "auth",
            f"the agent demands authentication, and no method that it offers works with a key alone: {offered}; "
            + "; ".join(said),
        )

    # Prompts

    def answer_permissions(self, policy: PermissionConfig) -> None:
        """Answer the permission requests that come from now on by this policy."""
        self._permissions.policy = policy

    async def prompt(
        self,
        texts: Sequence[str],
        timeout_s: float | None = None,
        cancel_grace_s: float = CANCEL_GRACE_S,
        now: Callable[[], float] = anyio.current_time,
        on_time_up: Callable[[], Awaitable[None]] | None = None,
    ) -> PromptOutcome:
        """Send one prompt, a text block each, and wait for the end of its turn.

        When `timeout_s` is up on the clock `now`, which `on_time_up` is told of and waited for first, or this call is
        cancelled, the turn is ended over the protocol, in `cancel_grace_s`.
        """
        session = self._opened()
        self._prompted = True
        self._permissions.turn_cancelled = False
        blocks = [{"type": "text", "text": text} for text in texts]
        reply = self._connection.request("session/prompt", {"sessionId": session.id, "prompt": blocks})
        turn = self._turn = Turn(reply)
        begun = now()
        try:
            waited_s = None
            if timeout_s is not None and not await turn.ends_within(timeout_s, now):
                waited_s = now() - begun
                if on_time_up:
                    await on_time_up()
                await self.cancel(cancel_grace_s)
            return replace(await self._outcome(turn), timed_out=waited_s is not None, waited_s=waited_s)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.cancel(cancel_grace_s)
            raise
        finally:
            self._turn = None
            self._connection.forget(reply)

    def note_limit(self, hit: LimitHit) -> None:
        """Put on record, between the frames, that a budget has ended the session's work."""
        stamp = self._frames.noted("limit", vars(hit))
        if self._on_event:
            self._on_event("limit", vars(hit).copy(), stamp)

    async def cancel(self, grace_s: float = CANCEL_GRACE_S) -> bool:
        """End the open turn: ask, and wait for its end. False: it did not end in time and was given up."""
        turn = self._turn
        if turn is None:
            return True
        self.ask_to_cancel()
        if await turn.ends_within(grace_s):
            return True
        turn.give_up()
        return False

    async def interrupt(self, grace_s: float = CANCEL_GRACE_S) -> bool:
        """Ask the agent to end the open turn. False: it did not in time, and the turn goes on as if not asked."""
        turn = self._turn
        if turn is None:
            return True
        self.ask_to_cancel()
        if await turn.ends_within(grace_s):
            return True
        turn.cancelled = False
        self._permissions.turn_cancelled = False
        return False

    def ask_to_cancel(self) -> None:
        """Ask the agent, once, to end the open turn, and wait for nothing. A turn that has ended is let be."""
        turn = self._turn
        if turn is not None and not turn.cancelled and not turn.reply.settled.is_set():
            turn.cancelled = True
            self._permissions.turn_cancelled = True
            self._connection.notify("session/cancel", {"sessionId": self._opened().id})

    async def _outcome(self, turn: Turn) -> PromptOutcome:
        """Wait for the turn's end and say what it was. The end of a turn that we cancelled is never a failure."""
        try:
            result = await turn.end()
        except (GivenUp, PeerGone, RpcError) as error:
            if turn.cancelled:
                ended = isinstance(error, RpcError)
                return PromptOutcome(stop_reason=None, ended=ended, cancelled=True)
            if isinstance(error, RpcError):
                raise prompt_refused(error) from error
            if isinstance(error, PeerGone):
                raise self._gone("session/prompt", error, "protocol") from error
            raise
        return PromptOutcome(
            stop_reason=stop_reason(result),
            cancelled=turn.cancelled,
            usage=prompt_usage(result),
        )

    # What both directions share

    async def _call(self, method: str, params: Any, timeout_s: float, stage: ErrorCode) -> Any:
        """Make a request before the first prompt; an error response is left to the caller."""
        try:
            return await self._connection.call(method, params, timeout_s)
        except TimeoutError as error:
            raise no_answer(method, timeout_s, stage, self._connection.stderr_tail()) from error
        except PeerGone as error:
            raise self._gone(method, error, stage) from error

    async def _ask(self, method: str, params: Any, timeout_s: float, stage: ErrorCode) -> Any:
        """Make a request before the first prompt; an error response is a failure too."""
        try:
            return await self._call(method, params, timeout_s, stage)
        except RpcError as error:
            raise refused(method, error, "auth" if error.code == AUTH_REQUIRED else stage) from error

    def _gone(self, method: str, error: PeerGone, stage: ErrorCode) -> TrialError:
        return gone(method, error, stage, heard=self._connection.heard, prompted=self._prompted)

    def _opened(self) -> SessionInfo:
        if self._session is None:
            raise RuntimeError("no session is open")
        return self._session

    def _notified(self, method: str, params: Any) -> None:
        if method == "session/update":
            self._permissions.note(params)

    def _frame_passed(self, direction: Direction, frame: Json, stamp: Stamp) -> None:
        event = self._projection.read(direction, frame)
        if event and self._on_event:
            self._on_event(*event, stamp)


def _mcp_server(server: McpServer) -> dict[str, Any]:
    """A stdio server, which the protocol gives no `type`."""
    env = [{"name": name, "value": value} for name, value in server.env.items()]
    return {"name": server.name, "command": server.command, "args": list(server.args), "env": env}
