"""How a run is printed: what it would do, and what came of it."""

import os
from typing import TYPE_CHECKING

from benchflow.report.terminal import STEP_SUMMARY
from benchflow.runner.run import RunResult

if TYPE_CHECKING:
    from benchflow.report.profile import Profile
    from benchflow.runner.planning import DryRun


def print_run(result: RunResult, *, as_json: bool) -> None:
    """Print the tables of a run, or the one JSON object."""
    from benchflow.report import console, terminal

    if as_json:
        terminal.print_json(
            {
                "run_id": result.run_id,
                "run_dir": str(result.run_dir),
                "rows": result.rows,
                "summary": result.summary,
                **({"gates": result.verdicts} if result.verdicts else {}),
            }
        )
    else:
        console.print_run(terminal.open_console(), result.rows, console.run_argument(result.run_dir))
        _print_comparisons(result)
        _say_missing(result)
    _say_gates(result)
    _append_step_summary(result)


def print_plan(plan: "DryRun", *, as_json: bool) -> None:
    """Print what a run would do."""
    from benchflow.report.plan import print_dry_run
    from benchflow.report.terminal import open_console, print_json

    if as_json:
        print_json(plan)
    else:
        print_dry_run(open_console(), plan)


def _print_comparisons(result: RunResult) -> None:
    """Print each other cell against the first, where there are several."""
    if len({(row.agent, row.upstream, row.model, row.mode) for row in result.rows}) < 2:
        return
    from benchflow.report.comparison_layout import comparison_parts
    from benchflow.report.layout_console import print_parts
    from benchflow.report.terminal import open_console

    for comparison in _profile(result).comparisons:
        print_parts(open_console(), comparison_parts(comparison))


def _say_missing(result: RunResult) -> None:
    from benchflow.report import console, terminal

    if result.summary.missing:
        terminal.open_console(stderr=True).print(
            f"interrupted: {result.summary.missing} of {result.summary.trials} trials have no row; "
            f"go on with: benchflow run --resume {console.run_argument(result.run_dir)}"
        )


def _say_gates(result: RunResult) -> None:
    """Say on stderr why a gate is missed, and what a kept comparison could have seen."""
    from benchflow.report.terminal import say

    for verdict in result.verdicts:
        say(f"{verdict.option} {'missed' if verdict.missed else 'kept'}: {verdict.reason}")


def _append_step_summary(result: RunResult) -> None:
    if not result.rows or STEP_SUMMARY not in os.environ:
        return
    from benchflow.report.document import Document
    from benchflow.report.outputs import append_step_summary

    document = Document(figures=_profile(result), rows={"run": result.rows}, verdicts=result.verdicts)
    append_step_summary(document.parts())


def _profile(result: RunResult) -> "Profile":
    """Make the figures. The plan's order is that of the rows, so that the first cell is the first that was named."""
    from benchflow.report.profile.making import make_profile

    return make_profile(result.rows, planned=[row.trial for row in result.rows], adaptive=result.summary.adaptive)
