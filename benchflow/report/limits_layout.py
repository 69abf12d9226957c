"""What budgets did to the trials of cells, as texts and grids."""

from collections.abc import Iterator, Mapping, Sequence

from benchflow.report import figures_text as text
from benchflow.report.layout import Part, Text, grid
from benchflow.report.profile import CellFigures
from benchflow.report.profile.estimate import Estimate


def limit_parts(sides: Mapping[str, Sequence[CellFigures]]) -> Iterator[Part]:
    """Yield how the trials of each side's cells ended, and the score of each part; nothing where no budget spoke.

    A single side has no name.
    """
    every = [cell for cells in sides.values() for cell in cells]
    if not any(cell.limits.wrapped_up or cell.limits.capped for cell in every):
        return
    yield Text(
        text="How trials ended: by themselves, wrapped up after a warning, or capped; and the mean score of each:"
    )
    several = len(sides) > 1
    rows = [
        (*([side] if several else []), cell.label, *_endings(cell)) for side, cells in sides.items() for cell in cells
    ]
    yield grid(("side|" if several else "") + "cell|by themselves|score|wrapped up|score|capped|score", rows)


def _endings(cell: CellFigures) -> Iterator[str]:
    limits = cell.limits
    for number, share, score in (
        (limits.untouched, limits.share_untouched, limits.score_untouched),
        (limits.wrapped_up, limits.share_wrapped_up, limits.score_wrapped_up),
        (limits.capped, limits.share_capped, limits.score_capped),
    ):
        yield _counted(number, share)
        yield text.estimate("score", score)


def _counted(number: int, share: Estimate) -> str:
    if share.value is None:
        return f"{number:,}"
    return f"{number:,} ({text.percent(share.value)})\n{text.interval('success', share.low, share.high)}"
