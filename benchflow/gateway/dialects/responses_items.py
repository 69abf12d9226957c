"""What the items and tools of OpenAI's responses mean: the same items go in as history and come out as answers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchflow.gateway.dialects.assembling import arguments_of
from benchflow.gateway.message import Message, ToolDefinition, ToolResult, ToolUse

OWN_NAMESPACE = "functions"
"""The namespace of tools that stand in none."""

_ROLES: Mapping[str, Any] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_TEXTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal"})
_UNHEARD = frozenset({"additional_tools", "compaction", "compaction_summary", "compaction_trigger"})
"""Items that say something about the conversation, and nothing in it."""
_ACTIONS: Mapping[str, tuple[str, str]] = {
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "computer_call": ("computer", "action"),
}
"""Calls of tools that OpenAI defines and the agent runs: the tool's name, and the member with its arguments."""
_LIST_OF_TEXTS = {"type": "array", "items": {"type": "string"}}
_DEFINED: Mapping[str, Mapping[str, Any]] = {
    "local_shell": {"type": "object", "properties": {"command": _LIST_OF_TEXTS}, "required": ["command"]},
    "shell": {"type": "object", "properties": {"commands": _LIST_OF_TEXTS}, "required": ["commands"]},
}
"""The parameters of such tools."""


def read_message(item: Mapping[str, Any]) -> Message:
    """Read an item of a request's history."""
    kind = str(item.get("type") or "message")
    if kind == "message":
        role = _ROLES.get(str(item.get("role")), "user")
        return Message(role=role, texts=texts_of(item.get("content")))
    if use := tool_use(item):
        return Message(role="assistant", tool_uses=(use,))
    if kind.endswith("_output"):
        return Message(role="tool", tool_results=(_result(item),))
    return Message(role="system" if kind in _UNHEARD else "assistant")


def tool_use(item: Mapping[str, Any]) -> ToolUse | None:
    """Read a call that the agent has to run; None: the item is none."""
    kind = str(item.get("type"))
    call_id = str(item.get("call_id") or item.get("id") or "")
    if kind == "function_call":
        return ToolUse(id=call_id, name=_qualified(item), arguments=arguments_of(item.get("arguments")))
    if kind == "custom_tool_call":
        return ToolUse(id=call_id, name=_qualified(item), arguments={"input": str(item.get("input") or "")})
    if kind == "tool_search_call" and item.get("execution") == "client":
        return ToolUse(id=call_id, name="tool_search", arguments=arguments_of(item.get("arguments")))
    if kind in _ACTIONS:
        name, member = _ACTIONS[kind]
        given = item.get(member)
        arguments = {key: value for key, value in given.items() if value is not None} if isinstance(given, dict) else {}
        return ToolUse(id=call_id, name=name, arguments=arguments)
    return None


def _result(item: Mapping[str, Any]) -> ToolResult:
    output = item.get("output")
    if isinstance(output, dict):
        output = output.get("content", output)
    texts = (output,) if isinstance(output, str) else texts_of(output)
    return ToolResult(
        call_id=str(item.get("call_id") or item.get("id") or ""),
        text="\n".join(texts),
        is_error=item.get("status") == "failed",
    )


def texts_of(content: Any) -> tuple[str, ...]:
    """Return the texts of a message's content, or of a call's output, in order."""
    if isinstance(content, str):
        return (content,)
    return tuple(_texts(content if isinstance(content, list) else ()))


def _texts(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            found = [part.get("refusal"), part.get("text")] if str(part.get("type", "text")) in _TEXTS else []
            found += [part.get("stdout"), part.get("stderr")]
            yield from (text for text in found if isinstance(text, str) and text)


def read_tools(tools: Any) -> Iterator[ToolDefinition]:
    """Read the definitions of tools, those in namespaces too. One that OpenAI runs itself has its type for a name."""
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        if tool.get("type") == "namespace":
            inner = tool.get("tools")
            members = [member for member in inner if isinstance(member, dict)] if isinstance(inner, list) else []
            yield from read_tools([{**member, "namespace": tool.get("name")} for member in members])
        elif defined := _definition(tool):
            yield defined


def _definition(tool: Mapping[str, Any]) -> ToolDefinition | None:
    kind = str(tool.get("type"))
    name, parameters = _qualified(tool), tool.get("parameters")
    if kind in ("function", "custom"):
        if not name:
            return None
    elif kind == "mcp":
        name = f"mcp.{tool.get('server_label') or ''}"
    else:
        name, parameters = kind, _DEFINED.get(kind, parameters)
    if kind == "custom":
        parameters = _free_form(tool.get("format"))
    return ToolDefinition(
        name=name,
        description=str(tool.get("description") or ""),
        parameters=parameters if isinstance(parameters, Mapping) else {},
        kind=kind,
        namespace=_namespace(tool),
    )


def _free_form(form: Any) -> dict[str, Any]:
    """Describe the text that a custom tool takes as if it were a parameter; its grammar is the description."""
    grammar = form.get("definition") if isinstance(form, dict) else None
    described = {"description": grammar} if isinstance(grammar, str) else {}
    return {"type": "object", "properties": {"input": {"type": "string", **described}}, "required": ["input"]}


def _qualified(named: Mapping[str, Any]) -> str:
    """Return a tool's name with its namespace before it."""
    name, namespace = str(named.get("name") or ""), _namespace(named)
    return f"{namespace}.{name}" if name and namespace else name


def _namespace(named: Mapping[str, Any]) -> str | None:
    namespace = named.get("namespace")
    return str(namespace) if namespace and namespace != OWN_NAMESPACE else None


def chosen_tool(choice: Any) -> str | None:
    """Read a `tool_choice`: `auto`, `none`, `required`, or the name of the one tool that is forced."""
    if isinstance(choice, str):
        return choice
    if not isinstance(choice, dict):
        return None
    if choice.get("type") == "allowed_tools":
        tools = choice.get("tools")
        only = list(read_tools(tools))[:2] if choice.get("mode") == "required" else []
        return only[0].name if len(only) == 1 else str(choice.get("mode") or "auto")
    found = _definition(choice)
    return found.name if found else "auto"
