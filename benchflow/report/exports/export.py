"""Writes a stored run in another system's format, into a folder of its own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args

from benchflow.errors import InputError
from benchflow.report.exports.record import LeftOut
from benchflow.store import StoredRun

Format = Literal["atif", "inspect", "upstream"]
FORMATS: tuple[Format, ...] = get_args(Format)
_WRITERS = {"atif": "atif", "inspect": "inspect.log", "upstream": "upstream.job"}


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What an export came to."""

    format: Format
    out: Path
    files: list[Path]
    left_out: list[LeftOut]
    """What the format cannot say, and why."""


def export_run(run: StoredRun, format: Format, out: Path) -> Exported:
    """Write the run into `out`, which must be empty or not yet there. Raises InputError where that cannot be."""
    if not run.rows:
        raise InputError(f"{run.folder}: no trial of it has ended, so there is nothing to export")
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise InputError(f"{out}: is not empty; name another folder with --out, so that exports do not mix")
    except OSError as exc:
        raise InputError(f"{out}: cannot be written to ({exc.strerror}); name another folder with --out") from exc
    writer: Callable[[StoredRun, Path], Iterator[Path | LeftOut]]
    writer = import_module(f"benchflow.report.exports.{_WRITERS[format]}").write
    written = list(writer(run, out))
    return Exported(
        format=format,
        out=out,
        files=[entry for entry in written if isinstance(entry, Path)],
        left_out=[entry for entry in written if isinstance(entry, LeftOut)],
    )
