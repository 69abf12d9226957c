"""A run on a terminal: a table per cell, the sums, and what to look at next for each row that is no pass."""

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from benchflow.report import numbers
from benchflow.report.text import one_line
from benchflow.report.verdict import UNTRUSTED, Verdict, Word, is_played, judge
from benchflow.row import ProfileRow
from benchflow.runner.gate import summarize
from benchflow.store import DEFAULT_FOLDER, table_order

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

STYLES: dict[Word, str] = {"pass": "green", "fail": "red", "unscored": "yellow"}


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A row in the table."""

    number: int
    name: str
    """The scenario, with the number of the repetition where there are several."""
    row: ProfileRow
    verdict: Verdict


def print_run(console: "Console", rows: Sequence[ProfileRow], run: str) -> None:
    """Print the tables of a run's rows, their sums, and below them why each row that is no pass is none.

    `run` is what names the run on a command line.
    """
    lines = _lines(rows)
    for _, cell in groupby(lines, key=lambda line: _cell(line.row)):
        group = list(cell)
        console.print(headline(group[0].row), style="bold", soft_wrap=True)
        console.print(_table(group, console.width))
        for text in _sums([line.row for line in group]):
            console.print(text)
        console.print()
    if any(row.isolation == "process" for row in rows):
        console.print(fill(UNTRUSTED, console.width) + "\n", style="yellow")
    _print_problems(console, lines, run)


def _lines(rows: Sequence[ProfileRow]) -> list[_Line]:
    times = Counter((_cell(row), row.scenario_id) for row in rows)
    return [
        _Line(
            number=number,
            name=one_line(row.scenario_id)
            + (f" #{row.iteration + 1}" if times[_cell(row), row.scenario_id] > 1 else ""),
            row=row,
            verdict=judge(row),
        )
        for number, row in enumerate(table_order(rows), start=1)
    ]


def run_argument(folder: Path) -> str:
    """Return the shortest text by which the command line finds a run from here."""
    resolved = folder.resolve()
    if resolved.parent == DEFAULT_FOLDER.resolve():
        return resolved.name
    relative = os.path.relpath(resolved)
    short = relative if not relative.startswith("..") else str(resolved)
    return shlex.quote(short if "/" in short else f"./{short}")


def trial_argument(key: str) -> str:
    """Return the part of a trial's key that is enough to find it in its run: the hash at its end."""
    return key.rpartition("-")[2]


def upstream_label(row: ProfileRow) -> str:
    """Say what answered the agent: `oracle, not a model`, or the model with its provider."""
    if is_played(row.upstream):
        return f"{one_line(row.upstream)}, not a model"
    served = f", served {one_line(row.model_served)}" if row.model_served not in (None, row.model) else ""
    free = ", not enforced" if row.extensions.get("model_enforced") is False else ""
    return f"{one_line(row.model)} ({one_line(row.upstream)}{served}{free})"


def _cell(row: ProfileRow) -> tuple[str, ...]:
    return (row.agent, row.upstream, row.model, row.mode, row.isolation)


def headline(row: ProfileRow) -> str:
    version = f" {one_line(row.agent_version)}" if row.agent_version else ""
    mode = [f"mode {one_line(row.mode)}"] if row.mode != "baseline" else []
    return " · ".join([one_line(row.agent) + version, upstream_label(row), *mode, row.isolation])


def _table(lines: Sequence[_Line], width: int) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0 if width < 100 else 1, 0, 0))
    table.add_column("#", justify="right", style="dim", no_wrap=True)
    table.add_column("scenario", overflow="fold", min_width=8)
    table.add_column("outcome", no_wrap=True)
    for name in ("score", "checks", "turns", "tools", "in", "out", "cost", "wall"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        outcome = Text(_outcome(line.verdict, width), STYLES[line.verdict.word])
        table.add_row(str(line.number), line.name, outcome, *_figures(line.row))
    return table


def _outcome(verdict: Verdict, width: int) -> str:
    """A narrow table has the word alone; the reason below it says the rest."""
    return verdict.word if width < 100 else verdict.label


def _figures(row: ProfileRow) -> Iterator[str]:
    tokens = row.tokens
    yield numbers.score(row.score)
    yield f"{row.checks_passed}/{row.checks_total}" if row.success is not None else f"-/{row.checks_total}"
    yield str(row.agent_turns)
    yield str(row.tool_calls.total)
    yield numbers.prompt_tokens(tokens)
    yield numbers.count(tokens and tokens.output)
    yield numbers.cost(row.cost.total_usd, bought=not is_played(row.upstream))
    yield numbers.duration(row.timing.wall_ms)


def _sums(rows: Sequence[ProfileRow]) -> Iterator[str]:
    summary = summarize(rows, planned=len(rows), upstream=rows[0].upstream)
    verdict = f"{summary.passed} of {summary.passed + summary.failed} passed"
    left_out = f"{summary.unscored} unscored, in no score" if summary.unscored else "0 unscored"
    yield " · ".join([verdict, f"mean score {numbers.score(summary.mean_score)}", left_out, *_limited(rows)])
    tokens = summary.tokens if any(row.tokens for row in rows) else None
    known = [row.cost.total_usd for row in rows if row.cost.total_usd is not None]
    unknown = f" (unknown for {len(rows) - len(known)})" if known and len(known) < len(rows) else ""
    yield " · ".join(
        [
            f"tokens {numbers.in_out(tokens)}",
            f"cost {numbers.cost(sum(known) if known else None, bought=not is_played(rows[0].upstream))}{unknown}",
            f"agent time {numbers.duration(sum(row.timing.wall_ms for row in rows))}",
        ]
    )


def _limited(rows: Sequence[ProfileRow]) -> Iterator[str]:
    """Say what budgets did, where they did anything."""
    wrapped_up = sum(row.wrapped_up for row in rows)
    capped = sum(row.completion_reason in ("timeout", "tool_limit") for row in rows)
    if wrapped_up or capped:
        yield f"{wrapped_up} wrapped up, {capped} ended by a budget"


def _print_problems(console: "Console", lines: Sequence[_Line], run: str) -> None:
    from rich.text import Text

    for line in lines:
        verdict = line.verdict
        if verdict.reason is None:
            continue
        console.print(Text(f"{line.number} {line.name}: ", "bold").append(verdict.label, STYLES[verdict.word]))
        console.print(fill(verdict.reason, console.width, initial_indent="  ", subsequent_indent="  "))
        console.print(f"  benchflow show {run} {trial_argument(line.row.trial)}\n", style="cyan", soft_wrap=True)
