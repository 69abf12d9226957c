"""A file of rows, read as far as is needed: all trials in numbers at once, or whole rows one after the other.

A run of 100,000 trials has some 300 MB of rows; they are never in memory together.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import orjson

from benchflow.report.profile.measured import Measured, measure, measure_value
from benchflow.report.profile.naming import CellName
from benchflow.row import ProfileRow, parse_row


class _Line(NamedTuple):
    """Where a trial's row is, and what its figures are."""

    trial: Measured
    begin: int
    length: int


@dataclass(frozen=True)
class RowFile:
    """The rows of a file, in the order of tables, cell by cell; where a trial was run again, its last row."""

    path: Path

    @property
    def trials(self) -> list[Measured]:
        """All trials in numbers. Raises InputError for a line that is no row."""
        return [line.trial for line in self._lines]

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[ProfileRow]:
        """Read the rows one after the other."""
        with self.path.open("rb") as file:
            for line in self._lines:
                file.seek(line.begin)
                yield parse_row(file.read(line.length), f"{self.path}: the row of {line.trial.trial}")

    @cached_property
    def _lines(self) -> list[_Line]:
        last: dict[str, _Line] = {}
        with _without_collection(), self.path.open("rb") as file:
            begin = 0
            for number, content in enumerate(file, start=1):
                if trial := _read(content, self.path, number):
                    last[trial.trial] = _Line(trial, begin, len(content))
                begin += len(content)
        return _in_order(last)


def _read(content: bytes, path: Path, number: int) -> Measured | None:
    """Read a line; None: it is empty, or was cut where its writer was killed."""
    try:
        return measure_value(orjson.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError):
        if not content.strip() or not content.endswith(b"\n"):
            return None
        return measure(parse_row(content, f"{path}: line {number}"))  # which says what is wrong with it


def _in_order(lines: dict[str, _Line]) -> list[_Line]:
    cells: dict[CellName, list[_Line]] = {}
    for line in lines.values():
        cells.setdefault(line.trial.cell, []).append(line)
    ordered = []
    for _, group in sorted(cells.items()):
        ordered += sorted(group, key=lambda line: (line.trial.scenario, line.trial.iteration, line.trial.trial))
    return ordered


@contextmanager
def _without_collection() -> Iterator[None]:
    """Let many small values come into being: none of them is in a cycle, and looking through all takes its time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
