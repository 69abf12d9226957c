"""A captured request after the neutral rules, and which of the rules it takes for two of them to be equal. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from benchflow.gateway.differing import MISSING, Difference, differences
from benchflow.gateway.neutral import RULES, Side, neutralize
from benchflow.parity.capture import WireRequest


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


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Two requests after the rules."""

    differences: tuple[Difference, ...]
    """Base is what was recorded, head what was asked."""
    needed: Mapping[str, int]
    """The rules without which there would be more differences, and how often each fired."""


def compare_pair(base: WireRequest, head: WireRequest, sides: tuple[Side, Side], without: Collection[str]) -> Compared:
    """Compare two requests: first byte for byte, then after the rules."""
    if base.identity == head.identity:
        return Compared(differences=(), needed={})
    first, second = bare(base, sides[0], without), bare(head, sides[1], without)
    found = _differences(base, head, first, second)
    paths = [difference.path for difference in found]
    unneeded = set(without)
    for name in reversed([name for name in RULES if name in first.fired or name in second.fired]):
        fewer = {*unneeded, name}
        again = _differences(base, head, bare(base, sides[0], fewer), bare(head, sides[1], fewer))
        if [difference.path for difference in again] == paths:
            unneeded = fewer
    needed = [name for name in RULES if (name in first.fired or name in second.fired) and name not in unneeded]
    counts = {name: max(first.fired.get(name, 0), second.fired.get(name, 0)) for name in needed}
    return Compared(differences=tuple(found), needed=counts)


def _differences(base: WireRequest, head: WireRequest, first: Bare, second: Bare) -> list[Difference]:
    found = list(differences(first.value, second.value))
    if base.role != head.role:
        found.append(Difference(path="role", recorded=base.role, asked=head.role))
    if found:
        return found
    if found := list(_orders(first.value["body"], second.value["body"], "body")):
        return found
    same_fields = {"null_content"}.isdisjoint({*first.fired, *second.fired})
    if same_fields and base.form != head.form:
        return [Difference(path="body", recorded="written in one form", asked="the same values, written otherwise")]
    return []


def _orders(base: Any, head: Any, path: str) -> list[Difference]:
    """Find where equal objects have their keys in another order."""
    if isinstance(base, dict):
        if list(base) != list(head):
            return [Difference(path=f"{path} (order of keys)", recorded=list(base), asked=list(head))]
        return [found for key in base for found in _orders(base[key], head[key], f"{path}.{key}")]
    if isinstance(base, list):
        return [
            found
            for place, (one, other) in enumerate(zip(base, head, strict=True))
            for found in _orders(one, other, f"{path}[{place}]")
        ]
    return []


def shown(value: Any) -> Any:
    """Return a value of a difference as JSON can say it: null where there is none."""
    return None if value is MISSING else value
