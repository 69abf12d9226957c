"""`benchflow show`: why a trial ended as it did."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.runs import Json, Out, Run


class RawLog(StrEnum):
    acp = "acp"
    llm = "llm"


def command(
    run: Run = "last",
    trial: Annotated[
        str | None,
        typer.Argument(
            metavar="TRIAL",
            help="A trial's key, a part of it, or its number in the table. Default: all of them.",
            show_default=False,
        ),
    ] = None,
    attempt: Annotated[
        int | None, typer.Option("--try", min=1, metavar="N", help="This try. Default: the last.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show a running trial as it goes on.")] = False,
    raw: Annotated[RawLog | None, typer.Option(help="Print this log as it is: ACP frames, or model exchanges.")] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print what the agent changed in its workspace.")] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Print what the agent wrote to stderr.")] = False,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Show a run's table, or a trial: its checks with what they saw, and its turns with their tool calls."""
    from benchflow.report import show
    from benchflow.store import Store

    request = show.Request(
        trial=trial,
        attempt=attempt,
        follow=follow,
        part=f"raw {raw}" if raw else "diff" if diff else "stderr" if stderr else None,
        as_json=as_json,
    )
    show.show(Store(out).find(run), request)
