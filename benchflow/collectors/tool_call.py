"""The tool calls of a trial: how many, of which kinds and tools, how many failed, and how long they took."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchflow.behaviour.calls import Call, call_source, read_calls
from benchflow.behaviour.names import kind_of, tool_of
from benchflow.contracts import CustomMetric, SessionTrace, ToolCallBreakdown
from benchflow.row import ProfileRow

if TYPE_CHECKING:
    from benchflow.scenario import Scenario

_MOST_NAMES = 32
OTHER_NAMES = "other-names"
"""Where the calls of all further tools are counted: an agent may make up thousands of names."""


class ToolCallCollector:
    """Collects `tool_calls.*`."""

    id = "tool-call"

    async def collect(
        self, result: ProfileRow, scenario: "Scenario", mode: str, *, trace: SessionTrace | None = None
    ) -> list[CustomMetric]:
        """Return the metrics; all are None where there is no trace to count in."""
        counts = result.tool_calls
        if trace is None and not counts.total:
            return [_metric(name, None, "") for name in ("total", "failed", "retried", "unclosed", "unique")]
        calls = read_calls(trace) if trace else []
        source = call_source(calls)
        numbers = {"total": counts.total, "failed": counts.failed, "retried": counts.retried, **_more(counts)}
        kinds = Counter(kind_of(record) for record in counts.records)
        return [
            *(_metric(name, value, source) for name, value in numbers.items()),
            _metric("unique", count_unique(calls) if trace else None, source),
            _metric("error_rate", counts.error_rate, source, "share"),
            _metric("time", _time_ms(counts), source, "ms"),
            *(_metric(f"kind.{kind}", number, source) for kind, number in sorted(kinds.items())),
            *(_metric(f"name.{name}", number, source) for name, number in _by_name(counts).items()),
        ]


def count_unique(calls: Sequence[Call]) -> int:
    """Count the different calls: by name and input. A call whose input is not known is like no other."""
    keys = [call.key for call in calls]
    return len({key for key in keys if key is not None}) + keys.count(None)


def _more(counts: ToolCallBreakdown) -> dict[str, int]:
    return {"unclosed": sum(record.status in ("pending", "in_progress") for record in counts.records)}


def _time_ms(counts: ToolCallBreakdown) -> float | None:
    """The times of all closed calls, each counted in full also where they overlap."""
    closed = [record.ms for record in counts.records if record.ms is not None]
    return round(sum(closed), 3) if closed else None


def _by_name(counts: ToolCallBreakdown) -> dict[str, int]:
    names = Counter(map(tool_of, counts.records)).most_common()
    shown = dict(names[:_MOST_NAMES])
    rest = sum(number for _, number in names[_MOST_NAMES:])
    return {**shown, OTHER_NAMES: rest} if rest else shown


def _metric(name: str, value: float | None, source: str, unit: str = "calls") -> CustomMetric:
    return CustomMetric(name=f"tool_calls.{name}", value=value, unit=unit, source=source if value is not None else "")
