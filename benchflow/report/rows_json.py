"""A report as one JSON object: the whole model, the gates' verdicts, and after them the rows, written one by one."""

from collections.abc import Iterable
from typing import BinaryIO

import orjson

from benchflow import __version__
from benchflow.report.document import Document
from benchflow.row import ProfileRow


def write_json(document: Document, stream: BinaryIO) -> None:
    """Write `{"benchflow_version", "profile" or "comparison", "gates", "rows"}`, a row a line.

    The rows of a comparison are `{"base": [...], "head": [...]}`.
    """
    kind = "comparison" if document.compares else "profile"
    head = {"benchflow_version": __version__, kind: document.figures, "gates": list(document.verdicts)}
    stream.write(orjson.dumps(head)[:-1] + b',"rows":')
    if not document.compares:
        (rows,) = document.rows.values()
        _write_rows(rows, stream)
    else:
        for index, (side, rows) in enumerate(document.rows.items()):
            stream.write((b"," if index else b"{") + orjson.dumps(side) + b":")
            _write_rows(rows, stream)
        stream.write(b"}")
    stream.write(b"}\n")


def _write_rows(rows: Iterable[ProfileRow], stream: BinaryIO) -> None:
    stream.write(b"[")
    for index, row in enumerate(rows):
        stream.write((b",\n" if index else b"\n") + row.to_json())
    stream.write(b"]")
