"""The body of a response as a cassette has it: its chunks as texts, with words for the trial's own folders.

A model writes a path in pieces, over many events of a stream. The word for it is put where it begins, and the rest of
it is taken out of the events that follow, so that each of them stays what it was: valid JSON, in its own chunk. Pure.
"""

import base64
import bisect
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from benchflow.gateway.dialects.json_text import read_json
from benchflow.gateway.places import Places, escape

Chunk = str | list[str] | dict[str, str]
"""A text, one in several pieces that are to be joined, or `{"base64": …}` for what is no text."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_DATA = re.compile(rb"(?m)^data: ?(?=[{\[])(.*)$")
_TELLING = ("type", "index", "output_index", "content_index", "item_id")
"""Members of an event that say to which text a piece belongs."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A text in the JSON of a body."""

    start: int
    """Of its token in the body, quotes included."""
    end: int
    text: str
    lane: tuple[Any, ...]
    """Where it stands: pieces of one text, which come event by event, have the same."""


def pack(chunks: Sequence[bytes], places: Places) -> list[Chunk]:
    """Write the chunks as a cassette has them. A boundary within a character is moved to its end."""
    body = b"".join(chunks)
    bounds = list(accumulate((len(chunk) for chunk in chunks), initial=0))
    edits: list[_Edit] = []
    if _is_text(body):
        bounds = [_next_character(body, bound) for bound in bounds]
        edits = sorted(_edits(body, places), key=lambda edit: edit.start)
    starts = [edit.start for edit in edits]
    packed = []
    for start, end in pairwise(_not_within(bounds, edits, starts)):
        own = edits[bisect.bisect_left(starts, start) : bisect.bisect_left(starts, end)]
        packed.append(_pack_chunk(body, start, end, own))
    return packed


def unpack(chunks: Iterable[Chunk], places: Places) -> tuple[list[bytes], tuple[str, ...]]:
    """Give the chunks back, with this trial's folders in them; and the words that stood for folders."""
    made, used = [], dict[str, None]()
    for chunk in chunks:
        if isinstance(chunk, dict):
            made.append(base64.b64decode(chunk["base64"], validate=True))
            continue
        text, words = places.unpack(chunk if isinstance(chunk, str) else "".join(chunk), _inside_json)
        used.update(dict.fromkeys(words))
        made.append(text.encode())
    return made, tuple(used)


def _inside_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _next_character(body: bytes, bound: int) -> int:
    while bound < len(body) and body[bound] & 0xC0 == 0x80:
        bound += 1
    return bound


@dataclass(frozen=True, slots=True)
class _Edit:
    """What is to stand for a token."""

    start: int
    end: int
    token: str


def _edits(body: bytes, places: Places) -> Iterator[_Edit]:
    """Find the texts that have a path, or a part of one, and what they are to say."""
    lanes: dict[tuple[Any, ...], list[_Leaf]] = {}
    for start, end in _documents(body):
        for leaf in _leaves(body, start, end):
            lanes.setdefault(leaf.lane if _is_piece(leaf) else (leaf.start,), []).append(leaf)
    for leaves in lanes.values():
        text = "".join(leaf.text for leaf in leaves)
        spans = places.spans(text)
        if spans:
            yield from _edited(leaves, text, spans, places)


def _is_piece(leaf: _Leaf) -> bool:
    """Whether the text is one of the pieces in which a model's words come."""
    return "delta" in leaf.lane or ("candidates" in leaf.lane and leaf.lane[-1] == "text")


def _edited(leaves: list[_Leaf], text: str, spans: list[tuple[int, int]], places: Places) -> Iterator[_Edit]:
    at = 0
    for leaf in leaves:
        start, end = at, at + len(leaf.text)
        at = end
        said, here = "", start
        for first, last in spans:
            if last <= start or first >= end:
                continue
            if first >= start:
                said += escape(text[here:first]) + places.pack(text[first:last])[0]
            here = min(last, end)
        touched = any(last > start and first < end for first, last in spans)
        if touched:
            said += escape(text[here:end])
            yield _Edit(leaf.start, leaf.end, json.dumps(said, ensure_ascii=False))


def _documents(body: bytes) -> list[tuple[int, int]]:
    """Return where JSON stands: in the data of each event, or from the beginning to the end."""
    events = [match.span(1) for match in _DATA.finditer(body)]
    return events or [(0, len(body))]


def _leaves(body: bytes, start: int, end: int) -> Iterator[_Leaf]:
    """Find the texts in a JSON document; none where it is not JSON."""
    try:
        document = read_json(body[start:end])
    except ValueError:
        return
    path: list[Any] = []
    key_follows = False
    for token in _TOKEN.finditer(body, start, end):
        mark = token[0][:1]
        if mark in (b"{", b"["):
            path.append("" if mark == b"{" else 0)
            key_follows = mark == b"{"
        elif mark in (b"}", b"]"):
            path.pop()
            key_follows = False
        elif mark == b",":
            key_follows = isinstance(path[-1], str)
            if not key_follows:
                path[-1] = int(path[-1]) + 1
        elif mark == b'"' and key_follows:
            path[-1] = read_json(token[0])
            key_follows = False
        elif mark == b'"':
            yield _Leaf(token.start(), token.end(), read_json(token[0]), _lane(document, path))


def _lane(document: Any, path: Sequence[Any]) -> tuple[Any, ...]:
    lane: list[Any] = []
    for part in path:
        if isinstance(document, dict):
            lane += [(name, document[name]) for name in _TELLING if isinstance(document.get(name), str | int)]
        indexed = isinstance(document, list) and isinstance(document[part], dict) and "index" in document[part]
        lane.append("[]" if indexed else part)
        document = document[part]
    return tuple(lane)


def _not_within(bounds: list[int], edits: list[_Edit], starts: list[int]) -> Iterator[int]:
    """Move a boundary that lies within a text which changes to the end of that text."""
    for bound in bounds:
        number = bisect.bisect_left(starts, bound) - 1
        yield edits[number].end if number >= 0 and edits[number].end > bound else bound


def _pack_chunk(body: bytes, start: int, end: int, edits: Sequence[_Edit]) -> Chunk:
    parts = []
    try:
        for edit in edits:
            parts += [escape(body[start : edit.start].decode()), edit.token]
            start = edit.end
        parts.append(escape(body[start:end].decode()))
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body[start:end]).decode()}
    return _lines("".join(parts))


def _lines(text: str) -> Chunk:
    """Write a text of several lines as pieces that end with their lines; blank lines go with what stands before."""
    pieces = re.findall(r"[^\n]*\n+|[^\n]+", text)
    return text if len(pieces) < 2 else pieces
