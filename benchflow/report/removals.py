"""What `benchflow gc` found and removed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchflow.machine.reclaim import Removal
from benchflow.report.numbers import size
from benchflow.report.text import one_line

if TYPE_CHECKING:
    from rich.console import Console


def print_removals(console: "Console", removals: Sequence[Removal], *, dry_run: bool) -> None:
    """Print a line for each folder, and the sum."""
    for removal in removals:
        garbage = removal.garbage
        stays = f"; it stays: {removal.error}" if removal.error else ""
        figures = f"{garbage.kind:9}  {size(garbage.bytes):>9}"
        console.print(f"{figures}  {one_line(f'{garbage.path}: {garbage.why}{stays}')}", soft_wrap=True)
    console.print(f"{'would free' if dry_run else 'freed'} {size(_freed_bytes(removals))}")


def removals_value(removals: Sequence[Removal], notes: Sequence[str], *, dry_run: bool) -> dict[str, Any]:
    """Return the same as one JSON object."""
    items = [
        {
            "kind": removal.garbage.kind,
            "path": str(removal.garbage.path),
            "bytes": removal.garbage.bytes,
            "why": removal.garbage.why,
            "removed": removal.removed,
            "error": removal.error,
        }
        for removal in removals
    ]
    return {"dry_run": dry_run, "bytes": _freed_bytes(removals), "items": items, "notes": list(notes)}


def _freed_bytes(removals: Sequence[Removal]) -> int:
    """What was, or would be, freed."""
    return sum(removal.garbage.bytes for removal in removals if not removal.error)
