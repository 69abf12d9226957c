"""The command line: one command a file; each parses, calls and prints."""

import os
import sys
from typing import Annotated

import typer

from benchflow import __version__
from benchflow.cli import (
    agents,
    compare,
    doctor,
    export,
    gateway,
    gc,
    parity,
    register,
    report,
    run,
    runs,
    scenarios,
    score,
    shell,
    show,
)
from benchflow.errors import InputError

app = typer.Typer(
    name="benchflow",
    help="Evaluate AI agents exactly as they ship: over ACP, in a sandbox, with every model call on record.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.command)
app.command("register")(register.command)
app.command("parity")(parity.command)
app.command("show")(show.command)
app.command("runs")(runs.command)
app.command("report")(report.command)
app.command("compare")(compare.command)
app.command("score")(score.command)
app.command("export")(export.command)
app.add_typer(agents.app, name="agents")
app.add_typer(scenarios.app, name="scenarios")
app.command("shell")(shell.command)
app.command("gateway")(gateway.command)
app.command("doctor")(doctor.command)
app.command("gc")(gc.command)
for described in (*app.registered_commands, *agents.app.registered_commands, *scenarios.app.registered_commands):
    # Typer would keep the line ends of the source, whatever the terminal's width.
    paragraphs = (described.callback.__doc__ or "").split("\n\n") if described.callback else []
    described.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).strip()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"benchflow {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Take what stands before the command's name."""


def main() -> None:
    """Run the command line; an error that the user can fix is one message and exit code 2."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would look through every installed package
    try:
        app()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has left (`benchflow runs | head`); Python would complain again at exit.
        sys.stdout = None
        sys.exit(141)
