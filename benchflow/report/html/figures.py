"""The figures of a profile as the page draws them: each as text, written as everywhere else, and as a number. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchflow.report import numbers
from benchflow.report.html.axis import Tick, make_ticks
from benchflow.report.html.findings import write_number
from benchflow.report.html.items import Fact, make_facts
from benchflow.report.profile import CellFigures, Estimate, Profile
from benchflow.report.profile.metrics import METRICS, Metric, Unit

PLOTTED = ("success", "wall_ms", "tokens", "cost_usd")

_WRITERS: Mapping[Unit, Callable[[float], str]] = {
    "share": numbers.score,
    "ms": numbers.duration,
    "tokens": lambda value: numbers.count(round(value)),
    "usd": numbers.cost,
    "turns": lambda value: f"{value:,.4g}",
    "calls": lambda value: f"{value:,.4g}",
}


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
    """How many trials are in no score, and why; empty where every trial is scored."""
    figures: Mapping[str, Figure]
    """By metric."""
    bounds: tuple[float, float] | None
    """Where its success would be with every unscored trial failed, or passed; None where every trial is scored."""
    facts: Sequence[Fact]


def write_value(metric: Metric, value: float | None) -> str:
    """Write a metric's value as tables do."""
    return "-" if value is None else _WRITERS[metric.unit](value)


def make_figure(metric: Metric, found: Estimate, *, signed: bool = False) -> Figure:
    """Write an estimate; `signed`: it is a difference."""
    write = _signed if signed else write_value
    limits = found.low is not None and found.high is not None
    unknown = f", unknown for {found.unknown}" if found.unknown else ""
    return Figure(
        text=write(metric, found.value),
        range=f"[{write(metric, found.low)}, {write(metric, found.high)}]" if limits else "",
        note=f"n = {found.n}{unknown}{f', {found.method}' if found.method else ''}" if found.n else "",
        value=found.value,
        low=found.low,
        high=found.high,
    )


def _signed(metric: Metric, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{'-' if value < 0 else '+'}{write_value(metric, abs(value))}"


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
            unscored=_unscored(cell),
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
                    *_pass_k(cell),
                    *(
                        (f"{one.name} ({one.unit})", write_number(one.median.value))
                        for one in cell.metrics
                        if one.median.value is not None
                    ),
                ]
            ),
        )


def _about(cell: CellFigures) -> Iterator[str]:
    name = cell.name
    yield " ".join([name.agent, *cell.agent_versions])
    yield f"{name.upstream}, not a model" if cell.played else f"{name.model} ({name.upstream})"
    yield f"mode {name.mode}"
    yield name.isolation


def _pass_k(cell: CellFigures) -> Iterator[tuple[str, str]]:
    for one in cell.pass_k:
        if one.k > 1:
            yield f"pass@{one.k}", numbers.score(one.at_least_one.value)
            yield f"pass^{one.k}", numbers.score(one.all_of_them.value)


def _unscored(cell: CellFigures) -> str:
    if not cell.unscored:
        return ""
    codes = ", ".join(f"{code} {count}" for code, count in cell.unscored_by_code.items())
    return f"{cell.unscored} unscored ({codes})"


def make_plots(cells: Sequence[Cell]) -> Iterator[Plot]:
    """Yield an axis for each plotted metric of which anything is known."""
    for metric in METRICS:
        figures = [cell.figures[metric.name] for cell in cells if metric.name in PLOTTED]
        known = [value for figure in figures for value in (figure.value, figure.high) if value is not None]
        if not known:
            continue
        ticks = make_ticks(1 if metric.unit == "share" else max(known), partial(write_value, metric))
        yield Plot(
            metric=metric.name,
            title=metric.title.capitalize(),
            note="share of scored trials" if metric.unit == "share" else "median over scored trials",
            most=ticks[-1].at,
            ticks=ticks,
        )
