"""What a reader must know before any figure."""

from collections.abc import Iterator, Sequence

from benchflow.adaptive import Adaptive
from benchflow.report.profile.figures import CellFigures
from benchflow.report.settled import settled_lines
from benchflow.report.text import one_line
from benchflow.report.verdict import UNTRUSTED


def profile_notes(cells: Sequence[CellFigures], missing: int, adaptive: Adaptive | None) -> Iterator[str]:
    """Yield what is to be said of a profile, in the order of importance."""
    played = [cell for cell in cells if cell.played]
    if played:
        names = ", ".join(sorted({one_line(cell.name.upstream) for cell in played}))
        where = "" if len(played) == len(cells) else f" in {len(played)} of {len(cells)} cells"
        yield f"{names}, not a model{where}: these figures show that the agent works, and say nothing of a model."
    if missing:
        yield f"{missing} planned trials have no row: the run was interrupted, or is not at its end."
    unscored = sum(cell.unscored for cell in cells)
    if unscored:
        trials = sum(cell.trials for cell in cells)
        yield f"{unscored} of {trials} trials are unscored: in no mean or median; bounds say what they could change."
    if adaptive:
        yield from settled_lines(adaptive)
        yield (
            f"Trials were repeated until success was known to plus or minus {adaptive.half_width:g}: the intervals of "
            "success and score are a confidence sequence's, which hold whenever one stops, and are wider for it."
        )
    for cell in cells:
        if len(cell.agent_versions) > 1:
            versions = ", ".join(map(one_line, cell.agent_versions))
            yield f"{one_line(cell.name.agent)} changed its version within the run ({versions})."
    if any(cell.name.isolation == "process" for cell in cells):
        yield UNTRUSTED


def comparison_notes(base: Sequence[CellFigures], head: Sequence[CellFigures]) -> Iterator[str]:
    """Yield what differs between two sides beside what is compared."""
    isolations = [sorted({cell.name.isolation for cell in side}) for side in (base, head)]
    if isolations[0] != isolations[1]:
        first, second = (", ".join(one) for one in isolations)
        yield f"Base ran under the isolation {first}, head under {second}: figures can differ for that alone."
