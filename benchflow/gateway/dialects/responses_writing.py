"""Writes answers as OpenAI's responses API gives them: as one object, or as the events that lead up to it."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.sse import write_event
from benchflow.gateway.message import ModelAnswer, ModelRequest, ToolDefinition, ToolUse

CREATED = 1_767_225_600
"""The time in answers that we write: fixed, so that a request sent twice gets the same answer."""

Item = dict[str, Any]
Event = tuple[str, dict[str, Any]]
"""What follows `response.` in an event's type, and its members."""


def response_body(answer: ModelAnswer, request: ModelRequest) -> dict[str, Any]:
    """Return the whole response."""
    digest = _digest(answer, request)
    output = [*_messages(answer, digest), *_calls(answer.tool_calls, request)]
    if request.compacts:
        output = [_compaction(answer, digest)]
    return {**_frame(digest, request, "completed", output), "usage": _usage(answer.tokens)}


def compaction_body(answer: ModelAnswer, request: ModelRequest) -> dict[str, Any]:
    """Return a conversation made shorter: what the user said, and the answer for a summary of the rest."""
    digest = _digest(answer, request)
    said = [text for message in request.messages if message.role == "user" for text in message.texts]
    users = [
        {
            "type": "message",
            "id": f"msg_{digest}_{at}",
            "role": "user",
            "status": "completed",
            "content": [_input(text)],
        }
        for at, text in enumerate(said)
    ]
    return {
        "id": f"resp_{digest}",
        "object": "response.compaction",
        "created_at": CREATED,
        "output": [*users, _compaction(answer, digest)],
        "usage": _usage(answer.tokens),
    }


def response_events(body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the events that lead up to the response, and end with it."""
    for number, (name, members) in enumerate(_events(body)):
        event = {"type": f"response.{name}", **members, "sequence_number": number}
        yield write_event(orjson.dumps(event), f"response.{name}")


def _events(body: Mapping[str, Any]) -> Iterator[Event]:
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    yield "created", {"response": begun}
    yield "in_progress", {"response": begun}
    for index, item in enumerate(body["output"]):
        place = {"output_index": index}
        bare, growth = _grown_from(item)
        yield "output_item.added", {**place, "item": {**bare, "status": "in_progress"}}
        for name, members in growth:
            yield name, {**place, "item_id": item["id"], **members}
        yield "output_item.done", {**place, "item": item}
    yield "completed", {"response": body}


def _grown_from(item: Item) -> tuple[Item, Sequence[Event]]:
    """Return the item as it begins, and the events by which it grows."""
    match item["type"]:
        case "message":
            part = item["content"][0]
            text, bare, at = part["text"], {**part, "text": ""}, {"content_index": 0}
            growth = [
                ("content_part.added", {**at, "part": bare}),
                ("output_text.delta", {**at, "delta": text, "logprobs": []}),
                ("output_text.done", {**at, "text": text, "logprobs": []}),
                ("content_part.done", {**at, "part": part}),
            ]
            return {**item, "content": []}, growth
        case "function_call":
            growth = [
                ("function_call_arguments.delta", {"delta": item["arguments"]}),
                ("function_call_arguments.done", {"arguments": item["arguments"], "name": item["name"]}),
            ]
            return {**item, "arguments": ""}, growth
        case "custom_tool_call":
            growth = [
                ("custom_tool_call_input.delta", {"delta": item["input"]}),
                ("custom_tool_call_input.done", {"input": item["input"]}),
            ]
            return {**item, "input": ""}, growth
    return item, ()


def _digest(answer: ModelAnswer, request: ModelRequest) -> str:
    calls = [(call.id, call.name, call.arguments) for call in answer.tool_calls]
    return hashlib.sha256(orjson.dumps([request.model, answer.text, calls])).hexdigest()[:24]


def _frame(digest: str, request: ModelRequest, status: str, output: Sequence[Item]) -> dict[str, Any]:
    """Return the members that every response has; clients with strict types miss any that is left out."""
    return {
        "id": f"resp_{digest}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": request.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": request.continues,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def _messages(answer: ModelAnswer, digest: str) -> Iterator[Item]:
    if answer.text or not answer.tool_calls:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": f"msg_{digest}", "role": "assistant", "content": [part]}
        yield {**message, "status": "completed"}


def _calls(calls: Sequence[ToolUse], request: ModelRequest) -> Iterator[Item]:
    tools = {tool.name: tool for tool in request.tools}
    for call in calls:
        yield {**_call(call, tools.get(call.name)), "call_id": call.id, "status": "completed"}


def _call(call: ToolUse, tool: ToolDefinition | None) -> Item:
    arguments, named = dict(call.arguments), {"name": call.name}
    if tool and tool.namespace:
        named = {"name": call.name.removeprefix(f"{tool.namespace}."), "namespace": tool.namespace}
    match tool.kind if tool else "function":
        case "custom":
            return {"type": "custom_tool_call", "id": f"ctc_{call.id}", **named, "input": _free_form(arguments)}
        case "local_shell":
            action = {"type": "exec", "env": {}, **arguments}
            return {"type": "local_shell_call", "id": f"lsh_{call.id}", "action": action}
        case "shell":
            return {"type": "shell_call", "id": f"sh_{call.id}", "action": arguments}
        case "apply_patch":
            return {"type": "apply_patch_call", "id": f"apc_{call.id}", "operation": arguments}
        case "tool_search":
            return {"type": "tool_search_call", "id": f"ts_{call.id}", "execution": "client", "arguments": arguments}
    text = orjson.dumps(arguments).decode()
    return {"type": "function_call", "id": f"fc_{call.id}", **named, "arguments": text}


def _free_form(arguments: Mapping[str, Any]) -> str:
    """Return the one text that a free-form tool takes."""
    text = arguments.get("input")
    return text if isinstance(text, str) else orjson.dumps(arguments).decode()


def _compaction(answer: ModelAnswer, digest: str) -> Item:
    return {"type": "compaction", "id": f"cmp_{digest}", "encrypted_content": answer.text}


def _input(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _usage(tokens: TokenBreakdown) -> dict[str, Any]:
    prompt = tokens.input + tokens.cache_read + tokens.cache_write
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": tokens.cache_read, "cache_write_tokens": tokens.cache_write},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": prompt + tokens.output,
    }
