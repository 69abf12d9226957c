"""The dialect `openai-responses`: OpenAI's responses API, as other servers speak it too.

A server of this API may keep the conversation itself (`previous_response_id`): a request then holds only what is new.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from benchflow.gateway.altered import altered
from benchflow.gateway.dialects.json_text import insert_item, members, read_json, replace_member
from benchflow.gateway.dialects.listing import list_route
from benchflow.gateway.dialects.responses_assembler import ResponsesAssembler
from benchflow.gateway.dialects.responses_items import chosen_tool, read_message, read_tools
from benchflow.gateway.dialects.responses_writing import CREATED, compaction_body, response_body, response_events
from benchflow.gateway.dialects.writing import event_response, json_response, openai_error
from benchflow.gateway.message import (
    Change,
    Messages,
    ModelAnswer,
    ModelRequest,
    RawRequest,
    RawResponse,
    Route,
    ToolDefinition,
)

GENERATE = "/responses"
COMPACT = "/responses/compact"
COUNT = "/responses/input_tokens"
MODELS = "/models"
TRIGGER = "compaction_trigger"
"""The last item of a request that asks for a compaction where answers are asked for."""

_KEPT = ("previous_response_id", "conversation", "prompt")
"""Members that name what the server keeps: a request with one of them needs no input."""


class Responses:
    """Requests to paths that end in `/responses`, compactions and counts below it, lists of models, and probes."""

    name = "openai-responses"
    base_path = "/v1"
    key_header = "Authorization"
    key_prefix = "Bearer "
    conversation = "input"

    def route(self, method: str, path: str) -> Route | None:
        """Say what the request is for."""
        if method == "POST":
            if tail := next((tail for tail in (GENERATE, COMPACT) if path.endswith(tail)), None):
                return Route(kind="generate", tail=tail)
            return Route(kind="count_tokens", tail=COUNT) if path.endswith(COUNT) else None
        if found := list_route(method, path, MODELS):
            return found
        if method in ("GET", "HEAD") and path.rstrip("/") in ("", self.base_path):
            return Route(kind="probe", tail="/")
        return None

    def read(self, request: RawRequest) -> ModelRequest:
        """Read a generate request. Raises ValueError where the body is not one."""
        body = read_json(request.body)
        if not isinstance(body, dict):
            raise ValueError("not a request for a response")
        items = _items(body)
        return ModelRequest(
            model=str(body.get("model") or ""),
            messages=Messages(items, read_message),
            tools=tuple(_tools(body, items)),
            tool_choice=chosen_tool(body.get("tool_choice")),
            stream=body.get("stream") is True,
            schema=_schema(body.get("text")),
            continues=str(body["previous_response_id"]) if body.get("previous_response_id") else None,
            conversation=_conversation(body.get("conversation")),
            compacts=request.path.endswith(COMPACT) or any(item.get("type") == TRIGGER for item in items[-1:]),
        )

    def set_model(self, request: RawRequest, model: str) -> tuple[RawRequest, Change]:
        """Replace the model by a splice in the original bytes."""
        before = read_json(request.body).get("model")
        change = Change(kind="model", path="body.model", before=before, after=model)
        body = replace_member(request.body, "model", orjson.dumps(model))
        return altered(request, body=body, changes=(*request.changes, change)), change

    def append_text(self, request: RawRequest, text: str, at: int | None = None) -> tuple[RawRequest, Change]:
        """Add a developer's message behind the first `at` items of the input, or at its end.

        An input that is one text becomes a message first.
        """
        change = Change(kind="wrap_up", path="body.input", before=None, after=text)
        item = orjson.dumps({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]})
        body = request.body
        found = [member for member in members(body) if member.name == "input"]
        start, end = (found[-1].start, found[-1].end) if found else (0, 0)
        if body[start : start + 1] == b"[":
            body = insert_item(body, "input", item, at)
        elif body[start : start + 1] == b'"':
            said = b'{"type":"message","role":"user","content":' + body[start:end] + b"}"
            body = body[:start] + b"[" + said + b"," + item + b"]" + body[end:]
        else:
            body = replace_member(body, "input", b"[" + item + b"]")
        return altered(request, body=body, changes=(*request.changes, change)), change

    def write(self, answer: ModelAnswer, request: ModelRequest) -> RawResponse:
        """Write an answer, streamed if the request asks for it."""
        if request.stream:
            return event_response(response_events(response_body(answer, request)))
        return json_response(200, (compaction_body if request.compacts else response_body)(answer, request))

    def write_models(self, models: Sequence[str]) -> RawResponse:
        """Write a list of models."""
        data = [_model(model) for model in models]
        return json_response(200, {"object": "list", "data": data})

    def write_model(self, model: str) -> RawResponse:
        """Write one model of the list."""
        return json_response(200, _model(model))

    def write_count(self, tokens: int) -> RawResponse:
        """Write how many tokens a request has."""
        return json_response(200, {"object": "response.input_tokens", "input_tokens": tokens})

    def refuse(self, request: RawRequest, status: int, message: str) -> RawResponse:
        """Write an error as OpenAI's servers do."""
        return json_response(status, openai_error(status, message), origin="gateway")

    def assembler(self) -> ResponsesAssembler:
        """Return what makes one value of a response."""
        return ResponsesAssembler()


def _model(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": CREATED, "owned_by": "benchflow"}


def _items(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the input's items, the instructions first."""
    given = body.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if given is None and any(body.get(name) for name in _KEPT):
        given = []
    if not isinstance(given, list):
        raise ValueError("not a request for a response: it has no input")
    items = [item for item in given if isinstance(item, dict)]
    instructions = body.get("instructions")
    return [{"role": "system", "content": instructions}, *items] if isinstance(instructions, str) else items


def _tools(body: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> Iterator[ToolDefinition]:
    """Yield the tools that are offered, those too that were added, or found by a search, in the conversation."""
    yield from read_tools(body.get("tools"))
    for item in items:
        if item.get("type") in ("additional_tools", "tool_search_output"):
            yield from read_tools(item.get("tools"))


def _conversation(named: Any) -> str | None:
    found = named.get("id") if isinstance(named, dict) else named
    return found if isinstance(found, str) and found else None


def _schema(text: Any) -> Mapping[str, Any] | None:
    form = text.get("format") if isinstance(text, dict) else None
    if not isinstance(form, dict) or form.get("type") not in ("json_schema", "json_object"):
        return None
    schema = form.get("schema")
    return schema if isinstance(schema, dict) else {"type": "object"}
