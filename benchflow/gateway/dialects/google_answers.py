"""Writes what Google's API answers: whole, streamed as events or as an array in pieces; lists, counts, errors. Pure."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.sse import write_event
from benchflow.gateway.dialects.writing import event_response, json_response
from benchflow.gateway.message import Chunks, ModelAnswer, ModelRequest, RawResponse, ToolUse

METHODS = ("generateContent", "streamGenerateContent", "countTokens")
INPUT_LIMIT, OUTPUT_LIMIT = 1_048_576, 65_536
"""Tokens, as lists of models show them."""

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    504: "DEADLINE_EXCEEDED",
}


def write_answer(answer: ModelAnswer, request: ModelRequest) -> RawResponse:
    """Write an answer in the form that the request asks for."""
    parts = list(_parts(answer))
    if not request.stream:
        return json_response(200, _piece(answer, request, parts or [{"text": ""}], last=True))
    whole = [_piece(answer, request, [part], last=False) for part in parts]
    whole.append(_piece(answer, request, [{"text": ""}], last=True))
    pieces = [orjson.dumps(piece) for piece in whole]
    if request.stream_form == "events":
        return event_response([write_event(piece) for piece in pieces])
    opened = [b"," * bool(at) + b"\r\n" * bool(at) + piece for at, piece in enumerate(pieces)]
    return RawResponse(
        status=200,
        reason="OK",
        headers=(("Content-Type", "application/json; charset=UTF-8"),),
        chunks=Chunks([b"[" + opened[0], *opened[1:], b"\n]\n"]),
    )


def write_model_list(models: Sequence[str]) -> RawResponse:
    """Write a list of models."""
    return json_response(200, {"models": [_model(model) for model in models]})


def write_one_model(model: str) -> RawResponse:
    """Write one model of the list."""
    return json_response(200, _model(model))


def write_token_count(tokens: int) -> RawResponse:
    """Write how many tokens a request has."""
    details = [{"modality": "TEXT", "tokenCount": tokens}]
    return json_response(200, {"totalTokens": tokens, "promptTokensDetails": details})


def write_error(status: int, message: str, *, listed: bool) -> RawResponse:
    """Write an error; `listed` where a stream was to be an array, for the error is then its one item."""
    word = _STATUSES.get(status, "INVALID_ARGUMENT" if status < 500 else "UNAVAILABLE")
    error = {"error": {"code": status, "message": message, "status": word}}
    return json_response(status, [error] if listed else error, origin="gateway")


def _parts(answer: ModelAnswer) -> Iterator[dict[str, Any]]:
    if answer.text:
        yield {"text": answer.text}
    for call in answer.tool_calls:
        yield {"functionCall": _call(call)}


def _call(call: ToolUse) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "args": call.arguments}


def _piece(answer: ModelAnswer, request: ModelRequest, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    said = orjson.dumps([request.model, answer.text, [_call(call) for call in answer.tool_calls]])
    candidate = {"content": {"parts": parts, "role": "model"}, **({"finishReason": "STOP"} if last else {}), "index": 0}
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(answer.tokens) if last else _usage(TokenBreakdown.of(input=answer.tokens.input)),
        "modelVersion": request.model,
        "responseId": hashlib.sha256(said).hexdigest()[:24],
    }


def _usage(tokens: TokenBreakdown) -> dict[str, Any]:
    prompt = tokens.input + tokens.cache_read + tokens.cache_write
    usage: dict[str, Any] = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": tokens.output - tokens.reasoning,
        "totalTokenCount": prompt + tokens.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    }
    if tokens.reasoning:
        usage["thoughtsTokenCount"] = tokens.reasoning
    if tokens.cache_read:
        usage["cachedContentTokenCount"] = tokens.cache_read
    return usage


def _model(model: str) -> dict[str, Any]:
    return {
        "name": model if "/" in model else f"models/{model}",
        "version": "001",
        "displayName": model,
        "description": "The model of this trial",
        "inputTokenLimit": INPUT_LIMIT,
        "outputTokenLimit": OUTPUT_LIMIT,
        "supportedGenerationMethods": METHODS,
    }
