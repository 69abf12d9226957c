"""`benchflow export`: a stored run in the format of another system."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.runs import Json, Run


class ExportFormat(StrEnum):
    """The formats of others that we write."""

    atif = "atif"
    inspect = "inspect"
    upstream = "upstream"


def command(
    run: Run,
    format: Annotated[
        ExportFormat,
        typer.Option(help="atif: Harbor's trajectories; inspect: Inspect's .json logs; upstream: rollout folders."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go: a new or an empty folder.")],
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where runs are stored.")] = Path("runs"),
    as_json: Json = False,
) -> None:
    """Write a run's trials in another system's format. What the format cannot say is left out, and why is said."""
    from benchflow.report.exports.export import export_run
    from benchflow.report.terminal import print_json, say
    from benchflow.report.text import one_line
    from benchflow.store import Store

    exported = export_run(Store(runs).find(run), format.value, out)
    if as_json:
        print_json(exported)
        return
    for entry in exported.left_out:
        say(f"left out: {one_line(entry.what)}: {one_line(entry.reason)}")
    for path in exported.files:
        typer.echo(path)
