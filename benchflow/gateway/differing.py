"""In which fields two values differ, and how to say so: the path, what was recorded, what was asked. Pure."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

MISSING = object()
"""Stands for what one of the two values does not have."""
LONG = 60
"""Characters from which on two texts are shown by their differing words."""
AROUND = 8
"""Words and marks shown on either side of one that differs."""
SHOWN = 160
"""Characters of a value that are shown."""
LINE_END = "⏎ "
"""Stands for the end of a line where a text is shown on one."""
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
MANY = 2_000
"""Words from which on texts are compared by their lines, to be quick."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One field in which two values differ."""

    path: str
    """As in `body.messages[3].content`."""
    recorded: Any
    asked: Any
    """Either may be MISSING."""

    def lines(self) -> list[str]:
        """Say it, in one or three lines."""
        recorded, asked = self.recorded, self.asked
        if isinstance(recorded, str) and isinstance(asked, str) and max(len(recorded), len(asked)) > LONG:
            return [f"{self.path}: {word_difference(recorded, asked)}"]
        return [f"{self.path}:", f"  recorded: {_shown(recorded)}", f"  asked:    {_shown(asked)}"]


def differences(recorded: Any, asked: Any, path: str = "") -> Iterator[Difference]:
    """Find the innermost fields that differ."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for key in dict.fromkeys([*recorded, *asked]):
            inner = f"{path}.{key}" if path else key
            yield from differences(recorded.get(key, MISSING), asked.get(key, MISSING), inner)
    elif isinstance(recorded, list) and isinstance(asked, list):
        yield from _in_lists(recorded, asked, path)
    elif recorded is MISSING or asked is MISSING or type(recorded) is not type(asked) or recorded != asked:
        yield Difference(path=path, recorded=recorded, asked=asked)


def _in_lists(recorded: list[Any], asked: list[Any], path: str) -> Iterator[Difference]:
    """Align the items, so that one that was put in does not make all that follow it differ."""
    matcher = difflib.SequenceMatcher(None, fingerprints(recorded), fingerprints(asked), autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        for offset in range(max(end - start, other_end - other_start)):
            place, other = start + offset, other_start + offset
            yield from differences(
                recorded[place] if place < end else MISSING,
                asked[other] if other < other_end else MISSING,
                f"{path}[{other if other < other_end else place}]",
            )


def fingerprints(items: Sequence[Any]) -> list[bytes]:
    """Return what is the same for equal items, whatever the order of their keys."""
    return [orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in items]


def word_difference(recorded: str, asked: str) -> str:
    """Show two texts as one: `… read the [-tests-]{+docs+} and …`, with a few words around what differs."""
    head, (old, new), tail = _trimmed(_WORDS.findall(recorded), _WORDS.findall(asked))
    if len(old) + len(new) > MANY:
        old, new = _LINES.findall("".join(old)), _LINES.findall("".join(new))
    parts = [_around(head, first=True, last=False)] if head else []
    for tag, start, end, other_start, other_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag == "equal":
            parts.append(_around(old[start:end], first=False, last=False))
            continue
        gone, come = "".join(old[start:end]), "".join(new[other_start:other_end])
        parts.append((f"[-{_cut(gone)}-]" if gone else "") + (f"{{+{_cut(come)}+}}" if come else ""))
    parts += [_around(tail, first=False, last=True)] if tail else []
    return "".join(parts).replace("\n", LINE_END)


def _trimmed(old: list[str], new: list[str]) -> tuple[list[str], tuple[list[str], list[str]], list[str]]:
    """Split off what both begin and end with."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    end = next((at for at in range(shorter - start) if old[-1 - at] != new[-1 - at]), shorter - start)
    return old[:start], (old[start : len(old) - end], new[start : len(new) - end]), old[len(old) - end :]


def _around(words: list[str], *, first: bool, last: bool) -> str:
    keep = 2 * AROUND  # words and the spaces between them
    if first:
        return "".join(words) if len(words) <= keep else "… " + "".join(words[-keep:]).lstrip()
    if last:
        return "".join(words) if len(words) <= keep else "".join(words[:keep]).rstrip() + " …"
    if len(words) <= 2 * keep:
        return "".join(words)
    return "".join(words[:keep]).rstrip() + " … " + "".join(words[-keep:]).lstrip()


def _shown(value: Any) -> str:
    return "nothing" if value is MISSING else _cut(orjson.dumps(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
