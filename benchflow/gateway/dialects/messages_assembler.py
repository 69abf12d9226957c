"""Makes one value of a message, streamed or not, whatever its server makes of the format. Never raises."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.assembling import (
    arguments_of,
    count,
    delta_of,
    error_text,
    excerpt,
    merge_texts,
    parse_events,
)
from benchflow.gateway.dialects.json_text import read_json
from benchflow.gateway.dialects.sse import event_data
from benchflow.gateway.message import Assembled, ToolUse

INPUT = "partial_json"
"""The field of a delta that has a piece of a call's arguments."""

_TEXT = delta_of(rb'"type": ?"\w+", ?"\w+":')
"""A delta that has one text in it."""


class MessagesAssembler:
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
        return _from_stream(content)


def _from_json(content: bytes) -> Assembled:
    try:
        body = read_json(content)
    except ValueError:
        return Assembled(body=None, error=excerpt(content))
    if not isinstance(body, dict):
        return Assembled(body=body, error=excerpt(content))
    whole = isinstance(body.get("content"), list)
    said = body.get("error") or (None if whole else body.get("message") or body.get("detail"))
    error = error_text(said)
    return _read(body, error=error, complete=whole and error is None)


def _from_stream(content: bytes) -> Assembled:
    stream = _Stream()
    for event in parse_events(merge_texts(list(event_data(content)), _TEXT)):
        if isinstance(event, dict):
            stream.take(event)
    if not stream.seen:
        return Assembled(body=None, error=excerpt(content) if content else None)
    body = stream.body()
    return _read(body, error=stream.error, complete=not stream.error and (stream.done or _finish(body) is not None))


def _read(body: Mapping[str, Any], *, error: str | None, complete: bool) -> Assembled:
    return Assembled(
        body=body,
        model=str(body["model"]) if body.get("model") else None,
        text=_joined(body, "text", "text"),
        thought=_joined(body, "thinking", "thinking"),
        tool_calls=tool_uses(body.get("content")),
        finish=_finish(body),
        tokens=_tokens(body.get("usage")),
        complete=complete,
        error=error,
    )


@dataclass(slots=True)
class _Block:
    """One content block of a stream while it grows."""

    opened: dict[str, Any] = field(default_factory=dict)
    pieces: dict[str, list[str]] = field(default_factory=dict)

    def add(self, delta: Mapping[str, Any]) -> None:
        for key, value in delta.items():
            if key == "type":
                continue
            if key == "citation":
                found = self.opened.get("citations")
                self.opened["citations"] = [*(found if isinstance(found, list) else ()), value]
            elif isinstance(value, str):
                self.pieces.setdefault(key, []).append(value)
            elif value is not None:
                self.opened[key] = value

    def whole(self) -> dict[str, Any]:
        """Return the block as it would stand in a message that was not streamed."""
        block = dict(self.opened)
        for key, pieces in self.pieces.items():
            if key == INPUT:
                block["input"] = _input("".join(pieces), block.get("input"))
            else:
                before = block.get(key)
                block[key] = (before if isinstance(before, str) else "") + "".join(pieces)
        return block


class _Stream:
    """The events of a stream, merged."""

    def __init__(self) -> None:
        self.seen = self.done = False
        self.error: str | None = None
        self._top: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[Any, _Block] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        self.seen = self.seen or kind != "ping"
        if kind == "content_block_delta":
            self._add(event)
        elif kind == "content_block_start":
            opened = event.get("content_block")
            if isinstance(opened, dict):
                self._blocks[self._index(event)] = _Block(opened=dict(opened))
        elif kind == "message_start":
            self._take_message(event.get("message"))
        elif kind == "message_delta":
            self._take_top(event.get("delta"))
            self._take_usage(event.get("usage"))
            self._take_top({key: value for key, value in event.items() if key not in ("type", "delta", "usage")})
        elif kind == "message_stop":
            self.done = True
        elif kind == "error" or "error" in event:
            self.error = self.error or error_text(event.get("error") or event.get("message")) or "error"

    def _take_message(self, message: Any) -> None:
        if isinstance(message, dict):
            self._take_top({key: value for key, value in message.items() if key not in ("content", "usage")})
            self._take_usage(message.get("usage"))
            content = message.get("content")
            for index, block in enumerate(content if isinstance(content, list) else ()):
                if isinstance(block, dict):
                    self._blocks[index] = _Block(opened=dict(block))

    def _take_top(self, fields: Any) -> None:
        if isinstance(fields, dict):
            self._top.update({key: value for key, value in fields.items() if value is not None or key not in self._top})

    def _take_usage(self, usage: Any) -> None:
        """Take counts, which are totals: what is told later goes before what is told earlier, unless it is less."""
        for key, value in usage.items() if isinstance(usage, dict) else ():
            before = self._usage.get(key)
            if isinstance(value, int) and isinstance(before, int):
                value = max(value, before)
            if value is not None or key not in self._usage:
                self._usage[key] = value

    def _add(self, event: Mapping[str, Any]) -> None:
        delta = event.get("delta")
        if isinstance(delta, dict):
            self._blocks.setdefault(self._index(event), _Block()).add(delta)

    def _index(self, event: Mapping[str, Any]) -> int:
        index = event.get("index")
        if isinstance(index, int):
            return index
        opens = event.get("type") == "content_block_start"
        return max(len(self._blocks) - (not opens), 0)

    def body(self) -> dict[str, Any]:
        """Return what the server would have answered without streaming."""
        content = [block.whole() for _, block in sorted(self._blocks.items())]
        body: dict[str, Any] = {**self._top, "content": content}
        return {**body, "usage": self._usage} if self._usage else body


def _input(text: str, before: Any) -> Any:
    """Read the arguments of a call from its pieces; what is no JSON stays as it came."""
    if not text:
        return before
    try:
        return read_json(text)
    except ValueError:
        return text


def tool_uses(content: Any) -> tuple[ToolUse, ...]:
    """Read the calls among content blocks that the client is to carry out."""
    found = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use":
            name, arguments = str(block.get("name") or ""), arguments_of(block.get("input"))
            found.append(ToolUse(id=str(block.get("id") or ""), name=name, arguments=arguments))
    return tuple(found)


def usage_of(tokens: TokenBreakdown) -> dict[str, Any]:
    """Write token counts as the dialect has them."""
    return {
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read,
        "output_tokens": tokens.output,
        "output_tokens_details": {"thinking_tokens": tokens.reasoning},
    }


def _tokens(usage: Any) -> TokenBreakdown | None:
    if not isinstance(usage, dict) or not {"input_tokens", "output_tokens"} & usage.keys():
        return None
    return TokenBreakdown.of(
        input=count(usage, "input_tokens"),
        output=count(usage, "output_tokens"),
        reasoning=count(usage.get("output_tokens_details"), "thinking_tokens"),
        cache_read=count(usage, "cache_read_input_tokens"),
        cache_write=count(usage, "cache_creation_input_tokens"),
    )


def _finish(body: Mapping[str, Any]) -> str | None:
    finish = body.get("stop_reason")
    return finish if isinstance(finish, str) else None


def _joined(body: Mapping[str, Any], kind: str, key: str) -> str:
    content = body.get("content")
    blocks = content if isinstance(content, list) else ()
    texts = (block.get(key) for block in blocks if isinstance(block, dict) and block.get("type") == kind)
    return "".join(text for text in texts if isinstance(text, str))
