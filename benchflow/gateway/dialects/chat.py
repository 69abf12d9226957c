"""The dialect `openai-completions`: OpenAI's chat completions, as many providers speak it."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.chat_assembler import ChatAssembler, tool_uses
from benchflow.gateway.dialects.json_text import insert_item, read_json, replace_member
from benchflow.gateway.dialects.listing import list_route
from benchflow.gateway.dialects.sse import write_event
from benchflow.gateway.dialects.writing import event_response, json_response, openai_error
from benchflow.gateway.message import (
    Change,
    Message,
    Messages,
    ModelAnswer,
    ModelRequest,
    RawRequest,
    RawResponse,
    Route,
    ToolDefinition,
    ToolResult,
    ToolUse,
)

GENERATE = "/chat/completions"
MODELS = "/models"
CREATED = 1_767_225_600
"""The time in answers that we write: fixed, so that a request sent twice gets the same answer."""

_ROLES: Mapping[str, Any] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


class Chat:
    """Requests to any path that ends in `/chat/completions`, lists of models, and probes of the root."""

    name = "openai-completions"
    base_path = "/v1"
    key_header = "Authorization"
    key_prefix = "Bearer "
    conversation = "messages"

    def route(self, method: str, path: str) -> Route | None:
        """Say what the request is for."""
        if method == "POST" and path.endswith(GENERATE):
            return Route(kind="generate", tail=GENERATE)
        if found := list_route(method, path, MODELS):
            return found
        if method in ("GET", "HEAD") and path.rstrip("/") in ("", self.base_path):
            return Route(kind="probe", tail="/")
        return None

    def read(self, request: RawRequest) -> ModelRequest:
        """Read a generate request. Raises ValueError where the body is not one."""
        body = read_json(request.body)
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            raise ValueError("not a chat completion request")
        options = body.get("stream_options")
        return ModelRequest(
            model=str(body.get("model") or ""),
            messages=Messages([item for item in body["messages"] if isinstance(item, dict)], _message),
            tools=_tools(body.get("tools")),
            tool_choice=_tool_choice(body),
            stream=body.get("stream") is True,
            include_usage=isinstance(options, dict) and options.get("include_usage") is True,
            schema=_schema(body.get("response_format")),
        )

    def set_model(self, request: RawRequest, model: str) -> tuple[RawRequest, Change]:
        """Replace the model by a splice in the original bytes."""
        before = read_json(request.body).get("model")
        change = Change(kind="model", path="body.model", before=before, after=model)
        body = replace_member(request.body, "model", orjson.dumps(model))
        return replace(request, body=body, changes=(*request.changes, change)), change

    def append_text(self, request: RawRequest, text: str, at: int | None = None) -> tuple[RawRequest, Change]:
        """Add a system message behind the first `at` messages, or at the end of the conversation."""
        change = Change(kind="wrap_up", path="body.messages", before=None, after=text)
        item = orjson.dumps({"role": "system", "content": text})
        body = insert_item(request.body, "messages", item, at)
        return replace(request, body=body, changes=(*request.changes, change)), change

    def write(self, answer: ModelAnswer, request: ModelRequest) -> RawResponse:
        """Write an answer, streamed if the request asks for it."""
        if request.stream:
            events = [write_event(orjson.dumps(chunk)) for chunk in _chunks(answer, request)]
            events.append(write_event(b"[DONE]"))
            return event_response(events)
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.tool_calls:
            message["tool_calls"] = [_call(call) for call in answer.tool_calls]
        choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
        body = {**_frame(answer, request, "chat.completion"), "choices": [choice], "usage": _usage(answer.tokens)}
        return json_response(200, body)

    def write_models(self, models: Sequence[str]) -> RawResponse:
        """Write a list of models."""
        data = [_model(model) for model in models]
        return json_response(200, {"object": "list", "data": data})

    def write_model(self, model: str) -> RawResponse:
        """Write one model of the list."""
        return json_response(200, _model(model))

    def refuse(self, request: RawRequest, status: int, message: str) -> RawResponse:
        """Write an error as OpenAI's servers do."""
        return json_response(status, openai_error(status, message), origin="gateway")

    def write_count(self, tokens: int) -> RawResponse:
        """Say that there is no such thing: clients of this dialect count by themselves."""
        error = {"message": "chat completions count no tokens", "type": "invalid_request_error"}
        return json_response(404, {"error": error})

    def assembler(self) -> ChatAssembler:
        """Return what makes one value of a response."""
        return ChatAssembler()


def _model(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": CREATED, "owned_by": "benchflow"}


def _message(item: dict[str, Any]) -> Message:
    role = _ROLES.get(str(item.get("role")), "user")
    content = item.get("content")
    texts = (content,) if isinstance(content, str) else _texts(content)
    if role == "tool":
        result = ToolResult(call_id=str(item.get("tool_call_id") or item.get("name") or ""), text="\n".join(texts))
        return Message(role="tool", tool_results=(result,))
    return Message(role=role, texts=texts, tool_uses=tool_uses(item.get("tool_calls")))


def _texts(content: Any) -> tuple[str, ...]:
    parts = content if isinstance(content, list) else ()
    found = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return tuple(text for text in found if isinstance(text, str))


def _tools(tools: Any) -> tuple[ToolDefinition, ...]:
    found = []
    for tool in tools if isinstance(tools, list) else ():
        definition = tool.get(str(tool.get("type")), tool) if isinstance(tool, dict) else None
        if isinstance(definition, dict) and definition.get("name"):
            parameters = definition.get("parameters")
            described = ToolDefinition(
                name=str(definition["name"]),
                description=str(definition.get("description") or ""),
                parameters=parameters if isinstance(parameters, dict) else {},
            )
            found.append(described)
    return tuple(found)


def _tool_choice(body: Mapping[str, Any]) -> str | None:
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        function = choice.get("function")
        return str(function["name"]) if isinstance(function, dict) and function.get("name") else "auto"
    return choice if isinstance(choice, str) else None


def _schema(response_format: Any) -> Mapping[str, Any] | None:
    if not isinstance(response_format, dict) or response_format.get("type") not in ("json_schema", "json_object"):
        return None
    declared = response_format.get("json_schema")
    schema = declared.get("schema") if isinstance(declared, dict) else None
    return schema if isinstance(schema, dict) else {"type": "object"}


def _frame(answer: ModelAnswer, request: ModelRequest, kind: str) -> dict[str, Any]:
    digest = hashlib.sha256(orjson.dumps([request.model, answer.text, [_call(call) for call in answer.tool_calls]]))
    return {"id": f"chatcmpl-{digest.hexdigest()[:24]}", "object": kind, "created": CREATED, "model": request.model}


def _chunks(answer: ModelAnswer, request: ModelRequest) -> Iterator[dict[str, Any]]:
    frame = _frame(answer, request, "chat.completion.chunk")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if answer.text:
        deltas.append({"content": answer.text})
    for index, call in enumerate(answer.tool_calls):
        whole = _call(call)
        opening = {**whole, "function": {**whole["function"], "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **opening}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": whole["function"]["arguments"]}}]})
    for delta in deltas:
        yield {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(answer)}]}
    if request.include_usage:
        yield {**frame, "choices": [], "usage": _usage(answer.tokens)}


def _call(call: ToolUse) -> dict[str, Any]:
    arguments = orjson.dumps(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _finish(answer: ModelAnswer) -> str:
    return "tool_calls" if answer.tool_calls else "stop"


def _usage(tokens: TokenBreakdown) -> dict[str, Any]:
    prompt = tokens.input + tokens.cache_read + tokens.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": tokens.output,
        "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }
