"""The list of stored runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from benchflow.errors import InputError
from benchflow.report import numbers
from benchflow.report.console import trial_argument
from benchflow.report.text import one_line
from benchflow.runner.gate import Summary, summarize
from benchflow.store import StoredRun

if TYPE_CHECKING:
    from rich.console import Console

State = Literal["running", "ended", "interrupted", "unreadable"]


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """One run in the list."""

    run_id: str
    run_dir: str
    started_at: str | None
    state: State
    agents: Sequence[str]
    upstreams: Sequence[str]
    missing: int
    """Planned trials that have no row."""
    summary: Summary
    error: str | None = None
    """Why it cannot be read."""


def describe_run(run: StoredRun) -> RunLine:
    """Make a run's line. A file that cannot be read spoils its own line only."""
    try:
        rows, missing, started, error = run.rows, len(run.planned) - len(run.rows), _started(run), None
    except InputError as exc:
        rows, missing, started, error = [], 0, None, str(exc)
    upstreams = sorted({row.upstream for row in rows})
    return RunLine(
        run_id=run.id,
        run_dir=str(run.folder.resolve()),
        started_at=started,
        state="unreadable" if error else _state(run, missing),
        agents=sorted({row.agent for row in rows}),
        upstreams=upstreams,
        missing=missing,
        summary=summarize(rows, planned=len(rows) + missing, upstream=", ".join(upstreams)),
        error=error,
    )


def _state(run: StoredRun, missing: int) -> State:
    if run.is_running:
        return "running"
    return "interrupted" if missing else "ended"


def print_open(console: "Console", run: StoredRun, argument: str) -> None:
    """Print the trials of a run that have no row, with the command that shows each."""
    alive = run.is_running
    for key in run.open_trials:
        console.print(f"{one_line(key)}: {'runs' if alive else 'was interrupted'}", style="yellow", soft_wrap=True)
        follow = " --follow" if alive else ""
        console.print(f"  benchflow show {argument} {trial_argument(key)}{follow}", style="cyan", soft_wrap=True)


def run_value(run: StoredRun) -> dict[str, Any]:
    """Return a stored run as the one JSON object that stands for a run everywhere."""
    rows = run.rows
    upstreams = sorted({row.upstream for row in rows})
    return {
        "run_id": run.id,
        "run_dir": str(run.folder.resolve()),
        "rows": rows,
        "summary": summarize(rows, planned=len(run.planned), upstream=", ".join(upstreams)),
    }


def _started(run: StoredRun) -> str | None:
    if run.journal:
        return run.journal[0].ts
    return min((row.started_at for row in run.rows), default=None)


def print_runs(console: "Console", lines: Sequence[RunLine]) -> None:
    """Print the list, the newest last, where the eye is."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0 if console.width < 100 else 1, 0, 0)
    )
    table.add_column("run", overflow="fold")
    table.add_column("state", no_wrap=True)
    table.add_column("upstream", overflow="fold")
    for name in ("passed", "unscored", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        summary = line.summary
        table.add_row(
            one_line(line.run_id),
            line.state,
            one_line(", ".join(line.upstreams)),
            f"{summary.passed}/{summary.passed + summary.failed}",
            str(summary.unscored),
            numbers.score(summary.mean_score),
        )
    console.print(table)
    for line in lines:
        if line.error:
            console.print(one_line(line.error), style="yellow", soft_wrap=True)
