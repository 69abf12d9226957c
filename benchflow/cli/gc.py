"""`benchflow gc`: reclaim space."""

from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.runs import Json, Out


def command(
    older_than: Annotated[
        float,
        typer.Option(
            min=0, metavar="DAYS", help="Take installs unused for longer, and workspaces of runs ended longer ago."
        ),
    ] = 30,
    cache: Annotated[bool, typer.Option("--cache", help="Also the shared cache of downloads.")] = False,
    workspaces: Annotated[bool, typer.Option("--workspaces", help="Also the kept workspaces of old runs.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and remove nothing.")] = False,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Remove what is of no use: scratch folders of dead runs, and installs that are broken, outdated or unused.

    Whatever belongs to a run that still runs stays. Exit 2 if something could not be removed.
    """
    import os

    from benchflow.machine.home import Home
    from benchflow.machine.reclaim import Removal, current_installs, find_garbage, remove
    from benchflow.report.removals import print_removals, removals_value
    from benchflow.report.terminal import open_console, print_json
    from benchflow.store import Store

    home = Home.find(os.environ)
    survey = find_garbage(
        home,
        current=current_installs(home, os.environ),
        older_than_days=older_than,
        cache=cache,
        runs=Store(out) if workspaces else None,
    )
    removals = [Removal(garbage=each, removed=False) if dry_run else remove(each) for each in survey.garbage]
    if as_json:
        print_json(removals_value(removals, survey.notes, dry_run=dry_run))
    else:
        print_removals(open_console(), removals, dry_run=dry_run)
        for note in survey.notes:
            open_console(stderr=True).print(note)
    raise typer.Exit(2 if any(removal.error for removal in removals) else 0)
