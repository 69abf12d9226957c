"""The dialect `anthropic-messages`: Anthropic's messages, as other providers speak them too."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from benchflow.gateway.altered import altered
from benchflow.gateway.dialects.json_text import array_items, insert_item, members, read_json, replace_member
from benchflow.gateway.dialects.listing import list_route
from benchflow.gateway.dialects.messages_assembler import MessagesAssembler, usage_of
from benchflow.gateway.dialects.messages_reading import read_request
from benchflow.gateway.dialects.sse import write_event
from benchflow.gateway.dialects.writing import event_response, json_response
from benchflow.gateway.message import Change, ModelAnswer, ModelRequest, RawRequest, RawResponse, Route, ToolUse

GENERATE = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
MODELS = "/v1/models"
PROBES = ("", "/v1", "/api/hello")
"""Where clients see whether the server is there."""
CREATED = "2026-01-01T00:00:00Z"
"""The time in answers that we write: fixed, so that a request sent twice gets the same answer."""

_ERRORS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class AnthropicMessages:
    """Requests to paths that end in `/v1/messages`, counts of tokens, lists of models, and probes of the root."""

    name = "anthropic-messages"
    base_path = ""
    key_header = "x-api-key"
    key_prefix = ""
    conversation = "messages"

    def route(self, method: str, path: str) -> Route | None:
        """Say what the request is for."""
        if method == "POST" and path.endswith(GENERATE):
            return Route(kind="generate", tail=GENERATE)
        if method == "POST" and path.endswith(COUNT):
            return Route(kind="count_tokens", tail=COUNT)
        if found := list_route(method, path, MODELS):
            return found
        if method in ("GET", "HEAD") and path.rstrip("/") in PROBES:
            return Route(kind="probe", tail=path)
        return None

    def read(self, request: RawRequest) -> ModelRequest:
        """Read a generate request. Raises ValueError where the body is not one."""
        return read_request(read_json(request.body))

    def set_model(self, request: RawRequest, model: str) -> tuple[RawRequest, Change]:
        """Replace the model by a splice in the original bytes."""
        before = read_json(request.body).get("model")
        change = Change(kind="model", path="body.model", before=before, after=model)
        body = replace_member(request.body, "model", orjson.dumps(model))
        return altered(request, body=body, changes=(*request.changes, change)), change

    def append_text(self, request: RawRequest, text: str, at: int | None = None) -> tuple[RawRequest, Change]:
        """Add a text block to the last of the first `at` messages, or of all; a message, where that is the assistant's.

        A message of the role `system` would be nearer, but not every model takes one, and none takes it everywhere. A
        text after the results of tools is taken by all, and two messages of the user in a row not by all.
        """
        change = Change(kind="wrap_up", path="body.messages", before=None, after=text)
        block = orjson.dumps({"type": "text", "text": text})
        content = _open_content(request.body, at)
        if content is None:
            item = b'{"role":"user","content":[' + block + b"]}"
            body = insert_item(request.body, "messages", item, at)
        else:
            start, end = content
            body = request.body[:start] + _with_block(request.body[start:end], block) + request.body[end:]
        return altered(request, body=body, changes=(*request.changes, change)), change

    def write(self, answer: ModelAnswer, request: ModelRequest) -> RawResponse:
        """Write an answer, streamed if the request asks for it."""
        if request.stream:
            return event_response(
                [write_event(orjson.dumps(event), event["type"]) for event in _events(answer, request)]
            )
        return json_response(200, _message(answer, request))

    def write_models(self, models: Sequence[str]) -> RawResponse:
        """Write a list of models."""
        data = [_model(model) for model in models]
        first, last = (models[0], models[-1]) if models else (None, None)
        return json_response(200, {"data": data, "has_more": False, "first_id": first, "last_id": last})

    def write_model(self, model: str) -> RawResponse:
        """Write one model of the list."""
        return json_response(200, _model(model))

    def write_count(self, tokens: int) -> RawResponse:
        """Write how many tokens a request has."""
        return json_response(200, {"input_tokens": tokens})

    def refuse(self, request: RawRequest, status: int, message: str) -> RawResponse:
        """Write an error as Anthropic's servers do."""
        kind = _ERRORS.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
        body = {"type": "error", "error": {"type": kind, "message": message}}
        return json_response(status, body, origin="gateway")

    def assembler(self) -> MessagesAssembler:
        """Return what makes one value of a response."""
        return MessagesAssembler()


def _model(model: str) -> dict[str, Any]:
    return {"type": "model", "id": model, "display_name": model, "created_at": CREATED}


def _open_content(body: bytes, at: int | None) -> tuple[int, int] | None:
    """Find the content of the last of the first `at` messages, or of all.

    None where nothing can be added to it: the assistant's, or none at all.
    """
    messages = [member for member in members(body) if member.name == "messages"]
    if not messages or body[messages[-1].start : messages[-1].start + 1] != b"[":
        raise ValueError("no array 'messages'")
    places = array_items(body, messages[-1].start)
    last = (places if at is None else places[:at])[-1:]
    if not last or body[last[0][0] : last[0][0] + 1] != b"{":
        return None
    message = {member.name: member for member in members(body, *last[0])}
    role, content = message.get("role"), message.get("content")
    if role is None or content is None or read_json(body[role.start : role.end]) not in ("user", "system"):
        return None
    return (content.start, content.end) if body[content.start : content.start + 1] in (b'"', b"[") else None


def _with_block(content: bytes, block: bytes) -> bytes:
    """Put a block after a content, which is a list of blocks, or a text that stands for one."""
    if content.startswith(b"["):
        inside = content[1:-1]
        return content[:-1] + (b"," if inside.strip() else b"") + block + b"]"
    return b'[{"type":"text","text":' + content + b"}," + block + b"]"


def _message(answer: ModelAnswer, request: ModelRequest) -> dict[str, Any]:
    return {
        **_frame(answer, request),
        "content": list(_blocks(answer)),
        "stop_reason": "tool_use" if answer.tool_calls else "end_turn",
        "usage": usage_of(answer.tokens),
    }


def _frame(answer: ModelAnswer, request: ModelRequest) -> dict[str, Any]:
    digest = hashlib.sha256(orjson.dumps([request.model, answer.text, [_call(call) for call in answer.tool_calls]]))
    return {
        "id": f"msg_{digest.hexdigest()[:24]}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage_of(answer.tokens), "output_tokens": min(answer.tokens.output, 1)},
    }


def _blocks(answer: ModelAnswer) -> Iterator[dict[str, Any]]:
    if answer.text:
        yield {"type": "text", "text": answer.text}
    yield from map(_call, answer.tool_calls)


def _call(call: ToolUse) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}


def _events(answer: ModelAnswer, request: ModelRequest) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _frame(answer, request)}
    yield {"type": "ping"}
    for index, block in enumerate(_blocks(answer)):
        opening, delta = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    whole = _message(answer, request)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def _opened(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a block into what a stream opens it with, and what then comes."""
    if block["type"] == "text":
        return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    arguments = orjson.dumps(block["input"]).decode()
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
