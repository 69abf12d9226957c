"""What came of making scenarios from commits and from tasks of others, for people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchflow.report.text import block, one_line

if TYPE_CHECKING:
    from rich.console import Console

    from benchflow.authoring.commit_proof import Settled
    from benchflow.authoring.harbor.convert import Imported


def print_settled(console: "Console", settled: "Settled") -> None:
    """Say what the tests of a commit told, and what to do next."""
    for path in settled.fixed:
        console.print(f"check: {one_line(path)} fails before the commit and passes after it", soft_wrap=True)
    for path in settled.guards:
        console.print(f"guard: {one_line(path)} passes before and after it", soft_wrap=True)
    for path, said in settled.dropped.items():
        console.print(f"left out: {one_line(path)} fails after the commit too: {one_line(said, 200)}", soft_wrap=True)
    if settled.problem:
        console.print(block(f"it measures nothing: {settled.problem}", "", console.width), style="yellow")
        return
    console.print(
        f"edit the prompt in {settled.scenario}, which is the commit's message: it may say too little, or give the "
        f"answer away; then: benchflow scenarios check {settled.scenario.parent}",
        soft_wrap=True,
    )


def print_imported(console: "Console", imported: Sequence["Imported"]) -> None:
    """Say of each task what came of it: its scenario and what differs there, or why there is none."""
    for entry in imported:
        if entry.scenario is None:
            console.print(f"{one_line(str(entry.task))}: not imported", style="yellow", soft_wrap=True)
        else:
            console.print(f"{one_line(str(entry.task))}: {one_line(str(entry.scenario))}", soft_wrap=True)
        for line in (*entry.reasons, *entry.notes):
            console.print(f"  {one_line(line)}", soft_wrap=True)
    made = sum(entry.scenario is not None for entry in imported)
    console.print(f"{made} of {len(imported)} tasks imported", soft_wrap=True)
