"""A profile as headings, texts and grids."""

from collections.abc import Iterator, Sequence

from benchflow.report import figures_text as text
from benchflow.report import numbers
from benchflow.report.certificate import describe_passage
from benchflow.report.comparison_layout import comparison_parts
from benchflow.report.layout import Grid, Heading, Part, Text, grid
from benchflow.report.limits_layout import limit_parts
from benchflow.report.profile import CellFigures, Profile, ScenarioFigures
from benchflow.report.text import one_line

MOST_SCENARIOS = 40
"""A table of scenarios longer than this has those alone that are not all passed, and of them so many."""


def profile_parts(profile: Profile) -> Iterator[Part]:
    """Yield all that a report says of a run."""
    yield Heading(text="Profile of " + (", ".join(map(one_line, profile.runs)) or "no run"))
    yield Text(text=_counted(profile))
    for note in profile.notes:
        yield Text(text=note, tone="warn")
    if not profile.cells:
        return
    yield from _headlines(profile)
    yield _quality(profile.cells)
    yield from _bounds(profile.cells)
    yield Text(text=f"Medians over scored trials, with their {text.percent(profile.level)} intervals:")
    yield _effort(profile.cells)
    yield from further_parts(profile.cells)
    yield Heading(text="Scenarios")
    yield from _scenarios(profile.cells)
    for comparison in profile.comparisons:
        yield from comparison_parts(comparison)


def further_parts(cells: Sequence[CellFigures]) -> Iterator[Part]:
    """Yield what is said only where there is something to say: of repetitions, budgets and collectors."""
    yield from _repeated(cells)
    yield from limit_parts({"": cells})
    yield from _custom(cells)
    yield from _certified(cells)


def _counted(profile: Profile) -> str:
    scenarios = len({one.scenario for cell in profile.cells for one in cell.scenarios})
    return (
        f"{numbers.plural(profile.trials, 'trial')}, {numbers.plural(scenarios, 'scenario')}, "
        f"{numbers.plural(len(profile.cells), 'cell')}: {profile.passed:,} of {profile.scored:,} scored passed, "
        f"{profile.unscored:,} unscored"
    )


def _headlines(profile: Profile) -> Iterator[Part]:
    for cell in profile.cells:
        name = cell.name
        source = f"{one_line(name.upstream)}, not a model" if cell.played else _model(cell)
        version = f" {one_line(cell.agent_versions[-1])}" if cell.agent_versions else ""
        parts = [f"{one_line(name.agent)}{version}", source, f"mode {one_line(name.mode)}", name.isolation]
        lead = f"{cell.label}: " if len(profile.cells) > 1 else ""
        yield Text(text=lead + " · ".join(parts), tone="quiet")


def _model(cell: CellFigures) -> str:
    others = [served for served in cell.models_served if served != cell.name.model]
    served = f", served {', '.join(map(one_line, others))}" if others else ""
    return f"{one_line(cell.name.model)} ({one_line(cell.name.upstream)}{served})"


def _quality(cells: Sequence[CellFigures]) -> Grid:
    return grid(
        "cell|passed|unscored|success|score|flaky",
        [
            (
                cell.label,
                f"{cell.passed:,}/{cell.scored:,}",
                f"{cell.unscored:,}",
                text.estimate("success", cell.success),
                text.estimate("score", cell.score),
                f"{len(cell.flaky):,}",
            )
            for cell in cells
        ],
    )


def _bounds(cells: Sequence[CellFigures]) -> Iterator[Part]:
    for cell in cells:
        if cell.unscored:
            success, score = cell.success_bounds, cell.score_bounds
            codes = ", ".join(f"{count} {code}" for code, count in cell.unscored_by_code.items())
            yield Text(
                text=f"{cell.label}: {cell.unscored:,} unscored ({codes}); were all of them failed or all passed, "
                f"success would be {text.interval('success', success.as_zero, success.as_one)}, "
                f"the score {text.interval('score', score.as_zero, score.as_one)}.",
                tone="warn",
            )


def _effort(cells: Sequence[CellFigures]) -> Grid:
    rows = [
        (
            cell.label,
            text.estimate("wall_ms", cell.wall_ms),
            text.estimate("tokens", cell.tokens),
            text.estimate("cost_usd", cell.cost_usd),
            text.estimate("turns", cell.turns),
            text.estimate("tool_calls", cell.tool_calls),
            numbers.cost(cell.totals.cost_usd, bought=not cell.played),
        )
        for cell in cells
    ]
    return grid("cell|wall time|tokens|cost|turns|tools|cost in all", rows)


def _repeated(cells: Sequence[CellFigures]) -> Iterator[Part]:
    rows = [
        (
            cell.label,
            str(one.k),
            text.estimate("success", one.at_least_one),
            text.estimate("success", one.all_of_them),
            f"{one.at_least_one.n:,}",
        )
        for cell in cells
        for one in cell.pass_k
    ]
    if rows:
        yield Text(text="At least one of k tries passes (pass@k), and all of them do (pass^k):")
        yield grid("cell|k|pass@k|pass^k|scenarios", rows)
    for cell in cells:
        if cell.flaky:
            yield Text(text=f"Flaky in {cell.label}: {_listed(cell.flaky)}", tone="warn")


def _custom(cells: Sequence[CellFigures]) -> Iterator[Part]:
    rows = [
        (
            one_line(metric.name, 40),
            cell.label,
            f"{metric.median.value:,.6g}" + (f" {one_line(metric.unit)}" if metric.unit else ""),
            f"{metric.median.n:,}",
        )
        for cell in cells
        for metric in cell.metrics
        if metric.median.value is not None
    ]
    if rows:
        yield Text(text="What collectors measured, as medians:")
        yield grid("metric|cell|median|trials", sorted(rows))


def _certified(cells: Sequence[CellFigures]) -> Iterator[Part]:
    """What became of the model requests between agent and provider."""
    for cell in cells:
        if found := cell.certified:
            said = describe_passage(
                found.requests,
                as_received=found.as_received,
                not_forwarded=found.not_forwarded,
                changes=found.changes,
            )
            lead = f"{cell.label}: " if len(cells) > 1 else ""
            certificates = numbers.plural(found.trials, "certificate")
            yield Text(text=f"{lead}Model requests, by {certificates}: {said}.", tone="quiet")


def _scenarios(cells: Sequence[CellFigures]) -> Iterator[Part]:
    """One row a scenario, one column a cell: how many of its scored trials passed."""
    figures = [{one.scenario: one for one in cell.scenarios} for cell in cells]
    names = sorted({name for cell in figures for name in cell})
    shown = names if len(names) <= MOST_SCENARIOS else [name for name in names if not _all_passed(name, figures)]
    rows = [(one_line(name, 60), *(_passed(cell.get(name)) for cell in figures)) for name in shown[:MOST_SCENARIOS]]
    yield grid("|".join(["scenario", *(cell.label for cell in cells)]), rows)
    if left := len(names) - len(rows):
        yield Text(text=f"{left:,} more scenarios are in --csv and --json.", tone="quiet")


def _all_passed(name: str, figures: Sequence[dict[str, ScenarioFigures]]) -> bool:
    return all((one := cell.get(name)) is not None and one.passed == one.trials for cell in figures)


def _passed(one: ScenarioFigures | None) -> str:
    if one is None:
        return text.NONE
    words = [f"{one.passed}/{one.scored}"]
    words += ["flaky"] if one.flaky else []
    words += [f"{one.unscored} unscored"] if one.unscored else []
    return " ".join(words)


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(one_line, names[:most])) + more
