"""A row as one line of a table: which columns there are, of which kind, and how a row fills them. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from benchflow.report.profile import CellFigures
from benchflow.row import METRICS, ProfileRow

Kind = Literal["text", "whole", "number", "truth"]
Value = str | int | float | bool | None

_TOP: tuple[tuple[str, Kind], ...] = (
    ("run_id", "text"),
    ("trial", "text"),
    ("tries", "whole"),
    ("agent", "text"),
    ("agent_version", "text"),
    ("agent_digest", "text"),
    ("model", "text"),
    ("model_served", "text"),
    ("upstream", "text"),
    ("mode", "text"),
    ("isolation", "text"),
    ("tier", "text"),
    ("scenario_id", "text"),
    ("scenario_digest", "text"),
    ("iteration", "whole"),
    ("started_at", "text"),
    ("completed_at", "text"),
    ("success", "truth"),
    ("score", "number"),
    ("checks_passed", "whole"),
    ("checks_total", "whole"),
    ("output_valid", "truth"),
    ("completion_reason", "text"),
    ("stop_reason", "text"),
    ("wrapped_up", "truth"),
    ("error_code", "text"),
    ("error", "text"),
    ("agent_turns", "whole"),
    ("provider", "text"),
    ("session_id", "text"),
    ("benchflow_version", "text"),
)
_NESTED: tuple[tuple[str, tuple[str, ...], Kind], ...] = (
    ("tokens", ("input", "output", "reasoning", "cache_read", "cache_write", "total", "active"), "whole"),
    ("cost", ("total_usd", "main_usd", "auxiliary_usd"), "number"),
    ("cost", ("source",), "text"),
    ("exchanges", ("main", "auxiliary", "failed"), "whole"),
    ("tool_calls", ("total", "failed", "retried"), "whole"),
    ("limit", ("kind", "phase", "counter"), "text"),
    ("limit", ("allowed", "used"), "number"),
)
_SEGMENTS = ("workspace", "session", "launch", "handshake", "prompt", "model", "stop", "score")
_CALLS = ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")


@dataclass(frozen=True, kw_only=True)
class FlatColumn:
    """One column of the table of trials."""

    name: str
    kind: Kind
    read: Callable[[ProfileRow], Value]


def flat_columns(cells: Iterable[CellFigures]) -> list[FlatColumn]:
    """Return the columns: the same for every run, and after them those of what plugins measured in these cells."""
    columns = [FlatColumn(name=name, kind=kind, read=_top(name)) for name, kind in _TOP]
    columns += [
        FlatColumn(name=f"{field}.{name}", kind=kind, read=_nested(field, name))
        for field, names, kind in _NESTED
        for name in names
    ]
    columns.append(FlatColumn(name="timing.wall_ms", kind="number", read=lambda row: row.timing.wall_ms))
    columns += [FlatColumn(name=f"timing.{name}_ms", kind="number", read=_segment(name)) for name in _SEGMENTS]
    columns += [FlatColumn(name=f"tool_calls.{name}", kind="whole", read=_calls(name)) for name in _CALLS]
    columns.append(FlatColumn(name="checks_failed", kind="text", read=_failed))
    names = sorted({metric.name for cell in cells for metric in cell.metrics})
    return columns + [FlatColumn(name=f"metrics.{name}", kind="number", read=_metric(name)) for name in names]


def _top(name: str) -> Callable[[ProfileRow], Value]:
    return lambda row: getattr(row, name)


def _nested(field: str, name: str) -> Callable[[ProfileRow], Value]:
    return lambda row: getattr(getattr(row, field), name, None)


def _segment(name: str) -> Callable[[ProfileRow], Value]:
    return lambda row: row.timing.segments.get(name)


def _calls(name: str) -> Callable[[ProfileRow], Value]:
    return lambda row: row.tool_calls.by_category.get(name, 0)


def _metric(name: str) -> Callable[[ProfileRow], Value]:
    def read(row: ProfileRow) -> Value:
        metric = row.extensions.get(METRICS, {}).get(name)
        value = metric.get("value") if isinstance(metric, dict) else None
        return float(value) if isinstance(value, int | float) else None

    return read


def _failed(row: ProfileRow) -> str:
    """The ids of the checks that failed, separated by spaces."""
    return " ".join(check.id for check in row.check_details if not check.passed)
