"""A captured request after the neutral rules, and which of the rules it takes for two of them to be equal. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson

from benchflow.gateway.differing import Difference, differences
from benchflow.gateway.neutral import RULES, Side, neutralize
from benchflow.parity.capture import Capture, WireRequest

_SHORT = 32
"""Characters up to which a text may be what the rules look at around another one: a role, a type."""


@dataclass(frozen=True)
class Bare:
    """A request without what is its side's own."""

    value: Mapping[str, Any]
    """`call`, `headers` and `body`."""
    fired: Mapping[str, int]

    @cached_property
    def key(self) -> str:
        """The same for equal ones."""
        return orjson.dumps(self.value).decode()


def bare(request: WireRequest, side: Side, without: Collection[str] = ()) -> Bare:
    """Apply all rules but those named in `without`."""
    head = neutralize({"call": request.call, "headers": dict(request.headers)}, side, without)
    body = neutralize(request.body, side, without)
    fired = {name: head.fired.get(name, 0) + body.fired.get(name, 0) for name in RULES}
    return Bare({**head.value, "body": body.value}, {name: count for name, count in fired.items() if count})


class Laid:
    """A capture laid out to be compared: its requests after the rules, each made when it is first wanted."""

    def __init__(self, capture: Capture, without: Collection[str] = ()) -> None:
        self.requests = capture.requests
        self.side = capture.setting.side()
        self.without = frozenset(without)
        self._bare: dict[int, Bare] = {}

    def bare(self, place: int) -> Bare:
        """Return the request at this place after the rules."""
        if place not in self._bare:
            self._bare[place] = bare(self.requests[place], self.side, self.without)
        return self._bare[place]


def differing(base: Laid, place: int, head: Laid, other: int) -> tuple[Difference, ...]:
    """Compare two requests, first byte for byte, then after the rules; `base` is recorded, `head` asked."""
    one, two = base.requests[place], head.requests[other]
    if one.identity == two.identity:
        return ()
    first, second = base.bare(place), head.bare(other)
    return tuple(_differences(one, two, first, second, (base.side, head.side), base.without))


def needed_rules(base: Laid, place: int, head: Laid, other: int, found: Sequence[Difference]) -> Mapping[str, int]:
    """Return the rules without which two requests would differ in more than was found, and how often each fired."""
    one, two = base.requests[place], head.requests[other]
    if one.identity == two.identity:
        return {}
    first, second = base.bare(place).fired, head.bare(other).fired
    fired = [name for name in RULES if name in first or name in second]
    needed = _needed(one, two, (base, head), fired, found)
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in needed}


def _needed(
    one: WireRequest,
    two: WireRequest,
    laid: tuple[Laid, Laid],
    fired: Sequence[str],
    found: Sequence[Difference],
) -> list[str]:
    """Return the rules that fired and that it takes: leave out, the last first, each without which nothing changes."""
    paths = [difference.path for difference in found]
    bodies = _unequal(one.body, two.body)
    one, two = replace(one, body=bodies[0]), replace(two, body=bodies[1])
    sides = laid[0].side, laid[1].side
    unneeded = laid[0].without
    for name in reversed(fired):
        fewer = unneeded | {name}
        again = _differences(one, two, bare(one, sides[0], fewer), bare(two, sides[1], fewer), sides, fewer)
        if [difference.path for difference in again] == paths:
            unneeded = fewer
    return [name for name in fired if name not in unneeded]


def _unequal(one: Any, two: Any) -> tuple[Any, Any]:
    """Leave out of two values what is the same in both, but for short texts, and keep all places."""
    if one == two and orjson.dumps(one) == orjson.dumps(two):
        short = not isinstance(one, dict | list) and not (isinstance(one, str) and len(one) > _SHORT)
        return (one, two) if short else ("", "")
    if isinstance(one, dict) and isinstance(two, dict):
        pairs = {key: _unequal(one[key], two[key]) for key in one if key in two}
        return (
            {key: pairs[key][0] if key in pairs else value for key, value in one.items()},
            {key: pairs[key][1] if key in pairs else value for key, value in two.items()},
        )
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        both = [_unequal(mine, theirs) for mine, theirs in zip(one, two, strict=True)]
        return [mine for mine, _ in both], [theirs for _, theirs in both]
    return one, two


def _differences(
    base: WireRequest,
    head: WireRequest,
    first: Bare,
    second: Bare,
    sides: tuple[Side, Side],
    without: Collection[str],
) -> list[Difference]:
    found = [each for each in differences(first.value, second.value) if not _same_words(each, sides, without)]
    if base.role != head.role:
        found.append(Difference(path="role", recorded=base.role, asked=head.role))
    found += _orders(first.value["body"], second.value["body"], "body")
    if found:
        return found
    same_fields = {"null_content"}.isdisjoint({*first.fired, *second.fired})
    if same_fields and base.form != head.form:
        return [Difference(path="body", recorded="written in one form", asked="the same values, written otherwise")]
    return []


def _same_words(difference: Difference, sides: tuple[Side, Side], without: Collection[str]) -> bool:
    """Whether two texts differ only where both say what is one side's own: `/tmp`, where only one has its TMPDIR there.

    What is the other side's own is taken out of each as well, to see that.
    """
    one, two = difference.recorded, difference.asked
    if not isinstance(one, str) or not isinstance(two, str):
        return False
    return neutralize(one, sides[1], without).value == neutralize(two, sides[0], without).value


def _orders(base: Any, head: Any, path: str) -> Iterator[Difference]:
    """Find where two objects have the keys that both have in another order."""
    if isinstance(base, dict) and isinstance(head, dict):
        mine, theirs = [key for key in base if key in head], [key for key in head if key in base]
        if mine != theirs:
            yield Difference(path=f"{path} (order of keys)", recorded=mine, asked=theirs)
        for key in mine:
            yield from _orders(base[key], head[key], f"{path}.{key}")
    elif isinstance(base, list) and isinstance(head, list) and len(base) == len(head):
        for place, (one, other) in enumerate(zip(base, head, strict=True)):
            yield from _orders(one, other, f"{path}[{place}]")
