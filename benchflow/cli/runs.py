"""`benchflow runs`: what has been run."""

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where runs are stored.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on stdout.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's path, id, a unique beginning of one, or last.")]


def command(out: Out = Path("runs"), as_json: Json = False) -> None:
    """List stored runs, the newest last."""
    from benchflow.report.runs import describe_run, print_runs
    from benchflow.report.terminal import open_console, print_json
    from benchflow.store import Store

    lines = [describe_run(run) for run in Store(out).runs()]
    if as_json:
        print_json(lines)
    elif lines:
        print_runs(open_console(), lines)
    else:
        open_console(stderr=True).print(f"no runs in {out}; `benchflow run mini fix-failing-test` makes one")
