"""One sample of requests and responses for each dialect, for the tests that hold for all of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest
from wire import MODEL, PROMPT, STREAM, USAGE, sse

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.message import ToolUse

TEXT = "Hello"
"""What every sample's responses say."""
TOKENS = TokenBreakdown.of(input=60, output=20, reasoning=5, cache_read=40)
"""What they say that they have cost."""
ERROR = "no such luck"
"""What every sample's error says."""
BASH = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What a request is to say, in whatever dialect."""

    model: str = MODEL
    text: str = PROMPT
    system: str = ""
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"bash": BASH})
    """Name → JSON Schema of the parameters."""
    choice: str | None = None
    """`auto`, `none`, `required`, or a tool's name; None: not said."""
    steps: Sequence[tuple[ToolUse, str]] = ()
    """Calls that the model has made so far, each with its result."""
    stream: bool = True


class Sample(Protocol):
    """Requests and responses of one dialect."""

    name: str
    stream: bytes
    """A whole streamed response that says TEXT and TOKENS."""
    whole: bytes
    """The same, not streamed."""
    error: bytes
    """The body of a response that says ERROR."""

    def path(self, ask: Ask) -> str:
        """Where the request goes."""
        ...

    def query(self, ask: Ask) -> str:
        """What stands behind the `?`."""
        ...

    def body(self, ask: Ask) -> bytes:
        """The request's body."""
        ...


def encode(body: Mapping[str, Any]) -> bytes:
    """JSON with odd spaces, so that whoever encodes it again is found out."""
    return json.dumps(body, separators=(" ,", ":  ")).encode()


class ChatSample:
    name = "openai-completions"
    stream = STREAM
    whole = encode(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
            "usage": USAGE,
        }
    )
    error = encode({"error": {"message": ERROR, "type": "invalid_request_error"}})

    def path(self, ask: Ask) -> str:
        return "/v1/chat/completions"

    def query(self, ask: Ask) -> str:
        return ""

    def body(self, ask: Ask) -> bytes:
        messages: list[dict[str, Any]] = [{"role": "system", "content": ask.system}] if ask.system else []
        messages.append({"role": "user", "content": ask.text})
        for call, result in ask.steps:
            function = {"name": call.name, "arguments": json.dumps(call.arguments)}
            calls = [{"id": call.id, "type": "function", "function": function}]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        body: dict[str, Any] = {"model": ask.model, "messages": messages}
        if ask.tools:
            functions = [{"name": name, "parameters": schema} for name, schema in ask.tools.items()]
            body["tools"] = [{"type": "function", "function": function} for function in functions]
        if ask.choice:
            known = ask.choice in ("auto", "none", "required")
            body["tool_choice"] = ask.choice if known else {"type": "function", "function": {"name": ask.choice}}
        return encode({**body, "stream": ask.stream, "stream_options": {"include_usage": True}})


class MessagesSample:
    name = "anthropic-messages"
    usage = {
        "input_tokens": 60,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 40,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 5},
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_sequence": None}
    whole = encode(
        {**message, "content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn", "usage": usage},
    )
    stream = b"".join(
        b"event: " + event["type"].encode() + b"\n" + sse(event)
        for event in (
            {
                "type": "message_start",
                "message": {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}},
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "He"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "llo"}},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 20},
            },
            {"type": "message_stop"},
        )
    )
    error = encode({"type": "error", "error": {"type": "invalid_request_error", "message": ERROR}})

    def path(self, ask: Ask) -> str:
        return "/v1/messages"

    def query(self, ask: Ask) -> str:
        return "beta=true"

    def body(self, ask: Ask) -> bytes:
        messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": ask.text}]}]
        for call, result in ask.steps:
            use = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
            messages.append({"role": "assistant", "content": [use]})
            answer = {"type": "tool_result", "tool_use_id": call.id, "content": result}
            messages.append({"role": "user", "content": [answer]})
        body: dict[str, Any] = {"model": ask.model, "max_tokens": 1024, "messages": messages}
        if ask.system:
            body["system"] = [{"type": "text", "text": ask.system, "cache_control": {"type": "ephemeral"}}]
        if ask.tools:
            body["tools"] = [{"name": name, "input_schema": schema} for name, schema in ask.tools.items()]
        if ask.choice:
            kinds = {"auto": "auto", "none": "none", "required": "any"}
            kind = kinds.get(ask.choice)
            body["tool_choice"] = {"type": kind} if kind else {"type": "tool", "name": ask.choice}
        return encode({**body, "stream": ask.stream})


