"""What collectors and analyzers say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class CustomMetric:
    name: str
    """Namespaced: `mine.files_read`."""
    value: float | int | str | bool | None
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class NumberFinding:
    name: str
    value: float
    unit: str = ""
    kind: Literal["number"] = "number"


@dataclass(frozen=True, kw_only=True)
class StringFinding:
    name: str
    value: str
    kind: Literal["string"] = "string"


@dataclass(frozen=True, kw_only=True)
class ListFinding:
    name: str
    items: Sequence[str]
    kind: Literal["list"] = "list"


@dataclass(frozen=True, kw_only=True)
class TableFinding:
    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | int | None]]
    kind: Literal["table"] = "table"


@dataclass(frozen=True, kw_only=True)
class RatioFinding:
    name: str
    numerator: float
    denominator: float
    kind: Literal["ratio"] = "ratio"


Finding = NumberFinding | StringFinding | ListFinding | TableFinding | RatioFinding


@dataclass(frozen=True, kw_only=True)
class AnalysisResult:
    analyzer: str
    findings: Sequence[Finding]
    summary: str
