"""A text of a trajectory as the page shows it: safe to read, and cut in its middle where it is long. Pure."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from benchflow.report.text import sanitize

LONGEST = 20_000
"""Characters of one text at most, before a trial is fitted to its budget."""

Form = Literal["prose", "code", "diff"]


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A labelled text. Where it was cut, `text` is its beginning and `tail` its end."""

    label: str
    text: str
    form: Form = "code"
    tail: str = ""
    cut: int = 0
    """Characters that were left out between `text` and `tail`."""


def make_passage(label: str, text: str, form: Form = "code") -> Passage:
    """Make a passage of a text that anybody may have written."""
    kept = shorten(Passage(label=sanitize(label), text=text, form=form), LONGEST)
    return replace(kept, text=sanitize(kept.text), tail=sanitize(kept.tail))


def shorten(passage: Passage, limit: int) -> Passage:
    """Cut a passage to `limit` characters: three quarters from its beginning, the rest from its end."""
    length = len(passage.text) + len(passage.tail)
    if length <= limit:
        return passage
    head, end = limit * 3 // 4, limit // 4
    tail = (passage.text + passage.tail)[-end:]
    return replace(passage, text=passage.text[:head], tail=tail, cut=passage.cut + length - head - end)


def as_text(value: Any) -> str:
    """Return a text as it is, and anything else as JSON that a person can read."""
    if isinstance(value, str):
        return value
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()


def argument_passages(given: Any) -> list[Passage]:
    """Return what a tool was given, a passage for each argument: a command or a file is then read as it is."""
    if given is None or given == {}:
        return []
    if isinstance(given, dict):
        return [make_passage(str(name), as_text(value)) for name, value in given.items()]
    return [make_passage("input", as_text(given))]
