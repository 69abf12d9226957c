"""What was given on the command line of a run, told from what is only a default."""

from enum import Enum
from typing import Any

import typer
from typer.core import TyperOption

from benchflow.runner.options import OF_ONE_CALL


def given_options(context: typer.Context) -> dict[str, Any]:
    """Return the values of the options that were given, by their names as files have them.

    What is given by position, or says only what this call does, is not among them.
    """
    return {
        name: _plain(context.params[param.name])
        for param in context.command.params
        if isinstance(param, TyperOption) and param.name and _is_given(context, param.name)
        if (name := option_name(param)) not in OF_ONE_CALL
    }


def option_name(option: TyperOption) -> str:
    """Return an option's name as a file has it: `max_turns` for `--max-turns`."""
    return max(option.opts, key=len).removeprefix("--").replace("-", "_")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return value.value if isinstance(value, Enum) else value
