"""Which exchange asked for which tool call. Pure.

Some agents keep the model's call ids, some extend them, most invent their own; then arguments, names and order tell.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchflow.trajectories.tools import ToolCall

_SHORTEST_ID = 6
"""A shorter id is found within another by chance."""
_REACH = 64
"""How many calls back, among those that the model asked for, the one that an agent shows is looked for."""


@dataclass(frozen=True, kw_only=True)
class AskedCall:
    """A call that the model asked for."""

    exchange: str
    began_ms: float
    """When the exchange began: agents show a call while its arguments are still coming."""
    id: str
    name: str
    arguments: Any


Likeness = Callable[[ToolCall, AskedCall], bool]


def _same_id(call: ToolCall, asked: AskedCall) -> bool:
    return bool(asked.id) and call.id == asked.id


def _extended_id(call: ToolCall, asked: AskedCall) -> bool:
    return min(len(asked.id), len(call.id)) >= _SHORTEST_ID and (asked.id in call.id or call.id in asked.id)


def _same_arguments(call: ToolCall, asked: AskedCall) -> bool:
    return bool(asked.arguments) and call.raw_input == asked.arguments


def _same_name(call: ToolCall, asked: AskedCall) -> bool:
    return bool(asked.name) and (call.name == asked.name or asked.name.lower() in call.title.lower())


def _in_order(call: ToolCall, asked: AskedCall) -> bool:
    return True


_RULES: tuple[Likeness, ...] = (_same_id, _extended_id, _same_arguments, _same_name, _in_order)
"""The surest first; each is asked of all calls before the next."""


def match_calls(calls: Sequence[ToolCall], asked: Sequence[AskedCall]) -> list[ToolCall]:
    """Give each call the exchange that asked for it, with the model's name of the tool; return the calls.

    A permission request under an id of its own is no further call where it repeats a call that was announced.
    """
    free = sorted(asked, key=lambda each: each.began_ms)
    _assign([call for call in calls if call.announced], free)
    echoes = set(_echoes(calls))
    hidden = [call for call in calls if not call.announced and id(call) not in echoes]
    _assign(hidden, free)
    # Where the exchanges are known and none of them asked for it, a permission was for something already counted.
    extra = {id(call) for call in hidden if asked and call.exchange is None}
    return [call for call in calls if id(call) not in echoes | extra]


def _assign(calls: Sequence[ToolCall], free: list[AskedCall]) -> None:
    """Join calls with what is free, which it takes out of `free`."""
    left = list(calls)
    for alike in _RULES:
        unmatched = []
        for call in left:
            asked = next((each for each in _candidates(call, free) if alike(call, each)), None)
            if asked is None:
                unmatched.append(call)
                continue
            free.remove(asked)
            call.exchange = asked.exchange
            call.asked_id = asked.id
            call.name = asked.name or call.name
            call.raw_input = asked.arguments if call.raw_input is None else call.raw_input
        left = unmatched


def _candidates(call: ToolCall, free: Sequence[AskedCall]) -> Iterator[AskedCall]:
    """The free calls whose exchange had begun: those of the latest exchange first, in their order within it."""
    end = bisect_right(free, call.began_ms, key=lambda each: each.began_ms)
    reach = max(0, end - _REACH)
    while end > reach:
        start = end
        while start > 0 and free[start - 1].exchange == free[end - 1].exchange:
            start -= 1
        yield from free[start:end]
        end = start


def _echoes(calls: Sequence[ToolCall]) -> Iterator[int]:
    """The identities of calls that only a permission named, and that an announced call with its title or input is."""
    announced = [call for call in calls if call.announced]
    for call in calls:
        if call.announced:
            continue
        twin = next((each for each in announced if _alike(call, each)), None)
        if twin is not None:
            announced.remove(twin)
            yield id(call)


def _alike(one: ToolCall, other: ToolCall) -> bool:
    same_input = one.raw_input is not None and one.raw_input == other.raw_input
    return same_input or (bool(one.title) and one.title == other.title)
