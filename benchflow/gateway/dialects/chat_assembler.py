"""Makes one value of a chat completion, streamed or not, whatever its server makes of the format. Never raises."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

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

_TEXT = delta_of(rb'(?:"role": ?"assistant", ?)?"(?!role")\w+":')
"""A delta that has one text in it."""


class ChatAssembler:
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
    return _read(body, error=_error(body), complete="choices" in body)


def _from_stream(content: bytes) -> Assembled:
    events = list(event_data(content))
    data = [event for event in events if event.strip() != b"[DONE]"]
    stream = _Stream(done=len(data) < len(events))
    for chunk in parse_events(merge_texts(data, _TEXT)):
        stream.take(chunk)
    if not stream.seen:
        return Assembled(body=None, error=excerpt(content) if content else None)
    body = stream.body()
    return _read(body, error=stream.error, complete=not stream.error and (stream.done or _finish(body) is not None))


def _read(body: Mapping[str, Any], *, error: str | None, complete: bool) -> Assembled:
    message = _message(body)
    content = message.get("content")
    return Assembled(
        body=body,
        model=str(body["model"]) if body.get("model") else None,
        text=content if isinstance(content, str) else "",
        thought=_thought(message),
        tool_calls=tool_uses(message.get("tool_calls")),
        finish=_finish(body),
        tokens=_tokens(body.get("usage")),
        complete=complete,
        error=error,
    )


@dataclass(slots=True)
class _Choice:
    """One choice of a stream while it grows."""

    pieces: dict[str, list[str]] = field(default_factory=dict)
    other: dict[str, Any] = field(default_factory=dict)
    calls: list[dict[str, Any]] = field(default_factory=list)
    finish: Any = None

    def add(self, delta: Mapping[str, Any]) -> None:
        for key, value in delta.items():
            if key in self.pieces and isinstance(value, str):
                self.pieces[key].append(value)
            elif isinstance(value, str) and key != "role":
                self.pieces[key] = [value]
            elif key == "tool_calls":
                self._add_calls(value)
            elif isinstance(value, list) and isinstance(self.other.get(key), list):
                self.other[key] += value
            elif value is not None:
                self.other[key] = value

    def _add_calls(self, deltas: Any) -> None:
        for delta in deltas if isinstance(deltas, list) else ():
            function = delta.get("function") if isinstance(delta, dict) else None
            if not isinstance(function, dict):
                continue
            call = self._call(delta)
            call["id"] = call["id"] or delta.get("id")
            call["name"] = call["name"] or function.get("name")
            arguments = function.get("arguments")
            if isinstance(arguments, dict):
                arguments = orjson.dumps(arguments).decode()
            if isinstance(arguments, str):
                call["arguments"].append(arguments)

    def _call(self, delta: Mapping[str, Any]) -> dict[str, Any]:
        """Find the call that a delta belongs to: by its index, else by a new id, else the last one."""
        index = delta.get("index")
        for call in self.calls:
            if isinstance(index, int) and call["index"] == index:
                return call
        if not isinstance(index, int) and self.calls and delta.get("id") in (None, "", self.calls[-1]["id"]):
            return self.calls[-1]
        self.calls.append({"index": index, "id": None, "name": None, "arguments": []})
        return self.calls[-1]

    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": None, **self.other}
        message.update({key: "".join(pieces) for key, pieces in self.pieces.items()})
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": "".join(call["arguments"])},
                }
                for call in self.calls
            ]
        return message


class _Stream:
    """The chunks of a stream, merged."""

    def __init__(self, *, done: bool) -> None:
        self.seen = self.done = done
        self.error: str | None = None
        self._top: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}

    def take(self, chunk: Any) -> None:
        if not isinstance(chunk, dict):
            return
        self.seen = True
        choices = chunk.pop("choices", None)
        if chunk.keys() != self._top.keys() or chunk.get("usage"):
            self._take_top(chunk, alone=choices is None)
        for item in choices if isinstance(choices, list) else ():
            if isinstance(item, dict):
                self._add(item)

    def _take_top(self, chunk: Mapping[str, Any], *, alone: bool) -> None:
        """Take what stands beside the choices: most chunks have the same there as the first."""
        if alone or "error" in chunk:
            self.error = self.error or _error(chunk)
        self._top.update({key: value for key, value in chunk.items() if value is not None or key not in self._top})

    def _add(self, item: Mapping[str, Any]) -> None:
        index, delta = item.get("index"), item.get("delta")
        choice = self._choices.get(index) if isinstance(index, int) else self._choices.get(0)
        if choice is None:
            choice = self._choices[index if isinstance(index, int) else 0] = _Choice()
        if delta is None:
            delta = item.get("message")
        if isinstance(delta, dict):
            choice.add(delta)
        if item.get("finish_reason"):
            choice.finish = item["finish_reason"]

    def body(self) -> dict[str, Any]:
        """Return what the server would have answered without streaming."""
        choices = [
            {"index": index, "message": choice.message(), "finish_reason": choice.finish}
            for index, choice in self._choices.items()
        ]
        return {**self._top, "object": "chat.completion", "choices": choices}


def _first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _message(body: Mapping[str, Any]) -> Mapping[str, Any]:
    message = _first_choice(body).get("message")
    return message if isinstance(message, dict) else {}


def _finish(body: Mapping[str, Any]) -> str | None:
    finish = _first_choice(body).get("finish_reason")
    return finish if isinstance(finish, str) else None


def _thought(message: Mapping[str, Any]) -> str:
    thoughts = (message.get(key) for key in ("reasoning_content", "reasoning"))
    return next((thought for thought in thoughts if isinstance(thought, str) and thought), "")


def tool_uses(calls: Any) -> tuple[ToolUse, ...]:
    """Read the calls of an assistant's message."""
    if not isinstance(calls, list):
        return ()
    found = []
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            name, arguments = str(function.get("name") or ""), arguments_of(function.get("arguments"))
            found.append(ToolUse(id=str(call.get("id") or ""), name=name, arguments=arguments))
    return tuple(found)


def _tokens(usage: Any) -> TokenBreakdown | None:
    if not isinstance(usage, dict) or not {"prompt_tokens", "completion_tokens"} & usage.keys():
        return None
    prompt = count(usage, "prompt_tokens")
    read = count(usage.get("prompt_tokens_details"), "cached_tokens") or count(usage, "prompt_cache_hit_tokens")
    write = count(usage.get("prompt_tokens_details"), "cache_write_tokens")
    return TokenBreakdown.of(
        input=max(prompt - read - write, 0),
        output=count(usage, "completion_tokens"),
        reasoning=count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        cache_read=read,
        cache_write=write,
    )


def _error(body: Mapping[str, Any]) -> str | None:
    error = error_text(body.get("error"))
    if error is None and "choices" not in body:
        error = error_text(body.get("message") or body.get("detail"))
    return error
