"""One report: figures, and the rows that they are of. Every format is written from this."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchflow.report.comparison_layout import whole_comparison_parts
from benchflow.report.layout import Heading, Part, Text
from benchflow.report.profile import CellFigures, Comparison, Profile
from benchflow.report.profile.measured import Measured
from benchflow.report.profile_layout import profile_parts
from benchflow.row import ProfileRow
from benchflow.runner.gate import GateVerdict
from benchflow.store import StoredRun


@dataclass(frozen=True, kw_only=True)
class Document:
    """A report on a run, or on two."""

    figures: Profile | Comparison
    rows: Mapping[str, Iterable[ProfileRow]]
    """By side: `run` alone, or `base` and `head`; each can be iterated again and again. A side that is known by its
    baseline file only has none."""
    measured: Sequence[Measured] = ()
    """The trials of the run, or of head, as a baseline is made of them."""
    runs: Sequence[StoredRun] = ()
    """Those whose folders are there: base before head."""
    verdicts: Sequence[GateVerdict] = field(default=())

    @property
    def sides(self) -> dict[str, Profile]:
        """The figures of each side that has rows."""
        figures = self.figures
        every = {"run": figures} if isinstance(figures, Profile) else {"base": figures.base, "head": figures.head}
        return {side: profile for side, profile in every.items() if side in self.rows}

    @property
    def compares(self) -> bool:
        """Whether it is on two runs, so that each row is said to be of which."""
        return isinstance(self.figures, Comparison)

    @property
    def cells(self) -> tuple[CellFigures, ...]:
        """The cells of all sides, base before head."""
        if isinstance(self.figures, Profile):
            return self.figures.cells
        return (*self.figures.base.cells, *self.figures.head.cells)

    def parts(self) -> Iterator[Part]:
        """Yield what people read, the gates last."""
        yield from (
            profile_parts(self.figures) if isinstance(self.figures, Profile) else whole_comparison_parts(self.figures)
        )
        if self.verdicts:
            yield Heading(text="Gates")
        for verdict in self.verdicts:
            said = "missed" if verdict.missed else "kept"
            yield Text(text=f"{verdict.option} {said}: {verdict.reason}", tone="bad" if verdict.missed else "good")
