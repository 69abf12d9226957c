"""The one home of the terminal: consoles that print nothing but what they are given, whatever stands in it."""

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

from benchflow.report.text import escape_json

if TYPE_CHECKING:
    from rich.console import Console

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub Actions names the file that it shows on the page of a job."""


def open_console(*, stderr: bool = False) -> "Console":
    """Return a console on stdout or stderr, without markup; in colour only on a terminal and without NO_COLOR."""
    from rich.console import Console  # 50 ms

    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # an agent's text must not fail a terminal that lacks a letter
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def print_json(value: object) -> None:
    """Write `value` as JSON to stdout: indented for a person, on one line for a program.

    What a terminal would obey is written as escapes, which mean the same.
    """
    import orjson

    option = orjson.OPT_INDENT_2 if sys.stdout.isatty() else 0
    text = orjson.dumps(value, default=str, option=option | orjson.OPT_NON_STR_KEYS).decode()
    sys.stdout.write(escape_json(text) + "\n")
    sys.stdout.flush()


def say(line: str) -> None:
    """Tell the user something beside the result: a line on stderr, there at once."""
    print(line, file=sys.stderr, flush=True)
