"""The tool calls of a session, made of all that the protocol and the model exchanges show of them.

Agents announce calls twice, late, only in a permission request, or never close them. A ledger takes the events as they
come; `breakdown` counts what it found.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from benchflow.contracts import Event, EventSource, ToolCallBreakdown, ToolCallRecord, ToolStatus

_STATUSES: Mapping[str, ToolStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "failed",
}
_FINAL = ("completed", "failed")


@dataclass(kw_only=True)
class ToolCall:
    """A tool call, as far as it has been seen."""

    id: str
    began_ms: float
    source: EventSource = "acp"
    name: str = ""
    title: str = ""
    kind: str = "other"
    status: ToolStatus = "pending"
    raw_input: Any = None
    raw_output: Any = None
    content: Sequence[Any] = ()
    locations: Sequence[Any] = ()
    closed_ms: float | None = None
    exchange: str | None = None
    """Id of the exchange that asked for it."""
    asked_id: str = ""
    """The model's own id of it, where an exchange asked for it."""
    announced: bool = False
    """False: only a permission request named it."""

    def update(self, data: Mapping[str, Any], mono_ms: float) -> None:
        """Take what an event says of the call. What it does not say stays, and so does a final status."""
        self.name = _text(data.get("name")) or self.name
        self.title = _text(data.get("title")) or self.title
        self.kind = _text(data.get("kind")) or self.kind
        content = data.get("content")
        self.content = content if isinstance(content, list) and content else self.content
        locations = data.get("locations")
        self.locations = locations if isinstance(locations, list) and locations else self.locations
        self.raw_input = self.raw_input if data.get("raw_input") is None else data["raw_input"]
        self.raw_output = self.raw_output if data.get("raw_output") is None else data["raw_output"]
        status = _STATUSES.get(str(data.get("status")))
        if status and self.closed_ms is None:
            self.status = status
            self.closed_ms = mono_ms if status in _FINAL else None

    def record(self) -> ToolCallRecord:
        """Return what a profile row keeps of it."""
        return ToolCallRecord(
            id=self.id,
            name=self.name or self.title or self.kind,
            kind=self.kind,
            status=self.status,
            ms=None if self.closed_ms is None else round(self.closed_ms - self.began_ms, 3),
            exchange=self.exchange,
        )


@dataclass
class ToolLedger:
    """Takes a session's events in order, and knows its tool calls."""

    calls: list[ToolCall] = field(default_factory=list)
    """In the order in which they were first seen."""
    _latest: dict[str, ToolCall] = field(default_factory=dict)

    def see(self, event: Event) -> None:
        """Take the next event."""
        if event.type in ("tool_call", "tool_call_update"):
            call = self._find(str(event.data.get("id", "")), event)
            call.announced = True
            call.update(event.data, event.mono_ms)
        elif event.type == "permission" and event.data.get("tool_call_id"):
            call = self._find(str(event.data["tool_call_id"]), event)
            call.update({key: event.data.get(key) for key in ("name", "title", "kind", "raw_input")}, event.mono_ms)

    def _find(self, id: str, event: Event) -> ToolCall:
        call = self._latest.get(id)
        if call is None or _is_new(call, event):
            call = ToolCall(id=id, began_ms=event.mono_ms, source=event.source)
            self._latest[id] = call
            self.calls.append(call)
        return call


def _text(value: Any) -> str:
    """Agents send anything where a text belongs."""
    return value if isinstance(value, str) else ""


def _is_new(call: ToolCall, event: Event) -> bool:
    """Tell whether an event under a known id announces another call, after the known one has ended.

    Any other repeat says more of the known call.
    """
    return event.type == "tool_call" and call.closed_ms is not None and event.data.get("status") not in _FINAL


def breakdown(calls: Sequence[ToolCall]) -> ToolCallBreakdown:
    """Count calls."""
    failed = sum(call.status == "failed" for call in calls)
    return ToolCallBreakdown(
        total=len(calls),
        by_category=dict(Counter(call.kind for call in calls)),
        failed=failed,
        retried=_count_retried(calls),
        error_rate=failed / len(calls) if calls else None,
        records=tuple(call.record() for call in calls),
    )


def _count_retried(calls: Iterable[ToolCall]) -> int:
    """Count the calls that repeat one that had failed, with the same name and arguments."""
    retried = 0
    failed: set[bytes] = set()
    for call in calls:
        if call.raw_input is None:
            continue  # nothing says that it is the same call
        what = orjson.dumps([call.name or call.title, call.raw_input], option=orjson.OPT_SORT_KEYS)
        retried += what in failed
        if call.status == "failed":
            failed.add(what)
        else:
            failed.discard(what)
    return retried
