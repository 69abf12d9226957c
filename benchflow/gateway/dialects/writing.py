"""Makes the responses that the gateway writes itself: one JSON value, or a stream of events that is all there."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import orjson

from benchflow.gateway.message import Chunks, Headers, Origin, RawResponse

EVENT_STREAM: Headers = (("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-cache"))


def json_response(status: int, body: Any, *, origin: Origin = "upstream") -> RawResponse:
    """Write one JSON value."""
    content = orjson.dumps(body)
    headers = (("Content-Type", "application/json"), ("Content-Length", str(len(content))))
    chunks = Chunks([content])
    return RawResponse(status=status, reason=reason_of(status), headers=headers, chunks=chunks, origin=origin)


def openai_error(status: int, message: str) -> dict[str, Any]:
    """Write the body of an error as OpenAI's servers do."""
    kind, code = "invalid_request_error", None
    if status == 429:
        kind, code = "requests", "rate_limit_exceeded"
    elif status >= 500:
        kind = "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def event_response(events: Iterable[bytes]) -> RawResponse:
    """Write a stream of events, each a chunk."""
    return RawResponse(status=200, reason="OK", headers=EVENT_STREAM, chunks=Chunks(events))


def reason_of(status: int) -> str:
    """Return the standard's words for a status; nothing for one that it does not know, such as 529."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
