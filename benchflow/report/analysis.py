"""What analyzers said of a trial, in a line each, as a profile row holds it: as values, or as they were stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchflow.contracts import AnalysisResult
from benchflow.row import ANALYSES


@dataclass(frozen=True, kw_only=True)
class AnalysisLine:
    """One analyzer and its summary. Both may hold what an agent wrote."""

    analyzer: str
    summary: str


def analysis_lines(extensions: Mapping[str, Any]) -> Sequence[AnalysisLine]:
    """Return the analyses among a row's extensions, in their order."""
    analyses = extensions.get(ANALYSES)
    if not isinstance(analyses, Mapping):
        return []
    return [AnalysisLine(analyzer=str(name), summary=_summary(value)) for name, value in analyses.items()]


def _summary(value: Any) -> str:
    if isinstance(value, AnalysisResult):
        return value.summary
    return str(value.get("summary") or "") if isinstance(value, Mapping) else ""
