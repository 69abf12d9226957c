"""A run judged against its base: opened before any agent starts, compared when the last one has ended."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchflow.row import ProfileRow
from benchflow.runner.gate import Gate, GateVerdict, Summary
from benchflow.runner.lookup import Job

if TYPE_CHECKING:
    from benchflow.report.source import Source


def open_base(job: Job) -> "Source | None":
    """Read what the run is to be compared with; None: nothing. Raises InputError where the two cannot be compared."""
    gate = job.request.gate
    if gate.fail_on_regression is None:
        return None
    from benchflow.report.profile.matching import match_cells
    from benchflow.report.profile.naming import CellName
    from benchflow.report.source import open_source

    base = open_source(gate.fail_on_regression, job.request.out)
    planned = [
        CellName(agent=arm.agent, upstream=arm.upstream, model=arm.model, mode=arm.mode, isolation="")
        for arm in (each.name for each in job.arms)
    ]
    match_cells(sorted({trial.cell for trial in base.trials}), planned, across_upstreams=False)
    return base


def judge_rows(gate: Gate, summary: Summary, rows: Sequence[ProfileRow], base: "Source | None") -> list[GateVerdict]:
    """Judge all gates of a run."""
    verdicts = gate.verdicts(summary)
    if base is None or not rows:
        return verdicts
    from benchflow.report.profile.making import compare_measured
    from benchflow.report.profile.measured import measure
    from benchflow.runner.regression import judge_regression

    comparison = compare_measured(base.trials, [measure(row) for row in rows])
    return [*verdicts, *judge_regression(gate, comparison)]