GOOGLE_USAGE = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 40,
    "candidatesTokenCount": 15,
    "thoughtsTokenCount": 5,
    "totalTokenCount": 120,
}


def google_piece(text: str, usage: Mapping[str, int], **more: Any) -> bytes:
    candidate = {"content": {"parts": [{"text": text}], "role": "model"}, **more, "index": 0}
    told = {"usageMetadata": usage, "modelVersion": MODEL, "responseId": "r1"}
    return encode({"candidates": [candidate], **told})


class GoogleSample:
    name = "google-generative-ai"
    whole = google_piece(TEXT, GOOGLE_USAGE, finishReason="STOP")
    stream = b"".join(
        b"data: " + piece + b"\r\n\r\n"
        for piece in (
            google_piece("He", {"promptTokenCount": 100}),
            google_piece("llo", {**GOOGLE_USAGE, "candidatesTokenCount": 7}),
            google_piece("", GOOGLE_USAGE, finishReason="STOP"),
        )
    )
    error = encode({"error": {"code": 400, "message": ERROR, "status": "INVALID_ARGUMENT"}})

    def path(self, ask: Ask) -> str:
        return f"/v1beta/models/{ask.model}:{'streamGenerateContent' if ask.stream else 'generateContent'}"

    def query(self, ask: Ask) -> str:
        return "alt=sse" if ask.stream else ""

    def body(self, ask: Ask) -> bytes:
        contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": ask.text}]}]
        for call, result in ask.steps:
            asked = {"id": call.id, "name": call.name, "args": call.arguments}
            contents.append({"role": "model", "parts": [{"functionCall": asked}]})
            answer = {"id": call.id, "name": call.name, "response": {"output": result}}
            contents.append({"role": "user", "parts": [{"functionResponse": answer}]})
        body: dict[str, Any] = {"contents": contents}
        if ask.system:
            body["systemInstruction"] = {"role": "user", "parts": [{"text": ask.system}]}
        if ask.tools:
            functions = [{"name": name, "parametersJsonSchema": schema} for name, schema in ask.tools.items()]
            body["tools"] = [{"functionDeclarations": functions}]
        if ask.choice:
            modes = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
            named = {} if ask.choice in modes else {"allowedFunctionNames": [ask.choice]}
            body["toolConfig"] = {"functionCallingConfig": {"mode": modes.get(ask.choice, "ANY"), **named}}
        return encode(body)


class ResponsesSample:
    name = "openai-responses"
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 120,
    }
    message = {"type": "message", "id": "msg_1", "role": "assistant"}
    item = {**message, "status": "completed", "content": [{"type": "output_text", "text": TEXT, "annotations": []}]}
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": MODEL, "error": None}
    ended = {**response, "status": "completed", "output": [item], "usage": usage}
    whole = encode(ended)
    stream = b"".join(
        b"event: " + event["type"].encode() + b"\n" + sse({**event, "sequence_number": number})
        for number, event in enumerate(
            (
                {
                    "type": "response.created",
                    "response": {**response, "status": "in_progress", "output": [], "usage": None},
                },
                {
                    "type": "response.output_item.added",
                    "output_index": 0,
                    "item": {**message, "status": "in_progress", "content": []},
                },
                {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "He"},
                {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "llo"},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": ended},
            )
        )
    )
    error = encode({"error": {"message": ERROR, "type": "invalid_request_error"}})

    def path(self, ask: Ask) -> str:
        return "/v1/responses"

    def query(self, ask: Ask) -> str:
        return ""

    def body(self, ask: Ask) -> bytes:
        items: list[dict[str, Any]] = []
        if ask.system:
            items.append({"type": "message", "role": "developer", "content": ask.system})
        items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": ask.text}]})
        for call, result in ask.steps:
            arguments = json.dumps(call.arguments)
            items.append({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
            items.append({"type": "function_call_output", "call_id": call.id, "output": result})
        body: dict[str, Any] = {"model": ask.model, "input": items}
        if ask.tools:
            functions = [{"name": name, "parameters": schema} for name, schema in ask.tools.items()]
            body["tools"] = [{"type": "function", "strict": False, **function} for function in functions]
        if ask.choice:
            known = ask.choice in ("auto", "none", "required")
            body["tool_choice"] = ask.choice if known else {"type": "function", "name": ask.choice}
        return encode({**body, "store": False, "stream": ask.stream})


SAMPLES: tuple[Sample, ...] = (
    ChatSample(),
    MessagesSample(),
    GoogleSample(),
    ResponsesSample(),
)

in_every_dialect = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
