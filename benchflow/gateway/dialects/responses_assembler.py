"""Makes one value of a response of OpenAI's responses API, streamed or not, whole or cut. Never raises."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.assembling import count, error_text, excerpt, parse_events
from benchflow.gateway.dialects.json_text import read_json
from benchflow.gateway.dialects.responses_items import texts_of, tool_use
from benchflow.gateway.dialects.responses_pieces import Pieces
from benchflow.gateway.dialects.sse import event_data
from benchflow.gateway.message import Assembled

ENDINGS = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""The events that carry the whole response."""
_ENDED_BADLY = frozenset({"failed", "cancelled"})


class ResponsesAssembler:
    """Keeps the bytes, and reads them when it is asked: nothing is parsed while a stream passes by."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        self._chunks.append(chunk)

    def result(self) -> Assembled:
        """Return what was made of all bytes so far."""
        content = b"".join(self._chunks)
        if content.lstrip()[:1] in (b"{", b"["):
            return _from_json(content)
        return _from_end(content) or _from_stream(content)


def _from_json(content: bytes) -> Assembled:
    try:
        body = read_json(content)
    except ValueError:
        return Assembled(body=None, error=excerpt(content))
    if not isinstance(body, dict):
        return Assembled(body=body, error=excerpt(content))
    return _read(body, error=_error(body), complete=isinstance(body.get("output"), list))


def _from_end(content: bytes) -> Assembled | None:
    """Read the whole response in the last event, if it is there, without a look at the many before it."""
    last = content[max(content.rstrip().rfind(b"\n\n"), 0) :]
    for event in parse_events(list(event_data(last))):
        response = _ending(event)
        if response and response.get("output"):
            return _finished(response, _error(response))
    return None


def _from_stream(content: bytes) -> Assembled:
    events = [event for event in parse_events(list(event_data(content))) if isinstance(event, dict)]
    if not events:
        return Assembled(body=None, error=excerpt(content) if content else None)
    pieces = Pieces()
    error, ended = None, None
    for event in events:
        pieces.take(event)
        ended = _ending(event) or ended
        if event.get("type") == "error" or ("type" not in event and "error" in event):
            error = error or error_text(event.get("error") or event.get("message")) or "error"
    body = pieces.body()
    if ended is None:
        return _read(body, error=error, complete=False)
    ended = {**body, **ended, "output": ended.get("output") or body["output"]}
    return _finished(ended, error or _error(ended))


def _ending(event: Any) -> dict[str, Any] | None:
    """Return the response as the event that ends a stream has it; None: it is another event."""
    kind = str(event.get("type")) if isinstance(event, dict) else ""
    response = event.get("response") if kind in ENDINGS else None
    return {"status": kind.removeprefix("response."), **response} if isinstance(response, dict) else None


def _finished(body: Mapping[str, Any], error: str | None) -> Assembled:
    return _read(body, error=error, complete=error is None)


def _read(body: Mapping[str, Any], *, error: str | None, complete: bool) -> Assembled:
    output = body.get("output")
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    uses = (tool_use(item) for item in items)
    return Assembled(
        body=body,
        id=str(body["id"]) if body.get("id") else None,
        model=str(body["model"]) if body.get("model") else None,
        text="\n".join("".join(texts_of(item.get("content"))) for item in items if item.get("type") == "message"),
        thought="\n".join(_thoughts(items)),
        tool_calls=tuple(use for use in uses if use),
        finish=_finish(body),
        tokens=_tokens(body.get("usage")),
        complete=complete and str(body.get("status")) not in _ENDED_BADLY,
        error=error,
    )


def _thoughts(items: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for item in items:
        if item.get("type") == "reasoning":
            yield from texts_of(item.get("summary")) or texts_of(item.get("content"))


def _finish(body: Mapping[str, Any]) -> str | None:
    """Say why it ended: the status, or, where that is `incomplete`, its reason."""
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    finish = reason or body.get("status")
    return finish if isinstance(finish, str) else None


def _tokens(usage: Any) -> TokenBreakdown | None:
    if not isinstance(usage, dict) or not {"input_tokens", "output_tokens"} & usage.keys():
        return None
    prompt = count(usage, "input_tokens")
    read = count(usage.get("input_tokens_details"), "cached_tokens")
    write = count(usage.get("input_tokens_details"), "cache_write_tokens")
    return TokenBreakdown.of(
        input=max(prompt - read - write, 0),
        output=count(usage, "output_tokens"),
        reasoning=count(usage.get("output_tokens_details"), "reasoning_tokens"),
        cache_read=read,
        cache_write=write,
    )


def _error(body: Mapping[str, Any]) -> str | None:
    error = error_text(body.get("error"))
    if error is None and "output" not in body:
        error = error_text(body.get("message") or body.get("detail"))
    return error
