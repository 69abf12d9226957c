"""How the providers of each dialect say that something failed: bodies of errors, and streams with an error inside."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wire import sse


@dataclass(frozen=True)
class Errors:
    """The forms of one dialect."""

    too_long: bytes
    """The body of a 400: the request is longer than the model's context."""
    filtered: bytes
    """The body of a 400: a content filter refused the request."""
    overloaded: bytes
    """A stream with status 200 that breaks off with an error of the server."""
    refused: bytes
    """A stream with status 200 that says inside that the request was refused for what is in it."""


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


def _named(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + sse(event)


def _openai(message: str, code: str | None) -> bytes:
    error = {"message": message, "type": "invalid_request_error", "param": "messages", "code": code}
    return _json({"error": error})


def _anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _google(code: int, status: str, message: str) -> bytes:
    return _json({"error": {"code": code, "message": message, "status": status}})


def _failed(code: str, message: str) -> bytes:
    response = {"id": "resp_1", "object": "response", "status": "failed", "model": "m", "output": [], "usage": None}
    failed = {**response, "error": {"code": code, "message": message}}
    return _named({"type": "response.created", "response": {**response, "error": None}}) + _named(
        {"type": "response.failed", "response": failed}
    )


_CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
_HALF = sse({**_CHUNK, "choices": [{"index": 0, "delta": {"content": "Hal"}, "finish_reason": None}]})
_BEGUN = _named({"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m", "content": []}})

ERRORS: Mapping[str, Errors] = {
    "openai-completions": Errors(
        too_long=_openai("This model's maximum context length is 128000 tokens.", "context_length_exceeded"),
        filtered=_openai("The response was filtered due to the prompt.", "content_filter"),
        overloaded=_HALF + sse({"error": {"message": "Overloaded", "code": 502}}),
        refused=_HALF + sse({"error": {"message": "the context is exceeded", "code": 400}}),
    ),
    "anthropic-messages": Errors(
        too_long=_json(_anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")),
        filtered=_json(_anthropic("invalid_request_error", "Output blocked by content filtering policy")),
        overloaded=_BEGUN + _named(_anthropic("overloaded_error", "Overloaded")),
        refused=_BEGUN + _named(_anthropic("invalid_request_error", "Output blocked by content filtering policy")),
    ),
    "google-generative-ai": Errors(
        too_long=_google(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum."),
        filtered=_google(400, "INVALID_ARGUMENT", "The prompt could not be submitted."),
        overloaded=sse(json.loads(_google(503, "UNAVAILABLE", "The model is overloaded."))),
        refused=sse({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "m"}),
    ),
    "openai-responses": Errors(
        too_long=_openai("Your input exceeds the context window of this model.", "context_length_exceeded"),
        filtered=_openai("The response was filtered due to the prompt.", "content_filter"),
        overloaded=_failed("server_error", "An error occurred."),
        refused=_failed("context_length_exceeded", "Your input exceeds the context window of this model."),
    ),
}
