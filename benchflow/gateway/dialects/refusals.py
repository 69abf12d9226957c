"""Tells of an answer with status 200 whether it says inside that its request was refused for what is in it. Pure.

Such errors come as events of a stream, as a response that has failed, or as a prompt that was blocked. Any other error
inside an answer is a failure of the upstream.
"""

from collections.abc import Iterator
from typing import Any

from benchflow.gateway.dialects.assembling import parse_events
from benchflow.gateway.dialects.sse import event_data

UPSTREAM_STATUSES = frozenset({401, 403, 408, 429})
"""The statuses below 500 that are not the request's fault."""
_WORDS = frozenset(
    {
        "invalid_request_error",
        "invalid_prompt",
        "context_length_exceeded",
        "exceed_context_size_error",
        "string_above_max_length",
        "request_too_large",
        "content_filter",
        "content_policy_violation",
        "cyber_policy_violation",
        "bio_policy",
        "misalignment_policy_violation",
        "image_content_policy_violation",
        "image_file_too_large",
        "image_parse_error",
        "image_too_large",
        "invalid_base64_image",
        "invalid_image",
        "invalid_image_format",
        "invalid_image_url",
        "unsupported_image_media_type",
        "INVALID_ARGUMENT",
        "FAILED_PRECONDITION",
        "OUT_OF_RANGE",
    }
)
"""What the codes, types and statuses of such errors are called, over all dialects."""


def refuses_content(content: bytes) -> bool:
    """Tell it of a whole response, streamed or not, its coding taken off."""
    values = parse_events([content] if content.lstrip()[:1] in (b"{", b"[") else list(event_data(content)))
    return any(_is_refusal(error) for value in values for error in _errors(value))


def _errors(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the errors in an event, or in a response that is one value or a list of them."""
    if isinstance(value, list):
        for item in value:
            yield from _errors(item)
    if not isinstance(value, dict):
        return
    if value.get("type") == "error":
        yield value
    for name in ("error", "response", "promptFeedback"):
        inner = value.get(name)
        if isinstance(inner, dict):
            yield from _errors(inner) if name == "response" else [inner]


def _is_refusal(error: dict[str, Any]) -> bool:
    if error.get("blockReason"):
        return True
    said = {str(error.get(name)) for name in ("code", "type", "status")}
    status = error.get("code")
    if isinstance(status, int):
        return 400 <= status < 500 and status not in UPSTREAM_STATUSES
    return bool(said & _WORDS)
