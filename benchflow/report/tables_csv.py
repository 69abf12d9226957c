"""The trials as CSV: a row each, a column for every number that a row has. Empty is unknown; decimals are exact."""

import csv
from collections.abc import Iterator
from io import TextIOWrapper
from typing import BinaryIO

from benchflow.report.document import Document
from benchflow.report.flat import FlatColumn, Value, flat_columns
from benchflow.row import ProfileRow

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes what begins so for a formula: what an agent wrote gets a quote before it."""


def write_csv(document: Document, stream: BinaryIO) -> None:
    """Write all trials; those of a comparison have their side in the first column."""
    columns = flat_columns(document.cells)
    text = TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*(["side"] if document.compares else []), *(column.name for column in columns)])
        for side, rows in document.rows.items():
            before = [side] if document.compares else []
            writer.writerows([*before, *_cells(columns, row)] for row in rows)
    finally:
        text.detach()


def _cells(columns: list[FlatColumn], row: ProfileRow) -> Iterator[str]:
    return (_cell(column.read(row)) for column in columns)


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return repr(value)
