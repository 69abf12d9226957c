"""The figures of a profile as the page draws them: each as text, written as everywhere else, and as a number. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchflow.report import figures_text as text
from benchflow.report.html.axis import Tick, make_ticks
from benchflow.report.html.items import Fact, make_facts
from benchflow.report.profile import CellFigures, Estimate, Profile
from benchflow.report.profile.metrics import METRICS, Metric

PLOTTED = ("success", "wall_ms", "tokens", "cost_usd")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One estimate."""

    text: str
    range: str = ""
    """Its interval; empty where there is none."""
    note: str = ""
    """On what it rests."""
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plot:
    """One metric of all cells on one axis, which begins at 0."""

    metric: str
    title: str
    note: str
    most: float
    """Where the axis ends."""
    ticks: Sequence[Tick]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell with all its figures."""

    label: str
    side: str
    """`base` or `head` in a comparison, else empty."""
    about: str
    """What it is in full."""
    passed: str
    unscored: str
    """How many trials are in no score; empty where every trial is scored."""
    codes: str
    """Why they are in none."""
    figures: Mapping[str, Figure]
    """By metric."""
    bounds: tuple[float, float] | None
    """Where its success would be with every unscored trial failed, or passed; None where every trial is scored."""
    facts: Sequence[Fact]


def make_figure(metric: Metric, found: Estimate) -> Figure:
    """Write an estimate."""
    return Figure(
        text=text.value(metric.name, found.value),
        range="" if found.low is None else text.interval(metric.name, found.low, found.high),
        note=_note(found),
        value=found.value,
        low=found.low,
        high=found.high,
    )


def make_difference(metric: Metric, found: Estimate) -> Figure:
    """Write a difference, with its sign."""
    return Figure(
        text=text.difference(metric.name, found.value),
        range="" if found.low is None else text.difference_interval(metric.name, found),
        note=_note(found),
        value=found.value,
        low=found.low,
        high=found.high,
    )


def _note(found: Estimate) -> str:
    unknown = f", unknown for {found.unknown}" if found.unknown else ""
    return f"n = {found.n}{unknown}{f', {found.method}' if found.method else ''}" if found.n else ""


def make_cells(profile: Profile, side: str = "") -> Iterator[Cell]:
    """Yield the cells of a profile."""
    for cell in profile.cells:
        name = cell.name
        bounds = cell.success_bounds
        least, most = bounds.as_zero, bounds.as_one
        yield Cell(
            label=f"{side}: {cell.label}" if side else cell.label,
            side=side,
            about=" · ".join(_about(cell)),
            passed=f"{cell.passed} of {cell.scored}",
            unscored=f"{cell.unscored:,} unscored" if cell.unscored else "",
            codes=", ".join(f"{code} {count}" for code, count in cell.unscored_by_code.items()),
            figures={metric.name: make_figure(metric, getattr(cell, metric.name)) for metric in METRICS},
            bounds=(least, most) if cell.unscored and least is not None and most is not None else None,
            facts=make_facts(
                [
                    ("agent", " ".join([name.agent, *cell.agent_versions])),
                    ("model", name.model),
                    ("served", ", ".join(cell.models_served)),
                    ("upstream", f"{name.upstream}{', not a model' if cell.played else ''}"),
                    ("mode", name.mode),
                    ("isolation", name.isolation),
                    ("flaky", ", ".join(cell.flaky)),
                ]
            ),
        )


def _about(cell: CellFigures) -> Iterator[str]:
    name = cell.name
    yield " ".join([name.agent, *cell.agent_versions])
    yield f"{name.upstream}, not a model" if cell.played else f"{name.model} ({name.upstream})"
    yield f"mode {name.mode}"
    yield name.isolation


def make_plots(cells: Sequence[Cell]) -> Iterator[Plot]:
    """Yield an axis for each plotted metric of which anything is known."""
    for metric in METRICS:
        figures = [cell.figures[metric.name] for cell in cells if metric.name in PLOTTED]
        known = [value for figure in figures for value in (figure.value, figure.high) if value is not None]
        if not known:
            continue
        ticks = make_ticks(1 if metric.unit == "share" else max(known), partial(text.value, metric.name))
        yield Plot(
            metric=metric.name,
            title=metric.title.capitalize(),
            note="share of scored trials" if metric.unit == "share" else "median over scored trials",
            most=ticks[-1].at,
            ticks=ticks,
        )
