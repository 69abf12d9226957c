"""How the result of a run is printed."""

from benchflow.runner.run import RunResult


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
            }
        )
        return
    console.print_run(terminal.open_console(), result.rows, console.run_argument(result.run_dir))
    if result.summary.missing:
        terminal.open_console(stderr=True).print(
            f"interrupted: {result.summary.missing} of {result.summary.trials} trials have no row"
        )
