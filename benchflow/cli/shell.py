"""`benchflow shell`: a shell in the workspace that a trial left behind."""

from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.runs import Out, Run


def command(
    run: Run,
    trial: Annotated[str, typer.Argument(metavar="TRIAL", help="A trial's key, a part of it, or its number.")],
    out: Out = Path("runs"),
) -> None:
    """Open a shell in the kept workspace of a trial. Its files are the agent's: they are as trustworthy as it is."""
    from benchflow.shell import open_shell
    from benchflow.store import Store

    raise typer.Exit(open_shell(Store(out).find(run).find_trial(trial)))
