"""Where the time of a session's prompts went: to the model, to tools, to the agent itself, or to the gateway. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchflow.behaviour.calls import Call
from benchflow.contracts import Event, SessionTrace

Interval = tuple[float, float]
"""From and to, in milliseconds of the run's clock."""


@dataclass(frozen=True, kw_only=True)
class TimeShares:
    """Milliseconds, which add up to `prompts_ms`. None: the gateway saw no exchange, so nobody can tell."""

    prompts_ms: float
    """From each prompt to its end, or to the last event where it has none."""
    model_ms: float | None
    """A turn's exchange was under way, and the gateway did not hold it."""
    held_ms: float | None
    """The gateway held a turn's exchange."""
    tools_ms: float
    """None was, and a tool call was open."""
    agent_ms: float | None
    """Neither: the agent's own time."""


def share_time(trace: SessionTrace, calls: Iterable[Call]) -> TimeShares:
    """Share out the time of the prompts. A tool call that was never closed takes none, for nobody knows how much."""
    prompts = _prompts(trace.events)
    exchanges, held_ms = _exchanges(trace.events)
    exchanges = _within(_union(exchanges), prompts)
    open_calls = [(call.began_ms, call.ended_ms) for call in calls if call.began_ms is not None]
    tools = [(began, ended) for began, ended in open_calls if ended is not None]
    busy = _within(_union([*exchanges, *tools]), prompts)
    prompts_ms, exchanges_ms, busy_ms = _length(prompts), _length(exchanges), _length(busy)
    held_ms = min(held_ms, exchanges_ms)
    seen = bool(trace.turns)
    return TimeShares(
        prompts_ms=round(prompts_ms, 3),
        model_ms=round(exchanges_ms - held_ms, 3) if seen else None,
        held_ms=round(held_ms, 3) if seen else None,
        tools_ms=round(busy_ms - exchanges_ms, 3),
        agent_ms=round(prompts_ms - busy_ms, 3) if seen else None,
    )


def _prompts(events: Sequence[Event]) -> list[Interval]:
    found: list[Interval] = []
    began: float | None = None
    for event in events:
        if event.type == "prompt_begin":
            began = event.mono_ms
        elif event.type == "prompt_end" and began is not None:
            found.append((began, event.mono_ms))
            began = None
    if began is not None:
        found.append((began, max(began, events[-1].mono_ms)))
    return _union(found)


def _exchanges(events: Iterable[Event]) -> tuple[list[Interval], float]:
    """The turns' exchanges, and for how long they were held in all."""
    begins: dict[str, float] = {}
    found: list[Interval] = []
    held_ms = 0.0
    for event in events:
        if event.type == "turn_begin":
            begins[event.data["exchange"]] = event.mono_ms
        elif event.type == "turn_end" and event.data["exchange"] in begins:
            began = begins[event.data["exchange"]]
            found.append((began, event.mono_ms))
            held_ms += max(0.0, event.mono_ms - began - event.data["duration_ms"])
    return found, held_ms


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same time without overlaps, in order."""
    found: list[Interval] = []
    for began, ended in sorted(intervals):
        if found and began <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], ended))
        else:
            found.append((began, ended))
    return found


def _within(intervals: Sequence[Interval], bounds: Sequence[Interval]) -> list[Interval]:
    """The parts of intervals that lie within bounds; both in order and without overlaps."""
    found: list[Interval] = []
    first = 0
    for low, high in bounds:
        while first < len(intervals) and intervals[first][1] <= low:
            first += 1
        at = first
        while at < len(intervals) and intervals[at][0] < high:
            found.append((max(low, intervals[at][0]), min(high, intervals[at][1])))
            at += 1
    return found


def _length(intervals: Iterable[Interval]) -> float:
    return sum(ended - began for began, ended in intervals)
