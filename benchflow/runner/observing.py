"""Asks collectors and analyzers about a trial that has ended; what fails in one of them voids nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchflow.contracts import Analyzer, Collector, SessionTrace
from benchflow.row import ProfileRow
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
    found: dict[str, Any] = {}
    for collector in collectors:
        try:
            metrics = await collector.collect(row, scenario, row.mode, trace=trace)
            found |= {
                metric.name: {"value": metric.value, "unit": metric.unit, "source": metric.source} for metric in metrics
            }
        except Exception as exc:  # noqa: BLE001 - a plugin's bug must not cost a finished trial
            found[f"{collector.id}.error"] = f"{type(exc).__name__}: {exc}"
    for analyzer in analyzers if trace else ():
        assert trace is not None
        try:
            found[analyzer.name] = await analyzer.analyze(trace, scenario, row.mode)
        except Exception as exc:  # noqa: BLE001 - as above
            found[f"{analyzer.name}.error"] = f"{type(exc).__name__}: {exc}"
    return replace(row, extensions={**row.extensions, **found}) if found else row
