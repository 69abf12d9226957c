"""What a request of the dialect `anthropic-messages` says, in whatever forms it says it. Pure."""

from collections.abc import Mapping
from typing import Any

from benchflow.gateway.dialects.messages_assembler import tool_uses
from benchflow.gateway.message import Message, Messages, ModelRequest, ToolDefinition, ToolResult

_TEXT = {"type": "string"}
_DEFINED: Mapping[str, Mapping[str, Any]] = {
    "bash_": {"type": "object", "properties": {"command": _TEXT, "restart": {"type": "boolean"}}},
    "text_editor_": {
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert"]},
            "path": _TEXT,
            "file_text": _TEXT,
            "old_str": _TEXT,
            "new_str": _TEXT,
        },
        "required": ["command", "path"],
    },
}
"""Parameters of the tools that the API itself defines and the client carries out, by how their types begin."""
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def read_request(body: Any) -> ModelRequest:
    """Read a generate request. Raises ValueError where the body is not one."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        raise ValueError("not a messages request")
    items = [item for item in body["messages"] if isinstance(item, dict)]
    if body.get("system"):
        items.insert(0, {"role": "system", "content": body["system"]})
    return ModelRequest(
        model=str(body.get("model") or ""),
        messages=Messages(items, _message),
        tools=_tools(body.get("tools")),
        tool_choice=_tool_choice(body.get("tool_choice")),
        stream=body.get("stream") is True,
        schema=_schema(body),
    )


def _message(item: Mapping[str, Any]) -> Message:
    role, content = item.get("role"), item.get("content")
    blocks = content if isinstance(content, list) else ()
    results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
    return Message(
        role=role if role in ("system", "assistant") else "user",
        texts=_texts(content),
        tool_uses=tool_uses(content),
        tool_results=tuple(_result(block) for block in results),
    )


def _texts(content: Any) -> tuple[str, ...]:
    if isinstance(content, str):
        return (content,)
    blocks = content if isinstance(content, list) else ()
    found = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return tuple(text for text in found if isinstance(text, str))


def _result(block: Mapping[str, Any]) -> ToolResult:
    return ToolResult(
        call_id=str(block.get("tool_use_id") or ""),
        text="\n".join(_texts(block.get("content"))),
        is_error=block.get("is_error") is True,
    )


def _tools(tools: Any) -> tuple[ToolDefinition, ...]:
    found = []
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and tool.get("name"):
            described = ToolDefinition(
                name=str(tool["name"]), description=str(tool.get("description") or ""), parameters=_parameters(tool)
            )
            found.append(described)
    return tuple(found)


def _parameters(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = tool.get("input_schema")
    if isinstance(schema, dict):
        return schema
    kind = str(tool.get("type"))
    return next((known for begin, known in _DEFINED.items() if kind.startswith(begin)), {})


def _tool_choice(choice: Any) -> str | None:
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind == "tool" and choice.get("name"):
        return str(choice["name"])
    return _CHOICES.get(kind) if isinstance(kind, str) else None


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    config = body.get("output_config")
    for asked in (config.get("format") if isinstance(config, dict) else None, body.get("output_format")):
        if isinstance(asked, dict) and asked.get("type") == "json_schema":
            schema = asked.get("schema")
            return schema if isinstance(schema, dict) else {"type": "object"}
    return None
