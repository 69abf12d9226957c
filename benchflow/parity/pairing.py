"""Which request of one run corresponds to which of the other. Pure.

Main requests are taken in the order in which they arrived, so that one that was put in or left out does not make all
that follow it differ. The others may be sent at the same time as any other, in no order that means anything: they are
paired by what they are for and what is in them, whenever they came.
"""

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchflow.gateway.differing import fingerprints
from benchflow.parity.capture import WireRequest

Key = Callable[[int], str]
"""The same for the requests, by their place in a capture, that are equal."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Places of two requests in their captures; None: it has no counterpart."""

    base: int | None
    head: int | None


def pair_requests(base: Sequence[WireRequest], head: Sequence[WireRequest], base_key: Key, head_key: Key) -> list[Pair]:
    """Pair the requests of two runs, in the order of `base`; what is only in `head` comes last."""
    pairs = [*_main(base, head, base_key, head_key), *_beside(base, head, base_key, head_key)]
    return sorted(pairs, key=lambda pair: (pair.base is None, pair.base or 0, pair.head or 0))


def _main(base: Sequence[WireRequest], head: Sequence[WireRequest], base_key: Key, head_key: Key) -> Iterator[Pair]:
    """Align them by those that are equal; what is between two of these is paired in order."""
    first = [place for place, request in enumerate(base) if request.role == "main"]
    second = [place for place, request in enumerate(head) if request.role == "main"]
    matcher = difflib.SequenceMatcher(None, list(map(base_key, first)), list(map(head_key, second)), autojunk=False)
    for _, start, end, other, other_end in matcher.get_opcodes():
        for offset in range(max(end - start, other_end - other)):
            yield Pair(
                base=first[start + offset] if start + offset < end else None,
                head=second[other + offset] if other + offset < other_end else None,
            )


def _beside(base: Sequence[WireRequest], head: Sequence[WireRequest], base_key: Key, head_key: Key) -> Iterator[Pair]:
    """First those that are equal, then, of one role and best of one call, those that have most in common."""
    free = [place for place, request in enumerate(head) if request.role != "main"]
    left: list[int] = []
    for place in [place for place, request in enumerate(base) if request.role != "main"]:
        equal = next((other for other in free if head_key(other) == base_key(place)), None)
        if equal is None:
            left.append(place)
        else:
            free.remove(equal)
            yield Pair(base=place, head=equal)
    for place in left:
        alike = [other for other in free if _purpose(head[other]) == _purpose(base[place])]
        alike = alike or [other for other in free if head[other].role == base[place].role]
        nearest = max(alike, key=lambda other: _common(base[place].body, head[other].body), default=None)
        if nearest is not None:
            free.remove(nearest)
        yield Pair(base=place, head=nearest)
    for other in free:
        yield Pair(base=None, head=other)


def _purpose(request: WireRequest) -> tuple[str, str, str, str]:
    return request.role, request.kind, request.method, request.path


def _common(base: Any, head: Any) -> int:
    """Return the number of parts that two bodies have in common."""
    return len(_parts(base) & _parts(head))


def _parts(body: Any) -> set[bytes]:
    if not isinstance(body, dict):
        return set(fingerprints([body]))
    values = [part for value in body.values() for part in (value if isinstance(value, list) else [value])]
    return set(fingerprints(values))
