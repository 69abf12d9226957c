"""A file of rows, read as far as is needed: all trials in numbers at once, or whole rows one after the other.

A run of 100,000 trials has some 300 MB of rows; they are never in memory together.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from benchflow.errors import InputError
from benchflow.report.profile.measured import FigureRow, Measured, measure
from benchflow.report.profile.naming import CellName
from benchflow.row import ProfileRow, parse_row


@dataclass(frozen=True, slots=True)
class _Line:
    """Where a trial's row is, and what its figures are."""

    trial: Measured
    begin: int
    length: int


@dataclass(frozen=True)
class RowFile:
    """The rows of a file, in the order of tables; where a trial was run again, its last row."""

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
                if trial := _read(content, f"{self.path}: line {number}"):
                    last[trial.trial] = _Line(trial, begin, len(content))
                begin += len(content)
        return sorted(last.values(), key=lambda line: _place(line.trial))


def _read(content: bytes, place: str) -> Measured | None:
    """Read a line; None: it is empty, or was cut where its writer was killed."""
    if not content.strip():
        return None
    try:
        return measure(_adapter().validate_json(content))
    except ValueError as exc:
        if not content.endswith(b"\n"):
            return None
        raise InputError(f"{place} is no profile row ({exc}); restore the file or delete the line") from exc


def _place(trial: Measured) -> tuple[CellName, str, int, str]:
    """Where a trial stands in tables: as `table_order` says, and with its cell."""
    return trial.cell, trial.scenario, trial.iteration, trial.trial


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(FigureRow)


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
