"""What a machine can do, as `benchflow doctor` prints it."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from benchflow.machine.doctor import Line
from benchflow.report.text import one_line

if TYPE_CHECKING:
    from rich.console import Console


def print_lines(console: "Console", lines: Sequence[Line]) -> None:
    """Print what was found, by area, with the remedy below what is missing."""
    wide = max(len(line.subject) for line in lines)
    for area, group in groupby(lines, key=lambda line: line.area):
        console.print(area, style="bold")
        for line in group:
            word, style = ("ok", "green") if line.ok else ("no", "red")
            head = Text(f"  {word}  ", style).append(f"{line.subject:{wide}}  {one_line(line.detail)}", "default")
            console.print(head, soft_wrap=True)
            if line.remedy:
                console.print(Text(f"      {' ' * wide}  {one_line(line.remedy)}", "yellow"), soft_wrap=True)
