"""Makes the model: rows, or what was measured of trials, in; a profile or a comparison out."""

import math
from collections.abc import Iterable, Mapping, Sequence

from benchflow.adaptive import Adaptive
from benchflow.report.profile.cells import cell_figures
from benchflow.report.profile.compared import CellComparison, Comparison
from benchflow.report.profile.figures import Profile
from benchflow.report.profile.matching import comparable, labels, match_cells
from benchflow.report.profile.measured import Measured, measure
from benchflow.report.profile.naming import CellName
from benchflow.report.profile.notes import comparison_notes, profile_notes
from benchflow.report.profile.repeats import Repeats, repeats_of
from benchflow.row import ProfileRow

LEVEL = 0.95


def make_profile(
    rows: Iterable[ProfileRow],
    *,
    planned: Sequence[str] | None = None,
    adaptive: Adaptive | None = None,
    level: float = LEVEL,
    seed: int = 0,
) -> Profile:
    """Make the figures of a run's rows, of which each trial has one.

    `planned` are the keys of all trials that were to be, in their order, which gives cells theirs; None: those of the
    rows. `adaptive` is what became of repeating until enough was known, if that was asked: intervals of success and
    score then hold whenever one stops. The same rows, in any order, give the same figures to the digit.
    """
    return profile_of([measure(row) for row in rows], planned=planned, adaptive=adaptive, level=level, seed=seed)


def make_comparison(
    base: Iterable[ProfileRow],
    head: Iterable[ProfileRow],
    *,
    across_upstreams: bool = False,
    level: float = LEVEL,
    seed: int = 0,
) -> Comparison:
    """Compare two runs by their rows. Raises InputError where they cannot be compared."""
    sides = [[measure(row) for row in rows] for rows in (base, head)]
    return compare_measured(sides[0], sides[1], across_upstreams=across_upstreams, level=level, seed=seed)


def profile_of(
    trials: Sequence[Measured],
    *,
    planned: Sequence[str] | None = None,
    adaptive: Adaptive | None = None,
    compared: bool = True,
    level: float = LEVEL,
    seed: int = 0,
) -> Profile:
    """Make the figures of trials; without the comparisons of its cells unless `compared`."""
    cells = _cells(trials, planned or ())
    said = labels(list(cells))
    repeats = {name: repeats_of(group) for name, group in cells.items()}
    figures = tuple(
        cell_figures(name, said[name], group, repeats[name], level=level, seed=seed, looked=adaptive is not None)
        for name, group in cells.items()
    )
    missing = len(set(planned) - {trial.trial for trial in trials}) if planned else 0
    return Profile(
        runs=tuple(sorted({trial.run_id for trial in trials})),
        level=level,
        trials=len(trials),
        missing=missing,
        scored=sum(cell.scored for cell in figures),
        unscored=sum(cell.unscored for cell in figures),
        passed=sum(cell.passed for cell in figures),
        score=_mean_score(trials),
        cells=figures,
        comparisons=_against_first(repeats, said, level, seed) if compared else (),
        adaptive=adaptive,
        notes=tuple(profile_notes(figures, missing, adaptive)),
    )


def compare_measured(
    base: Sequence[Measured],
    head: Sequence[Measured],
    *,
    planned: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
    adaptive: tuple[Adaptive | None, Adaptive | None] = (None, None),
    across_upstreams: bool = False,
    level: float = LEVEL,
    seed: int = 0,
) -> Comparison:
    """Compare two runs by their trials. Raises InputError where they cannot be compared."""
    from benchflow.report.profile.comparing import compare_cells

    first, second = _cells(base, planned[0] or ()), _cells(head, planned[1] or ())
    matching = match_cells(list(first), list(second), across_upstreams=across_upstreams)
    profiles = [
        profile_of(side, planned=keys, adaptive=found, compared=False, level=level, seed=seed)
        for side, keys, found in zip((base, head), planned, adaptive, strict=True)
    ]
    said = labels(list(dict.fromkeys([*first, *second])))
    return Comparison(
        base=profiles[0],
        head=profiles[1],
        cells=tuple(
            compare_cells(
                (one, other),
                (said[one], said[other]),
                repeats_of(first[one]),
                repeats_of(second[other]),
                level=level,
                seed=seed,
            )
            for one, other in matching.pairs
        ),
        only_base=matching.only_base,
        only_head=matching.only_head,
        notes=tuple(comparison_notes(profiles[0].cells, profiles[1].cells)),
    )


def _mean_score(trials: Sequence[Measured]) -> float | None:
    scores = [trial.score for trial in trials if trial.score is not None]
    return math.fsum(scores) / len(scores) if scores else None


def _cells(trials: Sequence[Measured], planned: Sequence[str]) -> dict[CellName, list[Measured]]:
    """Group trials by cell: in the plan's order, and what it does not name after it, `baseline` first."""
    groups: dict[CellName, list[Measured]] = {}
    for trial in trials:
        groups.setdefault(trial.cell, []).append(trial)
    places = {key: place for place, key in enumerate(planned)}
    first = {name: min(places.get(trial.trial, len(places)) for trial in group) for name, group in groups.items()}
    ordered = sorted(groups, key=lambda name: (first[name], name.mode != "baseline", name))
    return {name: groups[name] for name in ordered}


def _against_first(
    cells: Mapping[CellName, Mapping[str, Repeats]], said: Mapping[CellName, str], level: float, seed: int
) -> tuple[CellComparison, ...]:
    if len(cells) < 2:
        return ()
    from benchflow.report.profile.comparing import compare_cells

    base, *others = cells
    return tuple(
        compare_cells((base, name), (said[base], said[name]), cells[base], cells[name], level=level, seed=seed)
        for name in others
        if comparable(base, name)
    )
