"""Writes a report in the formats that were asked for: to files, to stdout for `-`, and to the summary of a CI job."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from benchflow.errors import InputError
from benchflow.report.document import Document
from benchflow.report.layout import Part
from benchflow.report.markdown import render_markdown
from benchflow.report.terminal import STEP_SUMMARY, say

STDOUT = Path("-")


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Which files to write; None: not this format."""

    html: Path | None = None
    markdown: Path | None = None
    csv: Path | None = None
    json: Path | None = None
    parquet: Path | None = None
    junit: Path | None = None
    baseline: Path | None = None

    @property
    def takes_stdout(self) -> bool:
        """Whether a format goes to stdout, so that nothing else may."""
        return any(path == STDOUT for _, path in self.asked())

    def asked(self) -> Iterator[tuple[str, Path]]:
        """Yield the formats with their files."""
        for field in fields(self):
            if path := getattr(self, field.name):
                yield field.name, path

    def check(self) -> None:
        """Raise InputError where two formats are to go to stdout."""
        piped = [f"--{name}" for name, path in self.asked() if path == STDOUT]
        if len(piped) > 1:
            raise InputError(f"{' and '.join(piped)}: only one format can go to stdout; give the others a file")


def write_outputs(document: Document, outputs: Outputs) -> None:
    """Write every format that was asked for. A file is replaced whole or not at all."""
    for name, path in outputs.asked():
        with _opened(path) as stream:
            _WRITERS[name](document, stream)


def append_step_summary(parts: Iterable[Part], environ: Mapping[str, str] = os.environ) -> None:
    """Add the report to the summary of the GitHub Actions job that this runs in, if it does.

    A summary that cannot be written is said, and changes nothing: the figures are there all the same.
    """
    path = environ.get(STEP_SUMMARY)
    if not path:
        return
    text = render_markdown(parts) + "\n"
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as exc:
        say(f"{STEP_SUMMARY}: {path} cannot be written ({exc.strerror or exc}), so the job's page lacks the report")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    draft = path.with_name(path.name + ".draft")
    try:
        with draft.open("wb") as file:
            yield file
        os.replace(draft, path)
    except OSError as exc:
        raise InputError(f"{path}: cannot be written: {exc.strerror or exc}") from exc
    finally:
        with suppress(OSError):  # where there is none, or its folder is a file
            draft.unlink()


def _write_markdown(document: Document, stream: BinaryIO) -> None:
    stream.write(render_markdown(document.parts()).encode("utf-8", "backslashreplace"))


def _write_html(document: Document, stream: BinaryIO) -> None:
    from benchflow.report.html import render_html

    for piece in render_html(document.figures, document.runs, verdicts=document.verdicts):
        stream.write(piece.encode())


def _write_baseline(document: Document, stream: BinaryIO) -> None:
    from benchflow.report.baseline import write_baseline

    write_baseline(document.measured, stream)


def _late(module: str, name: str) -> Callable[[Document, BinaryIO], None]:
    """Import a writer when it is called: each has libraries of its own."""
    return lambda document, stream: getattr(import_module(module), name)(document, stream)


_WRITERS: dict[str, Callable[[Document, BinaryIO], None]] = {
    "html": _write_html,
    "baseline": _write_baseline,
    "markdown": _write_markdown,
    "csv": _late("benchflow.report.tables_csv", "write_csv"),
    "json": _late("benchflow.report.rows_json", "write_json"),
    "parquet": _late("benchflow.report.parquet", "write_parquet"),
    "junit": _late("benchflow.report.junit", "write_junit"),
}
