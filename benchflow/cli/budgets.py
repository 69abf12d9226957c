"""The options of `run` that set budgets."""

from enum import StrEnum
from typing import Annotated

import typer

BUDGETS = "Budgets of each trial (default: the scenario's)"
IDLE = "What idle time is"
"""Headings of the options. The second is apart for its width: both names of a switch stand beside each other."""


class WrapUpWish(StrEnum):
    """How an agent is warned."""

    inject = "inject"
    reprompt = "reprompt"


def _option(help: str, **more: object) -> typer.models.OptionInfo:
    return typer.Option(help=help, rich_help_panel=BUDGETS, show_default=False, **more)  # pyright: ignore[reportArgumentType]


MaxTurns = Annotated[
    int | None,
    _option("Turns, that is, completed main model requests; where none are seen, tool calls.", min=1, metavar="N"),
]
GraceTurns = Annotated[
    int | None, _option("Warn the agent when so many of --max-turns are left. Default: never.", min=0, metavar="N")
]
MaxSubagentTurns = Annotated[
    int | None, _option("Turns of all subagents together. Default: as --max-turns.", min=0, metavar="N")
]
MaxToolCalls = Annotated[int | None, _option("Tool calls.", min=1, metavar="N")]
MaxTokens = Annotated[int | None, _option("Tokens: input, output and cached ones.", min=1, metavar="N")]
MaxOutputTokens = Annotated[int | None, _option("Output tokens.", min=1, metavar="N")]
MaxCostPerTrial = Annotated[float | None, _option("Cost of a trial, in US dollars.", min=0, metavar="USD")]
IdleTimeout = Annotated[
    float | None,
    _option("Time without a sign of the agent and without a model request under way.", min=0.1, metavar="SECONDS"),
]
IdleInTools = Annotated[
    bool | None,
    typer.Option(
        "--idle-in-tools/--no-idle-in-tools",
        help="Whether time in which a tool call is open can be idle time. Default: it can.",
        show_default=False,
        rich_help_panel=IDLE,
    ),
]
Grace = Annotated[
    float | None,
    _option(
        "Warn the agent when this share of any budget but --max-turns is left, as in 0.2. Default: never.",
        min=0.001,
        max=0.999,
        metavar="SHARE",
    ),
]
WrapUp = Annotated[
    WrapUpWish | None,
    _option(
        "Warn in the next model request, or by a prompt after the turn was cancelled. Default: by what is captured."
    ),
]
WrapUpMessage = Annotated[str | None, _option("What the agent is told then.", metavar="TEXT")]
MaxCost = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="USD",
        help="Begin no further trial once the run has cost so much. Trials under way end.",
        show_default=False,
        rich_help_panel="What runs",
    ),
]
