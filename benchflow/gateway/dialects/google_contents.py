"""What a request to Google's API says: its conversation, its tools, the form that it wants. Pure.

The API takes names in camel case and in snake case, and one thing where a list could stand.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import orjson

from benchflow.gateway.message import Message, Messages, ToolDefinition, ToolResult, ToolUse

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_SAID = ("output", "result", "error", "content", "response")
"""Members of a function's response that are its text, where they are one."""


def member(value: Any, name: str) -> Any:
    """Return the member of that name, in camel case or in snake case; None where there is none."""
    if not isinstance(value, dict):
        return None
    found = value.get(name)
    return value.get(_snake(name)) if found is None else found


@cache
def _snake(name: str) -> str:
    return _CAPITAL.sub("_", name).lower()


def read_messages(body: Mapping[str, Any]) -> Messages:
    """Read the conversation, what the system says first."""
    contents = [content for content in _listed(member(body, "contents")) if isinstance(content, dict)]
    system = _system_texts(member(body, "systemInstruction"))
    conversation = _Conversation(contents, system)
    return Messages(range(-1 if system else 0, len(contents)), conversation.message)


def read_tools(body: Mapping[str, Any]) -> tuple[ToolDefinition, ...]:
    """Read the functions that the client can run, those alone that may be called where the request names some."""
    allowed = _allowed(body)
    return tuple(tool for tool in _declared(body) if not allowed or tool.name in allowed)


def read_tool_choice(body: Mapping[str, Any]) -> str | None:
    """Read whether functions may, must or must not be called."""
    mode = member(_calling(body), "mode")
    if mode == "ANY":
        allowed = _allowed(body)
        return allowed[0] if len(allowed) == 1 else "required"
    return {"AUTO": "auto", "VALIDATED": "auto", "NONE": "none"}.get(mode) if isinstance(mode, str) else None


def read_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read the schema that the answer's text must fit; None: any text."""
    config = member(body, "generationConfig")
    for name in ("responseJsonSchema", "responseSchema"):
        if isinstance(schema := member(config, name), dict):
            return schema
    return {"type": "object"} if member(config, "responseMimeType") == "application/json" else None


def read_calls(parts: Any) -> tuple[ToolUse, ...]:
    """Read the calls among the parts of an answer."""
    calls = (member(part, "functionCall") for part in _listed(parts))
    return tuple(_tool_use(call, str(call.get("id") or "")) for call in calls if isinstance(call, dict))


class _Conversation:
    """The contents of a request. Calls and results without an id belong together by name and order."""

    def __init__(self, contents: Sequence[dict[str, Any]], system: tuple[str, ...]) -> None:
        self._contents = contents
        self._system = system

    def message(self, at: int) -> Message:
        """Read the content at a place; the system's instruction is at -1."""
        if at < 0:
            return Message(role="system", texts=self._system)
        content = self._contents[at]
        texts, uses, results = [], [], []
        for index, part in enumerate(_listed(content.get("parts"))):
            if isinstance(call := member(part, "functionCall"), dict):
                uses.append(_tool_use(call, str(call.get("id") or self._ids[at, index])))
            elif isinstance(response := member(part, "functionResponse"), dict):
                results.append(_tool_result(response, str(response.get("id") or self._ids[at, index])))
            elif (text := _text(part)) is not None:
                texts.append(text)
        role = "tool" if results else _role(content)
        return Message(role=role, texts=tuple(texts), tool_uses=tuple(uses), tool_results=tuple(results))

    @cached_property
    def _ids(self) -> dict[tuple[int, int], str]:
        """Ids for calls and results, by their places: a result is that of the first call of its name that waits."""
        ids: dict[tuple[int, int], str] = {}
        waiting: list[tuple[str, str]] = []
        for at, content in enumerate(self._contents):
            parts = list(enumerate(_listed(content.get("parts"))))
            calls = [(index, call) for index, part in parts if isinstance(call := member(part, "functionCall"), dict)]
            if calls:
                waiting = [
                    (str(call.get("name")), str(call.get("id") or f"call_{at}_{index}")) for index, call in calls
                ]
                ids.update(((at, index), entry[1]) for (index, _), entry in zip(calls, waiting, strict=True))
            for index, part in parts:
                if isinstance(response := member(part, "functionResponse"), dict):
                    name = str(response.get("name"))
                    found = next((entry for entry in waiting if entry[0] == name), (name, name))
                    ids[at, index] = found[1]
                    if found in waiting:
                        waiting.remove(found)
        return ids


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _role(content: Mapping[str, Any]) -> Any:
    return {"model": "assistant", "assistant": "assistant", "system": "system"}.get(str(content.get("role")), "user")


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) and part.get("thought") is not True else None
    return text if isinstance(text, str) else None


def _system_texts(instruction: Any) -> tuple[str, ...]:
    parts = instruction.get("parts", instruction) if isinstance(instruction, dict) else instruction
    return tuple(text for part in _listed(parts) if (text := _text(part)) is not None)


def _tool_use(call: Mapping[str, Any], call_id: str) -> ToolUse:
    arguments = call.get("args")
    return ToolUse(
        id=call_id, name=str(call.get("name") or ""), arguments=arguments if isinstance(arguments, dict) else {}
    )


def _tool_result(response: Mapping[str, Any], call_id: str) -> ToolResult:
    said = response.get("response")
    return ToolResult(call_id=call_id, text=_said(said), is_error=isinstance(said, dict) and bool(said.get("error")))


def _said(response: Any) -> str:
    """What a function returned, as text: the one text in it, or all of it as JSON."""
    if isinstance(response, dict) and len(response) == 1:
        value = next(iter(response.values()))
        if isinstance(value, str):
            return value
    if isinstance(response, dict):
        texts = [response[name] for name in _SAID if isinstance(response.get(name), str)]
        if len(texts) == 1:
            return texts[0]
    try:
        return "" if response is None else orjson.dumps(response).decode()
    except orjson.JSONEncodeError:
        return "nested too deeply to be shown"


def _declared(body: Mapping[str, Any]) -> Iterator[ToolDefinition]:
    for tool in _listed(member(body, "tools")):
        for declared in _listed(member(tool, "functionDeclarations")):
            if not isinstance(declared, dict) or not declared.get("name"):
                continue
            parameters = member(declared, "parametersJsonSchema") or declared.get("parameters")
            yield ToolDefinition(
                name=str(declared["name"]),
                description=str(declared.get("description") or ""),
                parameters=parameters if isinstance(parameters, dict) else {},
            )


def _calling(body: Mapping[str, Any]) -> Any:
    return member(member(body, "toolConfig"), "functionCallingConfig")


def _allowed(body: Mapping[str, Any]) -> list[str]:
    names = member(_calling(body), "allowedFunctionNames")
    return [str(name) for name in names] if isinstance(names, list) else []
