"""The agent's side of ACP: sessions, prompts, cancelling, and the choice of the model."""

import asyncio
import uuid
from pathlib import Path
from typing import Any, cast

import acp
from acp.schema import (
    AgentCapabilities,
    EmbeddedResourceContentBlock,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResourceContentBlock,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SetSessionConfigOptionResponse,
    TextContentBlock,
)
from acp.schema import Usage as AcpUsage

from benchflow import __version__
from benchflow.agents.mini.chat import ChatApi, ModelError, Usage
from benchflow.agents.mini.pace import Pace
from benchflow.agents.mini.session import Session

_MODEL_OPTION = "model"


class MiniAgent:
    """Answers a client's requests. The SDK looks its methods up by name; what is missing here is not supported."""

    def __init__(self, api: ChatApi, *, model: str, context_tokens: int, pace: Pace | None = None) -> None:
        self._api = api
        self._model = model
        self._context_tokens = context_tokens
        self._pace = pace
        self._sessions: dict[str, Session] = {}
        self._client: acp.Client | None = None

    def as_acp(self) -> acp.Agent:
        """Return this agent as the SDK's type, of which it has only the methods that it supports."""
        return cast(acp.Agent, self)

    def on_connect(self, conn: acp.Client) -> None:
        """Remember the client."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Introduce the agent. It speaks one version, whichever the client speaks."""
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=False, prompt_capabilities=PromptCapabilities(embedded_context=True)
            ),
            agent_info=Implementation(name="mini", title="mini", version=__version__),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any) -> NewSessionResponse:
        """Begin a conversation in `cwd`."""
        if mcp_servers:
            raise acp.RequestError(-32602, "mini has no MCP client; leave mcpServers empty")
        if not await asyncio.to_thread(Path(cwd).is_dir):
            raise acp.RequestError(-32602, f"cwd is no folder: {cwd}")
        assert self._client is not None
        session = Session(
            uuid.uuid4().hex,
            cwd=Path(cwd),
            model=self._model,
            api=self._api,
            client=self._client,
            context_tokens=self._context_tokens,
            pace=self._pace,
        )
        self._sessions[session.id] = session
        return NewSessionResponse(session_id=session.id, config_options=[_model_option(session)])

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Set the model. Any name is taken; whether it exists, its server knows."""
        session = self._session(session_id)
        if config_id != _MODEL_OPTION or not isinstance(value, str) or not value:
            raise acp.RequestError(-32602, f"the only option is {_MODEL_OPTION!r}, a text")
        session.model = value
        return SetSessionConfigOptionResponse(config_options=[_model_option(session)])

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Answer `session/set_model`, which the SDK no longer knows."""
        if method != "session/set_model":
            raise acp.RequestError.method_not_found(f"_{method}")
        if not isinstance(model := params.get("modelId"), str) or not model:
            raise acp.RequestError(-32602, "modelId must be a text")
        self._session(str(params.get("sessionId"))).model = model
        return {}

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        """Work on a prompt. A failure of the model's API is an error, never an end of the turn."""
        session = self._session(session_id)
        if session.turn is not None:
            raise acp.RequestError(-32600, "a prompt of this session is still being worked on")
        session.turn = asyncio.create_task(session.run(_text_of(prompt)))
        try:
            stop_reason = await session.turn
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                raise  # the connection is closing; not the client's wish to cancel
            stop_reason = "cancelled"
        except ModelError as error:
            raise acp.RequestError(-32603, str(error), {"status": error.status}) from error
        finally:
            session.turn = None
        return PromptResponse(stop_reason=stop_reason, usage=_acp_usage(session.usage))

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End the prompt turn under way: the model's answer is dropped, and a running command is killed."""
        session = self._sessions.get(session_id)
        if session is not None and session.turn is not None:
            session.turn.cancel()

    def _session(self, id: str) -> Session:
        if id not in self._sessions:
            raise acp.RequestError(-32602, f"there is no session {id!r}")
        return self._sessions[id]


def _model_option(session: Session) -> SessionConfigOptionSelect:
    names = [session.model] if session.model else []
    return SessionConfigOptionSelect(
        type="select",
        id=_MODEL_OPTION,
        name="Model",
        category="model",
        current_value=session.model,
        options=[SessionConfigSelectOption(value=name, name=name) for name in names],
    )


def _text_of(prompt: list[Any]) -> str:
    return "\n\n".join(_text_of_block(block) for block in prompt)


def _text_of_block(block: Any) -> str:
    match block:
        case TextContentBlock():
            return block.text
        case ResourceContentBlock():
            return f"[{block.name}]({block.uri})"
        case EmbeddedResourceContentBlock() if hasattr(block.resource, "text"):
            return f"{block.resource.uri}:\n{block.resource.text}"  # pyright: ignore[reportAttributeAccessIssue]
    raise acp.RequestError(-32602, f"mini cannot read content of type {block.type!r}")


def _acp_usage(usage: Usage) -> AcpUsage:
    return AcpUsage(
        input_tokens=usage.input - usage.cached,
        output_tokens=usage.output,
        cached_read_tokens=usage.cached,
        thought_tokens=usage.reasoning,
        total_tokens=usage.input + usage.output,
    )
