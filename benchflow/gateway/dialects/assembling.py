"""What the assemblers of all dialects have in common: how they read events, counts, and what is no JSON."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from benchflow.gateway.dialects.json_text import read_json

_TEXT = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
_WHOLE_TEXT = re.compile(_TEXT, re.DOTALL)
EXCERPT = 300
"""Characters shown of an answer that is no JSON, and of an error."""


def parse_events(events: Sequence[bytes]) -> list[Any]:
    """Parse the data of events: all at once, which is much faster; one by one where one of them is no JSON."""
    with suppress(ValueError):
        values = orjson.loads(b"[" + b",".join(events) + b"]")
        if len(values) == len(events):
            return values
    values = []
    for event in events:
        with suppress(ValueError):
            values.append(read_json(event))
    return values


def delta_of(members: bytes) -> re.Pattern[bytes]:
    """Return what finds the one growing text in an event's delta; `members` is what stands in the delta before it."""
    return re.compile(rb'"delta": ?\{ ?' + members + rb' ?"(' + _TEXT + rb')"\}')


def merge_texts(events: Sequence[bytes], text: re.Pattern[bytes]) -> list[bytes]:
    """Make one event of those that follow one another and differ in a growing text alone, as nearly all of a stream do.

    What is left is much faster to read, and says the same.
    """
    merged: list[bytes] = []
    head, tail, texts = b"", b"", list[bytes]()
    for event in (*events, b""):
        if texts and event.startswith(head) and event.endswith(tail):
            piece = event[len(head) : len(event) - len(tail)]
            if len(event) >= len(head) + len(tail) and _WHOLE_TEXT.fullmatch(piece):
                texts.append(piece)
                continue
        if texts:
            merged.append(b"".join((head, *texts, tail)))
        match = text.search(event)
        if match and event.count(b'"delta"') == 1:
            head, tail, texts = event[: match.start(1)], event[match.end(1) :], [match[1]]
        else:
            texts = []
            merged.append(event)
    return merged[:-1]


def excerpt(content: bytes) -> str:
    """Show the beginning of what should have been JSON."""
    return "not JSON: " + content[:EXCERPT].decode("utf-8", "replace").strip()


def count(counts: Any, key: str) -> int:
    """Return the count at `key`; 0 where there is none that makes sense."""
    value = counts.get(key) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def arguments_of(text: Any) -> Mapping[str, Any]:
    """Read the arguments of a call, given as JSON or as its text; empty where they are no object that can be kept."""
    if isinstance(text, str):
        try:
            text = read_json(text)
        except ValueError:
            return {}
    try:
        return text if isinstance(text, dict) and orjson.dumps(text) else {}
    except orjson.JSONEncodeError:  # they are nested too deeply
        return {}


def error_text(error: Any) -> str | None:
    """Say what an error says, in whatever form; None: there is none."""
    if isinstance(error, dict):
        error = error.get("message") or orjson.dumps(error).decode()
    return str(error)[:EXCERPT] if error else None
