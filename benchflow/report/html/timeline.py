"""A try's timeline: ACP events and model exchanges on one clock, fitted to what one trial may take of the page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from benchflow.report import numbers
from benchflow.report.html.axis import Tick, make_ticks
from benchflow.report.html.event_items import event_items, tool_item
from benchflow.report.html.items import Item
from benchflow.report.html.model_items import model_item
from benchflow.report.html.passages import shorten
from benchflow.trace import find_tool_calls
from benchflow.trajectories.trajectory import Trajectory

MOST_ITEMS = 6_000
MOST_BYTES = 1_500_000
"""Of a timeline as JSON, before it is compressed."""
_LADDER = (6_000, 2_000, 600, 160)
"""How long a text may be at most, each tried where the one before was not short enough."""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """What happened in a try, in the order of the clock."""

    items: Sequence[Item]
    ms: float
    """From the beginning of the first item to the end of the last."""
    ticks: Sequence[Tick]
    dropped: int = 0
    """Items that were left out in the middle."""
    dropped_at: int = 0
    """Before which item they were."""


def read_timeline(folder: Path) -> Timeline | None:
    """Read the timeline of the try in `folder`; None: its logs hold nothing."""
    items = sorted(_items(Trajectory(folder)), key=lambda item: item.at)
    if not items:
        return None
    begin = items[0].at
    end = max(item.at + (item.ms or 0) for item in items)
    placed = [_place(item, begin) for item in items]
    return fit(Timeline(items=placed, ms=round(end - begin, 3), ticks=make_ticks(end - begin, numbers.duration)))


def _items(trajectory: Trajectory) -> Iterator[Item]:
    events = list(trajectory.events())
    yield from event_items(events)
    for recorded, exchange in zip(trajectory.recorded, trajectory.exchanges, strict=True):
        yield model_item(recorded, exchange)
    for call in find_tool_calls(events, trajectory.exchanges):
        yield tool_item(call, trajectory)


def _place(item: Item, begin: float) -> Item:
    at = round(item.at - begin, 3)
    return replace(item, at=at, at_text=f"+{numbers.duration(at)}")


def fit(timeline: Timeline, most_items: int = MOST_ITEMS, most_bytes: int = MOST_BYTES) -> Timeline:
    """Leave out the middle of a very long timeline, and cut its texts until it is small enough."""
    over = len(timeline.items) - most_items
    if over > 0:
        head = most_items // 2
        kept = [*timeline.items[:head], *timeline.items[head + over :]]
        timeline = replace(timeline, items=kept, dropped=over, dropped_at=head)
    for limit in _LADDER:
        if len(orjson.dumps(timeline)) <= most_bytes:
            break
        timeline = replace(timeline, items=[_cut(item, limit) for item in timeline.items])
    return timeline


def _cut(item: Item, limit: int) -> Item:
    return replace(item, passages=tuple(shorten(passage, limit) for passage in item.passages))
