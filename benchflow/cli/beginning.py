"""The options of `run` that say from what it begins, and whether it begins at all."""

from pathlib import Path
from typing import Annotated

import typer

BEGINNING = "From what it begins"
"""Heading of the options."""

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A TOML file with any of these options, by their names. What is given here wins over it.",
        show_default=False,
        rich_help_panel=BEGINNING,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show what would be run, installed and spent at most. Start nothing, and write nothing.",
        rich_help_panel=BEGINNING,
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="RUN",
        help="Run what this run lacks (its path, id, a unique beginning of one, or last), as it was begun.",
        show_default=False,
        rich_help_panel=BEGINNING,
    ),
]
RetryUnscored = Annotated[
    bool,
    typer.Option(
        "--retry-unscored",
        help="With --resume: run those trials again, too, that could not be scored.",
        rich_help_panel=BEGINNING,
    ),
]
