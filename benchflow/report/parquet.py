"""The trials as Parquet, with the columns of the CSV. Needs pyarrow, which is optional since it is large."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

from benchflow.errors import InputError
from benchflow.report.document import Document
from benchflow.report.flat import FlatColumn, Value, flat_columns
from benchflow.row import ProfileRow

AT_ONCE = 5_000
"""Rows that are in memory together."""


def write_parquet(document: Document, stream: BinaryIO) -> None:
    """Write all trials, their side in the first column. Raises InputError where pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as exc:
        raise InputError("--parquet: pyarrow is not installed; get it with: pip install pyarrow") from exc
    columns = flat_columns(document.cells)
    schema = _schema(columns, pyarrow)
    with pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        for batch in _batches(document):
            writer.write_table(pyarrow.table(_columns(columns, batch), schema=schema))


def _schema(columns: list[FlatColumn], pyarrow: Any) -> Any:
    kinds = {
        "text": pyarrow.string(),
        "whole": pyarrow.int64(),
        "number": pyarrow.float64(),
        "truth": pyarrow.bool_(),
    }
    return pyarrow.schema([("side", pyarrow.string()), *((column.name, kinds[column.kind]) for column in columns)])


def _batches(document: Document) -> Iterator[list[tuple[str, ProfileRow]]]:
    every = ((side, row) for side, rows in document.rows.items() for row in rows)
    while batch := list(islice(every, AT_ONCE)):
        yield batch


def _columns(columns: list[FlatColumn], batch: list[tuple[str, ProfileRow]]) -> dict[str, list[Value]]:
    filled: dict[str, list[Value]] = {"side": [side for side, _ in batch]}
    return filled | {column.name: [column.read(row) for _, row in batch] for column in columns}
