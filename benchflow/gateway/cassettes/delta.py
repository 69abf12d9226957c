"""How a cassette stores a request by what is new in it, beside one that came before; and readable texts. Pure.

A change is `{"value": …}`, `{"object": {key: change}, "without": [key]}`, or `{"list": ["0:7", [new, …], …]}`, where
`0:7` are items that stay.
"""

import difflib
import re
from typing import Any

from benchflow.gateway.differing import fingerprints

TEXT = "|"
"""The key of an object that stands for a text of several lines: `{"|": ["first line", "second line"]}`."""
_OWN = re.compile(r"\|+")


def change(base: Any, value: Any) -> dict[str, Any]:
    """Say how `value` is made of `base`."""
    if isinstance(base, dict) and isinstance(value, dict):
        same = {key for key in value if key in base and base[key] == value[key] and type(base[key]) is type(value[key])}
        inner = {key: change(base.get(key), item) for key, item in value.items() if key not in same}
        gone = [key for key in base if key not in value]
        return {"object": inner, "without": gone} if gone else {"object": inner}
    if isinstance(base, list) and isinstance(value, list) and base:
        return {"list": _segments(base, value)}
    return {"value": value}


def changed(base: Any, how: dict[str, Any]) -> Any:
    """Make the value again. Raises ValueError, KeyError or TypeError where the change does not fit."""
    if "value" in how:
        return how["value"]
    if "list" in how:
        made: list[Any] = []
        for segment in how["list"]:
            made += base[_range(segment)] if isinstance(segment, str) else segment
        return made
    gone = how.get("without", ())
    value = {key: item for key, item in base.items() if key not in gone}
    for key, inner in how["object"].items():
        value[key] = changed(base.get(key), inner)
    return value


def _range(text: str) -> slice:
    start, _, end = text.partition(":")
    return slice(int(start), int(end))


def _segments(base: list[Any], value: list[Any]) -> list[Any]:
    old, new = fingerprints(base), fingerprints(value)
    segments: list[Any] = []
    for tag, start, end, other_start, other_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag == "equal":
            segments.append(f"{start}:{end}")
        elif other_end > other_start:
            segments.append(value[other_start:other_end])
    return segments


def fold(value: Any) -> Any:
    """Write each text of several lines as its lines."""
    if isinstance(value, str):
        return {TEXT: value.split("\n")} if "\n" in value else value
    if isinstance(value, list):
        return [fold(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and _OWN.fullmatch(key := next(iter(value))):
        return {key + TEXT: fold(value[key])}
    return {key: fold(item) for key, item in value.items()}


def unfold(value: Any) -> Any:
    """Undo `fold`. Raises TypeError where lines are no texts."""
    if isinstance(value, list):
        return [unfold(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and _OWN.fullmatch(key := next(iter(value))):
        return "\n".join(value[key]) if key == TEXT else {key[1:]: unfold(value[key])}
    return {key: unfold(item) for key, item in value.items()}
