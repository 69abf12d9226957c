"""All that the page shows before a trial is opened. Values only; `page` writes them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchflow import __version__
from benchflow.contracts import TokenBreakdown
from benchflow.report import numbers
from benchflow.report.console import run_argument
from benchflow.report.html.comparisons import Versus, make_versus
from benchflow.report.html.figures import Cell, Plot, make_cells, make_plots
from benchflow.report.html.items import Fact, make_facts
from benchflow.report.html.packing import Wanted
from benchflow.report.html.trials import MOST_LISTED, TrialLine, list_trials
from benchflow.report.layout import Part
from benchflow.report.profile import CellName, Comparison, Profile
from benchflow.report.profile.matching import name_text
from benchflow.report.profile_layout import further_parts
from benchflow.report.text import one_line, sanitize
from benchflow.runner.gate import GateVerdict
from benchflow.store import StoredRun


@dataclass(frozen=True, kw_only=True)
class RunHead:
    """A run that the page tells of."""

    id: str
    argument: str
    """What names it on a command line."""
    side: str


@dataclass(frozen=True, kw_only=True)
class Count:
    """The trials of one scenario in one cell."""

    trials: int
    passed: int
    unscored: int


@dataclass(frozen=True, kw_only=True)
class ScenarioLine:
    """One scenario in every cell, in their order; None where a cell does not have it."""

    scenario: str
    counts: Sequence[Count | None]


@dataclass(frozen=True, kw_only=True)
class Document:
    """The page's content."""

    title: str
    subtitle: str
    compared: bool
    """It is of two runs."""
    version: str
    runs: Sequence[RunHead]
    gates: Sequence[GateVerdict]
    notes: Sequence[str]
    totals: Sequence[Fact]
    cells: Sequence[Cell]
    level: str
    plots: Sequence[Plot]
    further: Sequence[Part]
    """Tables with what only some runs have: repetitions, budgets, what collectors measured."""
    versus: Sequence[Versus]
    scenarios: Sequence[ScenarioLine]
    trials: Sequence[TrialLine]
    unlisted: int = 0
    """Trials that are left out of the list."""
    left_out: int = 0
    """Trials that are listed without what happened in them."""


def make_document(
    figures: Profile | Comparison, runs: Sequence[StoredRun], verdicts: Sequence[GateVerdict] = ()
) -> tuple[Document, list[Wanted]]:
    """Make the content of a run's page, or of a comparison's, and say which trials' details it wants."""
    sides = {"base": figures.base, "head": figures.head} if isinstance(figures, Comparison) else {"": figures}
    cells = [cell for side, profile in sides.items() for cell in make_cells(profile, side)]
    compared = isinstance(figures, Comparison)
    lines, wanted = _list_all(sides, runs)
    profiles = list(sides.values())
    versus = figures.cells if isinstance(figures, Comparison) else figures.comparisons
    document = Document(
        title=_title(figures),
        compared=compared,
        subtitle=" against ".join(", ".join(map(one_line, profile.runs)) for profile in reversed(profiles)),
        version=__version__,
        runs=[
            RunHead(id=one_line(run.id), argument=sanitize(run_argument(run.folder)), side=_side(sides, run))
            for run in runs
        ],
        gates=verdicts,
        notes=list(_notes(figures)),
        totals=make_facts(total for side, profile in sides.items() for total in _totals(profile, side)),
        cells=cells,
        level=f"{profiles[0].level:.0%}",
        plots=list(make_plots(cells)),
        further=[part for profile in profiles for part in further_parts(profile.cells)],
        versus=[make_versus(comparison) for comparison in versus],
        scenarios=list(_scenarios(profiles)),
        trials=lines[:MOST_LISTED],
        unlisted=max(0, len(lines) - MOST_LISTED),
    )
    return document, wanted[:MOST_LISTED]


def _title(figures: Profile | Comparison) -> str:
    profiles = [figures.base, figures.head] if isinstance(figures, Comparison) else [figures]
    agents = [
        list(dict.fromkeys(one_line(cell.name.agent) for cell in profile.cells)) for profile in reversed(profiles)
    ]
    names = list(dict.fromkeys(", ".join(some) for some in agents))
    if not any(names):
        return "No trials"
    return " against ".join(names) if len(names) == len(profiles) else f"{names[0]}, head against base"


def _notes(figures: Profile | Comparison) -> Iterator[str]:
    if isinstance(figures, Comparison):
        for side, profile in (("Base", figures.base), ("Head", figures.head)):
            yield from (f"{side}: {note}" for note in profile.notes)
        for side, names in (("base", figures.only_base), ("head", figures.only_head)):
            yield from (f"Only in {side}: {name_text(name)}" for name in names)
    yield from figures.notes


def _side(sides: Mapping[str, Profile], run: StoredRun) -> str:
    return next((side for side, profile in sides.items() if run.id in profile.runs), "")


def _list_all(sides: Mapping[str, Profile], runs: Sequence[StoredRun]) -> tuple[list[TrialLine], list[Wanted]]:
    lines: list[TrialLine] = []
    wanted: list[Wanted] = []
    places = _places(sides)
    for index, run in enumerate(runs):
        prefix = f"{sanitize(run.id)}/" if len(runs) > 1 else ""
        lines += list_trials(run, index, prefix, places[_side(sides, run)])
        rows = {row.trial: row for row in run.rows}
        wanted += [Wanted(run=run, key=key, id=prefix + key, row=rows.get(key)) for key in run.keys]
    return lines, wanted


def _places(sides: Mapping[str, Profile]) -> dict[str, dict[CellName, int]]:
    """Where the cells of each side stand in the document."""
    places: dict[str, dict[CellName, int]] = {}
    first = 0
    for side, profile in sides.items():
        places[side] = {cell.name: first + place for place, cell in enumerate(profile.cells)}
        first += len(profile.cells)
    return places


def _totals(profile: Profile, side: str) -> Iterator[tuple[str, str]]:
    """What a run used up and came to, in words; of a side of a comparison, the most important of it."""
    totals = [cell.totals for cell in profile.cells]
    of = f"{side}: " if side else ""
    yield f"{of}passed", f"{profile.passed:,} of {profile.scored:,}"
    yield f"{of}unscored", f"{profile.unscored:,}"
    metered = [one.tokens for one in totals if one.tokens]
    used = sum(metered, TokenBreakdown()) if metered else None
    if not side:
        yield "tokens in", numbers.prompt_tokens(used)
        yield "tokens out", numbers.count(used and used.output)
    costs = [one.cost_usd for one in totals if one.cost_usd is not None]
    bought = any(not cell.played for cell in profile.cells)
    unknown = sum(one.cost_unknown for one in totals) if costs else 0
    yield (
        f"{of}cost{f' ({unknown} unknown)' * bool(unknown)}",
        numbers.cost(sum(costs) if costs else None, bought=bought),
    )
    if not side:
        yield "agent time", numbers.duration(sum(one.wall_ms for one in totals))


def _scenarios(profiles: Sequence[Profile]) -> Iterator[ScenarioLine]:
    cells = [{one.scenario: one for one in cell.scenarios} for profile in profiles for cell in profile.cells]
    for name in sorted({scenario for cell in cells for scenario in cell}):
        found = [cell.get(name) for cell in cells]
        counts = [one and Count(trials=one.trials, passed=one.passed, unscored=one.unscored) for one in found]
        yield ScenarioLine(scenario=one_line(name), counts=counts)
