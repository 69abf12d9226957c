"""Takes known secrets out of a log of ACP frames where they are spread over several: an agent that streams a text in
pieces may cut a secret in two, so that neither frame holds it.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from benchflow.redact import KNOWN, Redactor, mark

_Path = tuple[str | int, ...]


@dataclass(frozen=True)
class _Piece:
    """A text of one frame."""

    line: int
    path: _Path
    """Where it stands in the entry."""
    start: int
    """Where it begins in the stream that it is a piece of."""
    text: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def mend(path: Path, redactor: Redactor) -> None:
    """Rewrite the log, whole or not at all, if a secret is spread over several of its frames."""
    lines = path.read_bytes().splitlines(keepends=True)
    changed: dict[int, dict[_Path, bytes]] = defaultdict(dict)
    for pieces in _streams(lines):
        for piece, text in _cleaned(pieces, redactor):
            changed[piece.line][piece.path] = text
    if not changed:
        return
    for number, texts in changed.items():
        entry = orjson.loads(lines[number])
        for place, text in texts.items():
            _put(entry, place, text.decode("utf-8", "replace"))
        lines[number] = orjson.dumps(entry) + b"\n"
    draft = path.with_name(path.name + ".draft")
    draft.write_bytes(b"".join(lines))
    os.replace(draft, path)


def _streams(lines: list[bytes]) -> Iterator[list[_Piece]]:
    """Return the texts of updates, those together that a reader would join."""
    streams: dict[tuple[Any, ...], list[_Piece]] = defaultdict(list)
    for number, line in enumerate(lines):
        if b'"session/update"' not in line:
            continue
        try:
            update = orjson.loads(line)["frame"]["params"]["update"]
            name = (update["sessionUpdate"], update.get("toolCallId"))
        except (ValueError, LookupError, TypeError, AttributeError):
            continue  # noise, or no update
        for place, text in _texts(update, ("frame", "params", "update")):
            stream = streams[*name, place]
            stream.append(_Piece(number, place, stream[-1].end if stream else 0, text))
    return (pieces for pieces in streams.values() if len(pieces) > 1)


def _texts(value: Any, path: _Path) -> Iterator[tuple[_Path, bytes]]:
    match value:
        case str():
            yield path, value.encode("utf-8", "surrogatepass")
        case dict():
            for key, inner in value.items():
                yield from _texts(inner, (*path, key))
        case list():
            for index, inner in enumerate(value):
                yield from _texts(inner, (*path, index))


def _cleaned(pieces: list[_Piece], redactor: Redactor) -> Iterator[tuple[_Piece, bytes]]:
    """Return the pieces that hold a part of a secret, without it. The mark stands where the secret began."""
    joined = b"".join(piece.text for piece in pieces)
    spans = [span for span in redactor.find(joined) if span.category == KNOWN]
    redactor.counts[KNOWN] += len(spans)
    for piece in pieces:
        text = piece.text
        for start, end, category in reversed(spans):
            if start < piece.end and end > piece.start:
                within = mark(category) if start >= piece.start else b""
                text = text[: max(0, start - piece.start)] + within + text[end - piece.start :]
        if text != piece.text:
            yield piece, text


def _put(entry: Any, path: _Path, text: str) -> None:
    *outer, last = path
    for key in outer:
        entry = entry[key]
    entry[last] = text
