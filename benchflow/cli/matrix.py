"""The options of `run` that say what is compared, and what is plugged in."""

from pathlib import Path
from typing import Annotated

import typer

COMPARED, PLUGGED = "What is compared", "What is plugged in (NAME of an entry point, or MODULE:ATTRIBUTE)"
"""Headings of the options."""


def _plugin(help: str, metavar: str = "PLUGIN") -> typer.models.OptionInfo:
    return typer.Option(help=help, metavar=metavar, show_default=False, rich_help_panel=PLUGGED)


UntilCi = Annotated[
    float | None,
    typer.Option(
        "--until-ci",
        min=0.01,
        max=0.5,
        metavar="W",
        help="Repeat each agent with each model in each mode, from -n times on, until its rate of success over the "
        "scenarios is known to within plus or minus W at 95 %, as in 0.1. By a confidence sequence, which allows for "
        "looking again and again.",
        show_default=False,
        rich_help_panel="What runs",
    ),
]
MaxRepetitions = Annotated[
    int | None,
    typer.Option(
        "--max-repetitions",
        min=1,
        metavar="N",
        help="How often --until-ci repeats at most. Default: 50.",
        show_default=False,
        rich_help_panel="What runs",
    ),
]
ModeNames = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="A mode, that is, a variation of the agent's environment; may be repeated. Default: baseline.",
        show_default=False,
        rich_help_panel=COMPARED,
    ),
]
ModesFile = Annotated[
    Path | None,
    typer.Option(
        "--modes",
        metavar="FILE",
        help="The file with the modes. Default: modes.toml here, if there is one.",
        show_default=False,
        rich_help_panel=COMPARED,
    ),
]
Canary = Annotated[
    bool,
    typer.Option(
        "--canary",
        help="Warm up each agent with each model in each mode by one more trial, without a row; where that fails, its "
        "trials are unscored, and cost nothing.",
        rich_help_panel=COMPARED,
    ),
]
ProviderName = Annotated[
    str | None, _plugin("Run what this session provider runs, instead of AGENT; `chat` is a model alone.")
]
PluginTexts = Annotated[
    list[str] | None,
    _plugin("A scorer, collector, analyzer, mode resolver or hooks; may be repeated.", "MODULE:ATTRIBUTE"),
]
CollectorNames = Annotated[list[str] | None, _plugin("A collector, beside the built-in ones; may be repeated.")]
AnalyzerNames = Annotated[list[str] | None, _plugin("An analyzer, beside the built-in ones; may be repeated.")]
ResolverNames = Annotated[
    list[str] | None,
    typer.Option(
        "--mode-resolver",
        help="What knows modes that no file has; may be repeated.",
        metavar="PLUGIN",
        show_default=False,
        rich_help_panel=PLUGGED,
    ),
]
HookNames = Annotated[
    list[str] | None,
    typer.Option(
        "--hooks",
        help="What is called as the run goes on; may be repeated.",
        metavar="PLUGIN",
        show_default=False,
        rich_help_panel=PLUGGED,
    ),
]
