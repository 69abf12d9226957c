"""In what an agent differs from itself: measured by running it alone more than once, never assumed. Pure.

A field that differs between two runs of the agent alone is noise. What it may be inside is not anything, though: where
it is a text, what two runs of the agent alone have in common must stand there too.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from benchflow.gateway.differing import MANY, MISSING, Difference

_WORDS = re.compile(r"\s+|\S+")


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What was found between runs of the agent alone."""

    fields: Mapping[str, tuple[Difference, ...]] = field(default_factory=dict)
    """By request and path."""
    lone: frozenset[str] = frozenset()
    """Requests that only some of the runs had."""

    def explains(self, request: str, difference: Difference) -> bool:
        """Whether the agent alone differs from itself in the same field in such a way."""
        return any(_alike(sample, difference) for sample in self.fields.get(place(request, difference), ()))


def place(request: str, difference: Difference) -> str:
    """Name a field of a request."""
    return f"{request}: {difference.path}"


def join(noises: Iterable[Noise]) -> Noise:
    """Put together what several comparisons have found."""
    fields: dict[str, tuple[Difference, ...]] = {}
    lone: set[str] = set()
    for noise in noises:
        lone |= noise.lone
        for name, samples in noise.fields.items():
            fields[name] = (*fields.get(name, ()), *samples)
    return Noise(fields=fields, lone=frozenset(lone))


def _alike(sample: Difference, difference: Difference) -> bool:
    texts = (sample.recorded, sample.asked, difference.asked)
    if not all(isinstance(text, str) for text in texts):
        return (sample.asked is MISSING) == (difference.asked is MISSING)
    return fits(difference.asked, common_parts(sample.recorded, sample.asked))


@lru_cache(maxsize=256)
def common_parts(one: str, other: str) -> tuple[str, ...]:
    """Return what two texts have in common, in order: words and the space between them.

    The first part stands at the beginning and the last one at the end; either may be empty. Space alone, between two
    words that differ, is no part.
    """
    words, others = _WORDS.findall(one), _WORDS.findall(other)
    start = _common_start(words, others)
    words, others, first = words[start:], others[start:], "".join(words[:start])
    end = _common_start(words[::-1], others[::-1])
    words, others, last = words[: len(words) - end], others[: len(others) - end], "".join(words[len(words) - end :])
    if len(words) + len(others) > MANY:
        words, others = "".join(words).splitlines(keepends=True), "".join(others).splitlines(keepends=True)
    blocks = difflib.SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    parts = ["".join(words[block.a : block.a + block.size]) for block in blocks]
    return first, *(part for part in parts if part.strip()), last


def _common_start(words: Sequence[str], others: Sequence[str]) -> int:
    shorter = min(len(words), len(others))
    return next((at for at in range(shorter) if words[at] != others[at]), shorter)


def fits(text: str, parts: tuple[str, ...]) -> bool:
    """Whether the text has the parts in it, in their order: the first at its beginning, the last at its end."""
    first, *middle, last = parts
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
