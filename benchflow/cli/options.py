"""The options that several commands offer."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class SandboxWish(StrEnum):
    """How processes are isolated."""

    auto = "auto"
    bubblewrap = "bubblewrap"
    process = "process"


UPSTREAM = "How the upstream is treated"
"""Heading of the options that wrap an upstream."""

Prices = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Your own prices, TOML; they win over the built-in list. Default: $BENCHFLOW_PRICES.",
        show_default=False,
        rich_help_panel=UPSTREAM,
    ),
]
MaxRequests = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Model requests under way at once, all together. Default: no limit.",
        rich_help_panel=UPSTREAM,
    ),
]
RequestsPerMinute = Annotated[
    int | None,
    typer.Option(
        "--rpm",
        min=1,
        metavar="N",
        help="Model requests a minute, all together. Default: no limit.",
        rich_help_panel=UPSTREAM,
    ),
]
TokensPerMinute = Annotated[
    int | None,
    typer.Option(
        "--tpm", min=1, metavar="N", help="Tokens a minute, all together. Default: no limit.", rich_help_panel=UPSTREAM
    ),
]
RetryUpstream = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Repeat a request so often that failed with 429, 5xx or no answer.",
        rich_help_panel=UPSTREAM,
    ),
]
MaxWait = Annotated[
    float,
    typer.Option(
        min=0,
        metavar="SECONDS",
        help="The longest wait that the upstream can ask of a request.",
        rich_help_panel=UPSTREAM,
    ),
]
Faults = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|KEY=VALUE,...",
        help="Play faults on the upstream, as in 429=0.2,5xx=0.1,cut=0.05: shares of requests; or from a file.",
        rich_help_panel=UPSTREAM,
    ),
]

SCORING = "How it is scored"
"""Heading of the options of scorers and judges."""

ScorerName = Annotated[
    str | None,
    typer.Option(
        "--scorer",
        metavar="NAME",
        help="checks, rubric, composite, or module:attribute. Default: composite where a scenario has a rubric, else "
        "checks.",
        show_default=False,
        rich_help_panel=SCORING,
    ),
]
JudgeModel = Annotated[
    str | None,
    typer.Option(
        "--judge-model",
        metavar="MODEL",
        help="The model that judges by rubrics: provider/model, or a name that --judge-upstream knows.",
        show_default=False,
        rich_help_panel=SCORING,
    ),
]
JudgeUpstream = Annotated[
    str | None,
    typer.Option(
        "--judge-upstream",
        metavar="UPSTREAM",
        help="Where the judge is asked: the base URL of a compatible server, script:FILE with its answers, or "
        "cassette:FILE as --judge-record wrote it.",
        show_default=False,
        rich_help_panel=SCORING,
    ),
]
JudgeName = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="NAME",
        help="A judge of your own instead of a model: module:attribute.",
        show_default=False,
        rich_help_panel=SCORING,
    ),
]
JudgeRepeats = Annotated[
    int,
    typer.Option(
        "--judge-repeats",
        min=1,
        metavar="N",
        help="Verdicts on each trial; with more than one the judge's agreement with itself is shown.",
        rich_help_panel=SCORING,
    ),
]
JudgeRecord = Annotated[
    Path | None,
    typer.Option(
        "--judge-record",
        metavar="FILE",
        help="Record all that the judge answers in this new cassette.",
        show_default=False,
        rich_help_panel=SCORING,
    ),
]
