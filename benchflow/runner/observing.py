"""Asks collectors and analyzers about a trial that has ended; what fails in one of them voids nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchflow.contracts import AnalysisResult, Analyzer, Collector, SessionTrace
from benchflow.plugins import BUILT_IN
from benchflow.row import ANALYSES, MEASURED, METRICS, PLUGIN_ERRORS, ProfileRow, require_writable
from benchflow.scenario import Scenario


async def observe(
    row: ProfileRow,
    scenario: Scenario,
    trace: SessionTrace | None,
    *,
    collectors: Sequence[Collector],
    analyzers: Sequence[Analyzer],
) -> ProfileRow:
    """Return the row with what they found, or that they failed, in its extensions."""
    measured: dict[str, dict[str, Any]] = {METRICS: {}, MEASURED: {}}
    analyses: dict[str, AnalysisResult] = {}
    errors: dict[str, str] = {}
    for collector in collectors:
        try:
            found = {
                metric.name: {"value": metric.value, "unit": metric.unit, "source": metric.source}
                for metric in await collector.collect(row, scenario, row.mode, trace=trace)
            }
            require_writable(found)
            measured[MEASURED if collector.id in BUILT_IN["collector"] else METRICS] |= found
        except Exception as exc:  # noqa: BLE001 - a plugin's bug must not cost a finished trial
            errors[collector.id] = f"{type(exc).__name__}: {exc}"
    for analyzer in analyzers if trace else ():
        assert trace is not None
        try:
            analysis = await analyzer.analyze(trace, scenario, row.mode)
            if not isinstance(analysis, AnalysisResult):
                raise TypeError(f"it returned {type(analysis).__name__}, and not AnalysisResult")
            require_writable(analysis)
            analyses[analyzer.name] = analysis
        except Exception as exc:  # noqa: BLE001 - as above
            errors[analyzer.name] = f"{type(exc).__name__}: {exc}"
    said = {**measured, ANALYSES: analyses, PLUGIN_ERRORS: errors}
    kept = {name: value for name, value in row.extensions.items() if name not in said}
    return replace(row, extensions={**kept, **{name: value for name, value in said.items() if value}})


def brief(row: ProfileRow) -> ProfileRow:
    """Return the row as a run keeps it among thousands: of built-in analyses the summary; the try has the whole."""
    analyses: Mapping[str, Any] | None = row.extensions.get(ANALYSES)
    if not analyses:
        return row
    own = BUILT_IN["analyzer"]
    short = {name: {"summary": _summary(found)} if name in own else found for name, found in analyses.items()}
    return replace(row, extensions={**row.extensions, ANALYSES: short})


def _summary(analysis: AnalysisResult | Mapping[str, Any]) -> str:
    return analysis.summary if isinstance(analysis, AnalysisResult) else str(analysis["summary"])
