"""What stands on a trial's timeline: values of one shape, so that the page draws every kind with one code."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from benchflow.report import numbers
from benchflow.report.html.passages import Passage
from benchflow.report.text import one_line

Kind = Literal[
    "prompt", "model", "tool", "message", "thought", "user", "plan", "permission", "usage", "limit", "notice", "error"
]
State = Literal["good", "bad", "odd"]

_BRIEF = 160


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A figure or a word with its name."""

    label: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that happened. Times are in milliseconds from the beginning of the trial's logs."""

    kind: Kind
    at: float
    at_text: str = ""
    """Written by `place`."""
    ms: float | None = None
    """How long it took; None: a moment, or never closed."""
    ms_text: str = ""
    role: str = ""
    """Of a model request: main, auxiliary, subagent."""
    wait: float = 0
    """Of `ms`, until the first byte of the answer."""
    held: float = 0
    """Of `ms`, while the gateway held the request."""
    title: str
    brief: str = ""
    """What there is to read without opening it."""
    state: State | None = None
    facts: tuple[Fact, ...] = ()
    passages: tuple[Passage, ...] = ()


def make_facts(pairs: Iterable[tuple[str, str | None]]) -> tuple[Fact, ...]:
    """Make facts of what is known. The values may come from an agent."""
    return tuple(Fact(label=one_line(label), value=one_line(value, 400)) for label, value in pairs if value)


def brief(text: str) -> str:
    """Return the beginning of a text on one line."""
    return one_line(text[: 4 * _BRIEF], _BRIEF)


def took(ms: float | None) -> str:
    """Write how long something took; nothing where that is not known."""
    return "" if ms is None else numbers.duration(ms)
