"""Messages, answers and tools of any dialect as Inspect has them, and the pool that has each message once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.message import Exchange, Message, ToolDefinition, ToolUse
from benchflow.report.exports.facts import without_none

_STOPS = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "incomplete": "max_tokens",
    "model_context_window_exceeded": "model_length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "safety": "content_filter",
}
"""Inspect's word for why an answer ended, by the dialects' words in lower case."""

_TYPES = {"string", "integer", "number", "boolean", "array", "object", "null"}
_KEPT: Mapping[str, type | tuple[type, ...]] = {
    "format": str,
    "description": str,
    "enum": list,
    "required": list,
    "pattern": str,
    "minLength": int,
    "maxLength": int,
    "minimum": (int, float),
    "maximum": (int, float),
    "examples": list,
}


class Pool:
    """Values that each stand once; a list of them is written as ranges of places in the pool."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[bytes, int] = {}

    def refer(self, values: Iterable[Any]) -> list[list[int]]:
        """Add what is new, and return the ranges, `[first, after the last]` each, that give the values back."""
        ranges: list[list[int]] = []
        for value in values:
            key = orjson.dumps(value)
            place = self._places.setdefault(key, len(self.values))
            if place == len(self.values):
                self.values.append(value)
            if ranges and ranges[-1][1] == place:
                ranges[-1][1] = place + 1
            else:
                ranges.append([place, place + 1])
        return ranges


def chat_messages(messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
    """Write a conversation; a message that holds texts and tool results at once becomes several."""
    for message in messages:
        for result in message.tool_results:
            yield without_none(
                {
                    "role": "tool",
                    "content": result.text,
                    "tool_call_id": result.call_id,
                    "error": {"type": "unknown", "message": result.text} if result.is_error else None,
                }
            )
        text = "\n".join(message.texts)
        if message.role == "assistant":
            calls = [tool_call(use) for use in message.tool_uses]
            yield without_none({"role": "assistant", "content": text, "tool_calls": calls or None})
        elif message.texts and message.role in ("system", "user"):
            yield {"role": message.role, "content": text}


def tool_call(use: ToolUse) -> dict[str, Any]:
    """Write a call that the model asked for."""
    return {"id": use.id, "function": use.name, "arguments": dict(use.arguments), "type": "function"}


def model_output(exchange: Exchange, model: str) -> dict[str, Any]:
    """Write what a model answered; without a choice where the exchange failed."""
    answer = exchange.answer
    thought = [{"type": "reasoning", "reasoning": answer.thought}] if answer.thought else []
    content = [*thought, {"type": "text", "text": answer.text}] if thought else answer.text
    message = {
        "role": "assistant",
        "content": content,
        "tool_calls": [tool_call(use) for use in answer.tool_calls] or None,
        "model": model,
        "source": "generate",
    }
    choice = {"message": without_none(message), "stop_reason": _STOPS.get((answer.finish or "").lower(), "unknown")}
    return without_none(
        {
            "model": model,
            "choices": [choice] if exchange.succeeded else [],
            "completion": answer.text if exchange.succeeded else "",
            "usage": usage(exchange.tokens, exchange.cost.total_usd) if exchange.tokens else None,
            "time": round(exchange.latency_ms / 1000, 6),
            "error": answer.error,
        }
    )


def usage(tokens: TokenBreakdown, cost_usd: float | None) -> dict[str, Any]:
    """Write token counts; Inspect's input is, like ours, without cache reads and writes."""
    counted = {
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "total_tokens": tokens.total,
        "input_tokens_cache_read": tokens.cache_read,
        "input_tokens_cache_write": tokens.cache_write,
        "reasoning_tokens": tokens.reasoning,
    }
    return without_none({**counted, "total_cost": cost_usd})


def tool_infos(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """Write the tools that a request offered, as much of their schemas as Inspect has words for."""
    return [
        {"name": tool.name, "description": tool.description, "parameters": _parameters(tool.parameters)}
        for tool in tools
    ]


def tool_choice(choice: str | None) -> str | dict[str, str]:
    """Write which tool a request left the model to choose; a request that does not say leaves it all."""
    if choice in ("auto", "none"):
        return choice
    if choice == "required":
        return "any"
    return {"name": choice} if choice else "auto"


def _parameters(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    required = schema.get("required")
    return {
        "type": "object",
        "properties": {name: _schema(inner) for name, inner in properties.items()}
        if isinstance(properties, dict)
        else {},
        "required": [name for name in required if isinstance(name, str)] if isinstance(required, list) else [],
        "additionalProperties": schema.get("additionalProperties") is not False,
    }


def _schema(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {}
    kept = {key: schema[key] for key, kind in _KEPT.items() if isinstance(schema.get(key), kind)}
    types = schema.get("type")
    named = types if isinstance(types, list) else [types]
    if named and all(isinstance(name, str) and name in _TYPES for name in named):
        kept["type"] = types
    if isinstance(schema.get("properties"), dict):
        kept["properties"] = {name: _schema(inner) for name, inner in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        kept["items"] = _schema(schema["items"])
    if isinstance(schema.get("anyOf"), list):
        kept["anyOf"] = [_schema(inner) for inner in schema["anyOf"]]
    if "default" in schema:
        kept["default"] = schema["default"]
    return kept
