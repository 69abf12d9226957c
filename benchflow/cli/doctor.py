"""`benchflow doctor`: what this machine can do."""

from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.runs import Json, Out


def command(
    network: Annotated[bool, typer.Option("--network", help="Also ask the package registries.")] = False,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Say what works on this machine, and what would help where something is missing. Exit 2 if nothing can run."""
    import os
    from functools import partial

    import anyio

    from benchflow.machine.doctor import can_run, examine
    from benchflow.report.terminal import open_console, print_json

    lines = anyio.run(partial(examine, os.environ, out=out, network=network))
    if as_json:
        print_json({"can_run": can_run(lines), "lines": lines})
    else:
        from benchflow.report.machine import print_lines

        print_lines(open_console(), lines)
    raise typer.Exit(0 if can_run(lines) else 2)
