"""`benchflow show`: why a trial ended as it did."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchflow.cli.runs import Json, Out, Run

if TYPE_CHECKING:
    from benchflow.store import StoredRun


class RawLog(StrEnum):
    acp = "acp"
    llm = "llm"


def command(
    run: Run = "last",
    trial: Annotated[
        str | None,
        typer.Argument(
            metavar="TRIAL",
            help="A trial's key, a part of it, or its number in the table. Default: the table of all.",
            show_default=False,
        ),
    ] = None,
    attempt: Annotated[
        int | None, typer.Option("--try", min=1, metavar="N", help="This try. Default: the last.", show_default=False)
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show a running trial as it goes on.")] = False,
    raw: Annotated[RawLog | None, typer.Option(help="Print a log as it is: ACP frames, or model exchanges.")] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print what the agent changed in its workspace.")] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Print what the agent wrote to stderr.")] = False,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Show a run's table; or a trial: why it ended so, its failed checks, and its turns with their tool calls.

    A folder with recorded exchanges, as `benchflow gateway` leaves it, is shown as their table.
    """
    from benchflow.report.parts import choose_part, print_part
    from benchflow.store import Store, find_record

    part = choose_part(raw=raw.value if raw else None, diff=diff, stderr=stderr, follow=follow, as_json=as_json)
    if (record := find_record(run)) is not None and trial is None and part is None:
        _show_record(record, as_json)
        return
    stored = Store(out).find(run)
    if part is not None:
        print_part(stored.find_trial(trial).try_folder(attempt), part)
    elif follow:
        _follow(stored, trial, as_json)
    elif trial is not None or attempt is not None:
        _show_trial(stored, trial, attempt, as_json)
    else:
        _show_run(stored, as_json)


def _show_run(stored: "StoredRun", as_json: bool) -> None:
    from benchflow.report.console import print_run, run_argument
    from benchflow.report.runs import print_open, run_value
    from benchflow.report.terminal import open_console, print_json, say

    if as_json:
        print_json(run_value(stored))
        return
    if not stored.keys:
        say(f"{stored.id}: none of its trials has begun")
    console = open_console()
    argument = run_argument(stored.folder)
    print_run(console, stored.rows, argument)
    print_open(console, stored, argument)


def _show_trial(
    stored: "StoredRun", trial: str | None, attempt: int | None, as_json: bool, *, turns: bool = True
) -> None:
    from benchflow.report.console import run_argument, trial_argument
    from benchflow.report.terminal import open_console, print_json
    from benchflow.report.trial import view_trial
    from benchflow.report.trial_console import print_trial

    found = stored.find_trial(trial)
    view = view_trial(stored, found, attempt)
    if as_json:
        print_json(view)
    else:
        print_trial(open_console(), view, f"{run_argument(stored.folder)} {trial_argument(found.key)}", turns=turns)


def _show_record(record: Path, as_json: bool) -> None:
    from benchflow.gateway.records.exchanges import read_exchanges
    from benchflow.report.exchanges import exchange_value
    from benchflow.report.exchanges_live import print_exchanges
    from benchflow.report.terminal import open_console, print_json

    exchanges = [recorded.exchange for recorded in read_exchanges(record)]
    if as_json:
        print_json([exchange_value(exchange) for exchange in exchanges])
    else:
        print_exchanges(open_console(), exchanges)


def _follow(stored: "StoredRun", trial: str | None, as_json: bool) -> None:
    from benchflow.report.follow import EventPrinter, follow
    from benchflow.report.terminal import open_console
    from benchflow.report.text import escape_json
    from benchflow.store import StoredRun
    from benchflow.trace import encode_event

    key = stored.find_trial(trial).key
    events = follow(stored, key, lambda: stored.is_running)
    if as_json:
        for event in events:
            typer.echo(escape_json(encode_event(event).decode()), nl=False)
        return
    printer = EventPrinter(open_console())
    for event in events:
        printer.print(event)
    printer.close()
    _show_trial(StoredRun(stored.folder), key, None, as_json, turns=False)
