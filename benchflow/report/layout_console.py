"""Prints the parts of a report on a terminal."""

from collections.abc import Iterable
from textwrap import fill
from typing import TYPE_CHECKING

from benchflow.report.layout import Grid, Heading, Part, Text, Tone

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text as Styled

_STYLES: dict[Tone, str] = {"plain": "", "good": "green", "bad": "red", "warn": "yellow", "quiet": "dim"}
_WORDS = {"better": "green", "worse": "red"}


def print_parts(console: "Console", parts: Iterable[Part]) -> None:
    """Print each part, with air where one ends and another begins."""
    for part in parts:
        match part:
            case Heading(text=title):
                console.print(f"\n{title}", style="bold", soft_wrap=True)
            case Text(text=said, tone=tone):
                console.print(fill(said, console.width), style=_STYLES[tone])
            case Grid():
                console.print()
                console.print(_table(part, console.width))
                console.print()


def _table(part: Grid, width: int) -> "Table":
    from rich import box
    from rich.table import Table

    gap = 1 if width < 100 else 2
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0))
    for index, column in enumerate(part.columns):
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            overflow="fold",
            min_width=8 if index == 0 else None,
        )
    for row in part.rows:
        table.add_row(*(_cell(cell) for cell in row))
    return table


def _cell(cell: str) -> "Styled":
    from rich.text import Text as Styled

    first, _, second = cell.partition("\n")
    return Styled(first).append(f"\n{second}", _WORDS.get(second, "dim")) if second else Styled(first)
