"""Makes one value of an answer of Google's API: whole, streamed as events or as an array in pieces. Never raises."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.assembling import count, error_text, excerpt, parse_events
from benchflow.gateway.dialects.google_contents import member, read_calls
from benchflow.gateway.dialects.json_text import items, read_json
from benchflow.gateway.dialects.sse import event_data
from benchflow.gateway.message import Assembled

_PLAIN = frozenset({"text", "thought"})
"""A part with nothing else goes on where the part before it ended."""
_COUNTS = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")


class GoogleAssembler:
    """Keeps the bytes, and reads them when it is asked: nothing is parsed while a stream passes by."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        self._chunks.append(chunk)

    def result(self) -> Assembled:
        """Return what was made of all bytes so far."""
        content = b"".join(self._chunks)
        match content.lstrip()[:1]:
            case b"{":
                return _from_json(content)
            case b"[":
                return _from_pieces(_parse_array(content), content)
        return _from_pieces([*parse_events(list(event_data(content))), *_stray_error(content)], content)


def _from_json(content: bytes) -> Assembled:
    try:
        body = read_json(content)
    except ValueError:
        return Assembled(body=None, error=excerpt(content))
    return _read(body, error=_error(body), complete="candidates" in body or _blocked(body) is not None)


def _from_pieces(pieces: Iterable[Any], content: bytes) -> Assembled:
    stream = _Stream()
    for piece in pieces:
        if isinstance(piece, dict):
            stream.take(piece)
    if not stream.seen:
        return Assembled(body=None, error=excerpt(content) if content else None)
    body = stream.body()
    ended = _finish(body) is not None or _blocked(body) is not None
    return _read(body, error=stream.error, complete=ended and not stream.error)


def _parse_array(content: bytes) -> list[Any]:
    with suppress(ValueError):
        return read_json(content)
    pieces = []
    for item in items(content):
        with suppress(ValueError):
            pieces.append(read_json(item))
    return pieces


def _stray_error(content: bytes) -> list[Any]:
    """An error that a server wrote into the stream as it is, without making an event of it."""
    at = content.find(b"\n{")
    with suppress(ValueError):
        return [read_json(content[at:])] if at >= 0 else []
    return []


def _read(body: Mapping[str, Any], *, error: str | None, complete: bool) -> Assembled:
    parts = _parts(_first_candidate(body))
    blocked = _blocked(body)
    return Assembled(
        body=body,
        model=str(body["modelVersion"]) if body.get("modelVersion") else None,
        text="".join(_texts(parts, thought=False)),
        thought="".join(_texts(parts, thought=True)),
        tool_calls=read_calls(parts),
        finish=_finish(body) or blocked,
        tokens=_tokens(body.get("usageMetadata")),
        complete=complete,
        error=error or (f"the prompt was blocked: {blocked}" if blocked else None),
    )


@dataclass(slots=True)
class _Candidate:
    """One candidate of a stream while it grows."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    other: dict[str, Any] = field(default_factory=dict)
    role: Any = "model"

    def add(self, piece: Mapping[str, Any]) -> None:
        content = piece.get("content")
        if isinstance(content, dict):
            self.role = content.get("role") or self.role
            for part in _parts(piece):
                self._add_part(part)
        self.other.update({key: value for key, value in piece.items() if key != "content"})

    def _add_part(self, part: dict[str, Any]) -> None:
        last = self.parts[-1] if self.parts else None
        if last is not None and _goes_on(last, part):
            last["text"] += part["text"]
        elif part != {"text": ""}:
            self.parts.append(dict(part))

    def value(self) -> dict[str, Any]:
        return {"content": {"parts": self.parts, "role": self.role}, **self.other}


class _Stream:
    """The pieces of a stream, merged. What is said again, as the usage is, counts as it was said last."""

    def __init__(self) -> None:
        self.seen = False
        self.error: str | None = None
        self._top: dict[str, Any] = {}
        self._candidates: dict[int, _Candidate] = {}

    def take(self, piece: dict[str, Any]) -> None:
        self.seen = True
        self.error = self.error or _error(piece)
        candidates = piece.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else ():
            if isinstance(candidate, dict):
                index = candidate.get("index")
                at = index if isinstance(index, int) else 0
                self._candidates.setdefault(at, _Candidate()).add(candidate)
        self._top.update({key: value for key, value in piece.items() if key != "candidates" and value is not None})

    def body(self) -> dict[str, Any]:
        """Return what the server would have answered without streaming."""
        if not self._candidates:
            return self._top
        return {"candidates": [candidate.value() for candidate in self._candidates.values()], **self._top}


def _goes_on(last: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    if not (last.keys() <= _PLAIN and part.keys() <= _PLAIN and last.get("thought") == part.get("thought")):
        return False
    return isinstance(last.get("text"), str) and isinstance(part.get("text"), str)


def _first_candidate(body: Mapping[str, Any]) -> Mapping[str, Any]:
    candidates = body.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return first if isinstance(first, dict) else {}


def _parts(candidate: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _texts(parts: Iterable[Mapping[str, Any]], *, thought: bool) -> Iterable[str]:
    for part in parts:
        text = part.get("text")
        if isinstance(text, str) and (part.get("thought") is True) == thought:
            yield text


def _finish(body: Mapping[str, Any]) -> str | None:
    finish = member(_first_candidate(body), "finishReason")
    return finish if isinstance(finish, str) and finish != "FINISH_REASON_UNSPECIFIED" else None


def _blocked(body: Mapping[str, Any]) -> str | None:
    """Why the prompt was not answered at all; None: it was."""
    reason = member(body.get("promptFeedback"), "blockReason")
    return reason if isinstance(reason, str) else None


def _tokens(usage: Any) -> TokenBreakdown | None:
    """Read the usage. What the model thought is output; some servers count it among the candidates' tokens already."""
    if not isinstance(usage, dict) or not any(name in usage for name in _COUNTS):
        return None
    prompt, read = count(usage, "promptTokenCount"), count(usage, "cachedContentTokenCount")
    tools, thoughts = count(usage, "toolUsePromptTokenCount"), count(usage, "thoughtsTokenCount")
    said, total = count(usage, "candidatesTokenCount"), count(usage, "totalTokenCount")
    included = thoughts <= said and total == prompt + tools + said
    return TokenBreakdown.of(
        input=max(prompt - read, 0) + tools,
        output=said if included else said + thoughts,
        reasoning=thoughts,
        cache_read=read,
    )


def _error(body: Mapping[str, Any]) -> str | None:
    return error_text(body.get("error"))
