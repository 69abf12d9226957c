"""One conversation: asks the model, carries out its tool calls, and tells the client what happens."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from acp import RequestError, text_block, tool_content, update_agent_message_text, update_agent_thought_text
from acp.helpers import start_tool_call, update_tool_call
from acp.schema import PermissionOption, ToolCallLocation, ToolCallUpdate, UsageUpdate

from benchflow.agents.mini.chat import Answer, ChatApi, ToolCall, Usage
from benchflow.agents.mini.pace import Pace
from benchflow.agents.mini.tools import DEFINITIONS, Shell, ToolError, ToolOutput, WriteFile, read_call

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal"]

_STOP_REASONS: dict[str | None, StopReason] = {"length": "max_tokens", "content_filter": "refusal"}

_SYSTEM = """\
You are a coding agent. You work on your own in the directory {cwd}, with two tools: shell, which runs bash commands, \
and write_file. Look before you change anything, make the smallest change that does the whole task, and check that it \
works. When you are done, answer with a short summary of what you did, or with the answer that was asked for."""

_OPTIONS = [
    PermissionOption(option_id="once", name="Allow", kind="allow_once"),
    PermissionOption(option_id="always", name="Allow always", kind="allow_always"),
    PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
]


class Client(Protocol):
    """What a session needs of the connection to its client."""

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None: ...

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **kwargs: Any
    ) -> Any: ...


class Session:
    """A conversation in one working directory."""

    def __init__(
        self,
        id: str,
        *,
        cwd: Path,
        model: str,
        api: ChatApi,
        client: Client,
        context_tokens: int,
        pace: Pace | None = None,
    ) -> None:
        self.id = id
        self.model = model
        self.turn: asyncio.Task[StopReason] | None = None
        """The prompt turn under way."""
        self.usage = Usage()
        """Of the present or the last prompt turn."""
        self._cwd = cwd
        self._api = api
        self._client = client
        self._context_tokens = context_tokens
        self._pace = pace or Pace()
        self._allowed: set[str] = set()
        self._calls = 0
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM.format(cwd=cwd)}]

    async def run(self, prompt: str) -> StopReason:
        """Work on a prompt until the model has no more tool calls. Raises ModelError."""
        self.usage = Usage()
        self._messages.append({"role": "user", "content": prompt})
        turns = self._pace.begin()
        for _ in range(self._pace.max_turns):
            answer = await self._ask()
            if not answer.tool_calls:
                return _STOP_REASONS.get(answer.finish, "end_turn")
            await self._work(answer.tool_calls)
            self._messages += [{"role": "user", "content": text} for text in await turns.completed()]
        return "max_turn_requests"

    async def _ask(self) -> Answer:
        answer = await self._api.complete(
            model=self.model,
            messages=self._messages,
            tools=DEFINITIONS,
            on_text=lambda text: self._tell(update_agent_message_text(text)),
            on_thought=lambda text: self._tell(update_agent_thought_text(text)),
        )
        self._messages.append(_assistant_message(answer))
        if answer.usage:
            self.usage += answer.usage
            used = answer.usage.input + answer.usage.output
            await self._tell(UsageUpdate(session_update="usage_update", used=used, size=self._context_tokens))
        return answer

    async def _work(self, calls: Sequence[ToolCall]) -> None:
        """Carry out the calls in order; every one of them gets a result, also when the turn is cancelled."""
        results: list[str] = []
        try:
            for call in calls:
                results.append(await self._carry_out(call))  # noqa: PERF401 - those before a cancellation are kept
        finally:
            results += ["cancelled"] * (len(calls) - len(results))
            self._messages += [
                {"role": "tool", "tool_call_id": call.id, "content": text}
                for call, text in zip(calls, results, strict=True)
            ]

    async def _carry_out(self, call: ToolCall) -> str:
        self._calls += 1
        shown = f"{self._calls}-{call.id}"  # the model's ids need not be unique in a session
        try:
            tool = read_call(call.name, call.arguments)
        except ToolError as error:
            await self._announce(shown, call.name, "other", {"arguments": call.arguments}, ())
            return await self._finish(shown, ToolOutput(text=f"error: {error}", failed=True))
        locations = [ToolCallLocation(path=str(self._cwd / tool.path))] if isinstance(tool, WriteFile) else ()
        await self._announce(shown, tool.title, tool.kind, _raw_input(tool), locations)
        try:
            output = await self._run_if_permitted(call.name, shown, tool)
        except asyncio.CancelledError:
            await asyncio.shield(self._finish(shown, ToolOutput(text="cancelled", failed=True)))
            raise
        return await self._finish(shown, output)

    async def _run_if_permitted(self, name: str, shown: str, tool: Shell | WriteFile) -> ToolOutput:
        if not await self._permitted(name, shown, tool):
            return ToolOutput(text="error: the user did not allow this call", failed=True)
        await self._tell(update_tool_call(shown, status="in_progress"))
        try:
            return await tool.run(self._cwd)
        except ToolError as error:
            return ToolOutput(text=f"error: {error}", failed=True)

    async def _permitted(self, name: str, shown: str, tool: Shell | WriteFile) -> bool:
        if name in self._allowed:
            return True
        request = ToolCallUpdate(
            tool_call_id=shown, title=tool.title, kind=tool.kind, status="pending", raw_input=_raw_input(tool)
        )
        try:
            response = await self._client.request_permission(self.id, request, _OPTIONS)
        except RequestError:  # a client that cannot ask its user has not allowed it
            return False
        if response.outcome.outcome == "cancelled":
            raise asyncio.CancelledError
        if response.outcome.option_id == "always":
            self._allowed.add(name)
        return response.outcome.option_id in ("once", "always")

    async def _announce(
        self, shown: str, title: str, kind: Any, raw_input: dict[str, Any], locations: Sequence[ToolCallLocation]
    ) -> None:
        await self._tell(
            start_tool_call(
                shown, title, kind=kind, status="pending", raw_input=raw_input, locations=list(locations) or None
            )
        )

    async def _finish(self, shown: str, output: ToolOutput) -> str:
        await self._tell(
            update_tool_call(
                shown,
                status="failed" if output.failed else "completed",
                content=[tool_content(text_block(output.text))],
                raw_output={"output": output.text},
            )
        )
        return output.text

    async def _tell(self, update: Any) -> None:
        await self._client.session_update(self.id, update)


def _raw_input(tool: Shell | WriteFile) -> dict[str, Any]:
    if isinstance(tool, Shell):
        return {"command": tool.command, "timeout_s": tool.timeout_s}
    return {"path": tool.path, "content": tool.content}


def _assistant_message(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if calls := answer.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return message
