"""What collectors and analyzers say.

`source` is where a value comes from: `gateway`, `acp`, `harness`, or `derived`, which is reckoned and not measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class CustomMetric:
    name: str
    """Namespaced: `mine.files_read`."""
    value: float | int | str | bool | None
    """None: not known. It is never 0 for want of a measurement."""
    unit: str = ""
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class NumberFinding:
    name: str
    value: float | None
    """None: not known."""
    unit: str = ""
    source: str = ""
    kind: Literal["number"] = "number"


@dataclass(frozen=True, kw_only=True)
class StringFinding:
    name: str
    value: str
    source: str = ""
    kind: Literal["string"] = "string"


@dataclass(frozen=True, kw_only=True)
class ListFinding:
    name: str
    items: Sequence[str]
    source: str = ""
    kind: Literal["list"] = "list"


@dataclass(frozen=True, kw_only=True)
class TableFinding:
    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | int | None]]
    source: str = ""
    kind: Literal["table"] = "table"


@dataclass(frozen=True, kw_only=True)
class RatioFinding:
    name: str
    numerator: float | None
    """None: not known."""
    denominator: float | None
    source: str = ""
    kind: Literal["ratio"] = "ratio"

    @property
    def value(self) -> float | None:
        """The quotient; None where it is not known, or there is nothing to divide by."""
        if self.numerator is None or not self.denominator:
            return None
        return self.numerator / self.denominator


Finding = NumberFinding | StringFinding | ListFinding | TableFinding | RatioFinding


@dataclass(frozen=True, kw_only=True)
class AnalysisResult:
    analyzer: str
    findings: Sequence[Finding]
    summary: str
