"""The trials of a run as the page lists them: what is read of each without opening it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchflow.report import numbers
from benchflow.report.console import run_argument, trial_argument
from benchflow.report.profile import CellName
from benchflow.report.text import one_line, sanitize
from benchflow.report.verdict import is_played, judge
from benchflow.row import ProfileRow
from benchflow.store import StoredRun

MOST_LISTED = 20_000


@dataclass(frozen=True, kw_only=True)
class TrialLine:
    """One trial: texts to show, and numbers to sort by."""

    number: int
    """As in the run's table, from 1."""
    id: str
    """What its link is made of: the key, with the run before it where the page has several."""
    run: int
    command: str
    """What shows all of it on a terminal."""
    cell: int | None
    """None: it has no result."""
    scenario: str
    iteration: int
    word: str
    """pass, fail, unscored, or `open`: without a result."""
    label: str
    reason: str = ""
    score: str = "-"
    checks: str = ""
    turns: str = ""
    tools: str = ""
    tokens: str = ""
    cost: str = ""
    wall: str = ""
    order: Mapping[str, float | None]
    """By column."""


def list_trials(run: StoredRun, index: int, prefix: str, cells: Mapping[CellName, int]) -> Iterator[TrialLine]:
    """Yield the lines of a run's trials: those with a row, in the table's order, then those without."""
    argument = run_argument(run.folder)
    rows = run.rows
    for number, row in enumerate(rows, start=1):
        yield _line(row, number, index, prefix, cells, argument)
    for number, key in enumerate(run.open_trials, start=len(rows) + 1):
        yield TrialLine(
            number=number,
            id=prefix + key,
            run=index,
            command=_command(argument, key),
            cell=None,
            scenario=one_line(key),
            iteration=0,
            word="open",
            label="no result",
            reason="It was started, and BenchFlow did not come to its end.",
            order={},
        )


def cell_name(row: ProfileRow) -> CellName:
    """Return the name of the cell that a row belongs to."""
    return CellName(agent=row.agent, upstream=row.upstream, model=row.model, mode=row.mode, isolation=row.isolation)


def _command(argument: str, key: str) -> str:
    return sanitize(f"benchflow show {argument} {trial_argument(key)}")


def _line(
    row: ProfileRow, number: int, run: int, prefix: str, cells: Mapping[CellName, int], argument: str
) -> TrialLine:
    verdict = judge(row)
    tokens = row.tokens
    cost = row.cost.total_usd
    return TrialLine(
        number=number,
        id=prefix + row.trial,
        run=run,
        command=_command(argument, row.trial),
        cell=cells.get(cell_name(row)),
        scenario=one_line(row.scenario_id),
        iteration=row.iteration,
        word=verdict.word,
        label=one_line(verdict.label),
        reason=verdict.reason or "",
        score=numbers.score(row.score),
        checks=f"{row.checks_passed if row.success is not None else '-'}/{row.checks_total}",
        turns=str(row.agent_turns),
        tools=str(row.tool_calls.total),
        tokens=numbers.count(tokens and tokens.total),
        cost=numbers.cost(cost, bought=not is_played(row.upstream)),
        wall=numbers.duration(row.timing.wall_ms),
        order={
            "score": row.score,
            "turns": row.agent_turns,
            "tools": row.tool_calls.total,
            "tokens": tokens.total if tokens else None,
            "cost": cost,
            "wall": row.timing.wall_ms,
        },
    )
