"""What agents nest without end, cut to a depth at which everything of ours can still be written around it. Pure.

JSON is read to a depth of 1,024, and written to one of 254.
"""

from typing import Any

import orjson

DEEPEST = 128
CUT = "nested too deeply to be kept"


def may_be_deep(text: bytes) -> bool:
    """Tell whether JSON text could be deeper than is kept: it has as many brackets."""
    return text.count(b"{") + text.count(b"[") > DEEPEST


def cut_deep(value: Any, depth: int = DEEPEST) -> Any:
    """Return a value of JSON with a note in the place of what is deeper than `depth`."""
    if not isinstance(value, dict | list):
        return value
    if not depth:
        return CUT
    if isinstance(value, dict):
        return {key: cut_deep(inner, depth - 1) for key, inner in value.items()}
    return [cut_deep(inner, depth - 1) for inner in value]


def can_be_written(value: Any) -> bool:
    """Tell whether a value of JSON can be written with a few levels of ours around it."""
    try:
        orjson.dumps([[[[[[[[value]]]]]]]])
    except orjson.JSONEncodeError:
        return False
    return True
