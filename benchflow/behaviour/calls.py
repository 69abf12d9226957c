"""The tool calls of a trace, each with what its events say: its input, its output, its purpose, its failure.

A trace's records say which calls there are; events and turns say more of them where they can.
"""

import posixpath
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from benchflow.behaviour.failures import FailureType, failure_of
from benchflow.behaviour.names import kind_of, tool_of
from benchflow.behaviour.once import once_per_trace
from benchflow.behaviour.purpose import Purpose, command_of, purpose_of
from benchflow.contracts import Event, SessionTrace, ToolCallRecord
from benchflow.trajectories.output import output_text
from benchflow.trajectories.tools import ToolCall, ToolLedger

_PATH_KEYS = (
    *("path", "file_path", "filePath", "filepath", "file", "filename", "abs_path", "absolute_path"),
    *("target_file", "notebook_path", "old_path", "source"),
)
_WORKSPACE = "/workspace/"
"""Where the sandbox shows the workspace; agents name files in it with and without."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One tool call."""

    record: ToolCallRecord
    seen: ToolCall | None = None
    """What its events say; None where there are none."""
    given: Any = None
    """Its input, as the agent showed it, else as the model asked for it; None: not known."""

    @cached_property
    def tool(self) -> str:
        return tool_of(self.record)

    @cached_property
    def purpose(self) -> Purpose:
        return purpose_of(kind_of(self.record), self.tool, self.command)

    @property
    def began_ms(self) -> float | None:
        return self.seen.began_ms if self.seen else None

    @property
    def ended_ms(self) -> float | None:
        """None: it was never closed."""
        return self.seen.closed_ms if self.seen else None

    @property
    def source(self) -> str:
        return self.seen.source if self.seen else ""

    @cached_property
    def output(self) -> str:
        return output_text(self.seen) if self.seen else ""

    @cached_property
    def failure(self) -> FailureType | None:
        """The type of its failure; None: it did not fail."""
        raw_output = self.seen.raw_output if self.seen else None
        return failure_of(self.record.status, raw_output, self.output, self.purpose)

    @cached_property
    def key(self) -> bytes | None:
        """What makes two calls the same: name and input. None: the input is not known, so nobody can say."""
        if self.given is None:
            return None
        try:
            return orjson.dumps([self.record.name, self.given], option=orjson.OPT_SORT_KEYS)
        except TypeError:  # no plain JSON: another provider's trace may hold anything
            return repr((self.record.name, self.given)).encode("utf-8", "replace")

    @cached_property
    def command(self) -> str:
        return command_of(self.given)

    @cached_property
    def path(self) -> str | None:
        """The file that it looks at or changes: from its input, else its locations, else its diff; None: not known.

        Files that a command line names are not read out of it.
        """
        if self.purpose not in ("look", "change") or self.command:
            return None
        found = next(self._paths(), None)
        return posixpath.normpath(found.removeprefix(_WORKSPACE)) if found else None

    def _paths(self) -> Iterator[str]:
        places = [self.given] if isinstance(self.given, dict) else []
        if self.seen:
            places += [*self.seen.locations, *self.seen.content]
        for place in places:
            for key in _PATH_KEYS if isinstance(place, dict) else ():
                if isinstance(place.get(key), str) and place[key]:
                    yield place[key]


@once_per_trace
def read_calls(trace: SessionTrace) -> Sequence[Call]:
    """Return the calls that a trace's records name, in their order."""
    seen = _seen_by_id(trace.events)
    asked = _Asked(trace.events)
    calls: list[Call] = []
    for record in trace.tool_calls.records:
        details = seen[record.id].popleft() if seen.get(record.id) else None
        arguments = asked.take(record)
        shown = details.raw_input if details else None
        calls.append(Call(record=record, seen=details, given=arguments if shown is None else shown))
    return calls


def call_source(calls: Sequence[Call]) -> str:
    """Return where calls are from: `acp`, or `derived` where the agent shows none and its exchanges tell of them."""
    return next((call.source for call in calls if call.source), "acp")


def _seen_by_id(events: Iterable[Event]) -> dict[str, deque[ToolCall]]:
    ledger = ToolLedger()
    for event in events:
        if event.type in ("tool_call", "tool_call_update", "permission"):
            ledger.see(event)
    found: dict[str, deque[ToolCall]] = defaultdict(deque)
    for call in ledger.calls:
        found[call.id].append(call)
    return found


class _Asked:
    """The calls that the model asked for in each turn, each to be taken once."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._by_id: dict[tuple[str, str], deque[dict[str, Any]]] = defaultdict(deque)
        self._by_name: dict[tuple[str, str], deque[dict[str, Any]]] = defaultdict(deque)
        self._taken: set[int] = set()
        for event in events:
            if event.type != "turn_end":
                continue
            for call in event.data.get("tool_calls") or ():
                self._by_id[event.data["exchange"], call["id"]].append(call)
                self._by_name[event.data["exchange"], call["name"]].append(call)

    def take(self, record: ToolCallRecord) -> Any:
        """Return the arguments of the call that a record is of: the same id, else the next with its name; else None."""
        exchange = record.exchange or ""
        for free in (self._by_id.get((exchange, record.id)), self._by_name.get((exchange, record.name))):
            while free:
                call = free.popleft()
                if id(call) not in self._taken:
                    self._taken.add(id(call))
                    return call["arguments"]
        return None
