"""What analyzers said of a trial, in a line each, as a profile row holds it: as values, or as they were stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchflow.contracts import AnalysisResult


@dataclass(frozen=True, kw_only=True)
class AnalysisLine:
    """One analyzer and its summary. Both may hold what an agent wrote."""

    analyzer: str
    summary: str


def analysis_lines(extensions: Mapping[str, Any]) -> Sequence[AnalysisLine]:
    """Return the analyses among a row's extensions, in their order."""
    return [line for value in extensions.values() if (line := _line(value))]


def _line(value: Any) -> AnalysisLine | None:
    if isinstance(value, AnalysisResult):
        return AnalysisLine(analyzer=value.analyzer, summary=value.summary)
    if not isinstance(value, Mapping) or not isinstance(value.get("findings"), list):
        return None
    analyzer, summary = value.get("analyzer"), value.get("summary")
    if not isinstance(analyzer, str) or not isinstance(summary, str):
        return None
    return AnalysisLine(analyzer=analyzer, summary=summary)
