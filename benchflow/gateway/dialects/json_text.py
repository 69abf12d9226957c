"""JSON as text: reads what strict parsers refuse, and changes it by splices that leave every other byte alone."""

import itertools
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def read_json(text: bytes | str) -> Any:
    """Read JSON, lone surrogates included, which come as `?`. Raises ValueError."""
    try:
        return orjson.loads(text)
    except ValueError:
        try:
            value = json.loads(text)
        except RecursionError as exc:
            raise ValueError("the JSON is nested too deeply") from exc
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Member:
    """Where a member of the outermost object stands."""

    name: str
    start: int
    """Of the value."""
    end: int
    """Just after the value."""


def members(text: bytes, start: int = 0, end: int = sys.maxsize) -> Iterator[Member]:
    """Find the members of the outermost object of valid JSON, in order. Raises ValueError where it is no object.

    The object may be a part of the text, from `start` to `end`.
    """
    tokens = _TOKEN.finditer(text, start, end)
    first = next(tokens, None)
    if first is None or first.group() != b"{":
        raise ValueError("not a JSON object")
    for token in tokens:
        if token.group() == b"}":
            return
        if token.group() == b",":
            continue
        name = read_json(token.group())
        next(tokens)  # the colon
        start, end = _value(tokens)
        yield Member(name, start, end)


def _value(tokens: Iterator[re.Match[bytes]]) -> tuple[int, int]:
    depth = 0
    start = None
    for token in tokens:
        start = token.start() if start is None else start
        if token.group() in (b"{", b"["):
            depth += 1
        elif token.group() in (b"}", b"]"):
            depth -= 1
        if not depth:
            return start, token.end()
    raise ValueError("the JSON ends too early")


def replace_member(text: bytes, name: str, value: bytes) -> bytes:
    """Put `value` where the member's value stands, each time that it occurs; put it first where there is none."""
    found = []
    for member in members(text):
        if member.name == name:
            found.append(member)
            if not _may_follow(text, member.end, name):
                break
    for member in reversed(found):
        text = text[: member.start] + value + text[member.end :]
    if found:
        return text
    brace = text.index(b"{") + 1
    rest = text[brace:]
    comma = b"" if rest.lstrip().startswith(b"}") else b","
    return text[:brace] + orjson.dumps(name) + b":" + value + comma + rest


def _may_follow(text: bytes, start: int, name: str) -> bool:
    """Whether the name may occur again, plain or with escapes: reading on to the end of a long text is slow."""
    return text.find(orjson.dumps(name), start) >= 0 or text.find(b"\\u00", start) >= 0


def insert_item(text: bytes, name: str, item: bytes, at: int | None = None) -> bytes:
    """Add an item to the array that is the member's value: behind its first `at` items, or at its end.

    Raises ValueError where there is no such array, or it has fewer items.
    """
    found = [member for member in members(text) if member.name == name]
    if not found or text[found[-1].start : found[-1].start + 1] != b"[":
        raise ValueError(f"no array {name!r}")
    start = found[-1].start
    if at is None:
        bracket = found[-1].end - 1
        comma = b"" if text[start + 1 : bracket].isspace() or bracket == start + 1 else b","
        return text[:bracket] + comma + item + text[bracket:]
    places = array_items(text, start)
    if at > len(places):
        raise ValueError(f"the array {name!r} has no {at} items")
    if at:
        end = places[at - 1][1]
        return text[:end] + b"," + item + text[end:]
    return text[: start + 1] + item + (b"," if places else b"") + text[start + 1 :]


def array_items(text: bytes, start: int) -> list[tuple[int, int]]:
    """Find where the items of the array that begins at `start` stand."""
    tokens = _TOKEN.finditer(text, start + 1)
    found = []
    for token in tokens:
        if token.group() == b"]":
            return found
        if token.group() != b",":
            found.append(_value(itertools.chain((token,), tokens)))
    raise ValueError("the JSON ends too early")


def items(text: bytes) -> Iterator[bytes]:
    """Yield the items of the outermost array as far as they are whole, wherever the text breaks off."""
    tokens = _TOKEN.finditer(text)
    first = next(tokens, None)
    if first is None or first.group() != b"[":
        return
    start, depth = None, 0
    for token in tokens:
        word = token.group()
        if depth == 0 and word == b"]":
            return
        if depth == 0 and word == b",":
            continue
        start = token.start() if start is None else start
        depth += 1 if word in (b"{", b"[") else -1 if word in (b"}", b"]") else 0
        if depth == 0:
            yield text[start : token.end()]
            start = None
