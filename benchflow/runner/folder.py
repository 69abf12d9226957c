"""The folder of a run while it is written: run.json, the journal, the rows, and a folder for each try."""

import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

import orjson

from benchflow.adaptive import KEY, Adaptive
from benchflow.clock import Clock
from benchflow.errors import InputError
from benchflow.log import LogFile
from benchflow.machine.holding import Hold
from benchflow.redact import Redactor
from benchflow.row import ProfileRow
from benchflow.runner.mending import mend
from benchflow.runner.plan import plain_name
from benchflow.workspaces.snapshot import remove_tree


class RunFolder:
    """Writes what a run leaves behind. A synchronous context manager; everything is on disk as soon as it is said.

    A folder that is there already is gone on with: what a kill cut off is mended first.
    """

    def __init__(self, path: Path, clock: Clock, redactor: Redactor) -> None:
        self.path = path
        self._hold = Hold(path)
        self._clock = clock
        self._redactor = redactor
        self._journal: LogFile
        self._rows: LogFile

    @classmethod
    def create(cls, out: Path, label: str, clock: Clock, redactor: Redactor) -> Self:
        """Make a new folder below `out`, named by time and `label`. Raises InputError where it cannot be written.

        `out` tells git to leave it alone, so that runs made inside a repository change nothing in it.
        """
        path = make_folder(out, label)
        (path / "trials").mkdir()
        return cls(path, clock, redactor)

    @property
    def run_id(self) -> str:
        return self.path.name

    def __enter__(self) -> Self:
        self._hold.__enter__()  # whoever reads the run can tell that it still goes on, and nobody else writes in it
        mend(self.path)
        self._journal = LogFile(self.path / "journal.jsonl", self._redactor)
        self._rows = LogFile(self.path / "rows.jsonl", self._redactor)
        return self

    def __exit__(self, *exc: object) -> None:
        self._journal.close()
        self._rows.close()
        self._hold.__exit__(None, None, None)

    def write_description(self, description: Mapping[str, Any]) -> None:
        """Write run.json, whole or not at all."""
        self.write_whole(self.path / "run.json", orjson.dumps(description, option=orjson.OPT_INDENT_2) + b"\n")

    def write_adaptive(self, adaptive: Adaptive) -> None:
        """Add to run.json what became of repeating until enough was known."""
        known = orjson.loads((self.path / "run.json").read_bytes())
        self.write_description({**known, KEY: adaptive})

    def try_folder(self, trial: str, attempt: int) -> Path:
        """Make and return the folder of a try. What an earlier part of the run left there is put aside."""
        folder = self.path / "trials" / trial / f"try-{attempt}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            put_aside(folder)
            folder.mkdir()
        return folder

    @property
    def redactor(self) -> Redactor:
        """Replaces secrets in all files of the run."""
        return self._redactor

    def log_file(self, path: Path) -> LogFile:
        """Open another file of the run, redacted like all of them. The caller closes it."""
        return LogFile(path, self._redactor)

    def record(self, trial: str, attempt: int, state: Literal["started", "ended"]) -> None:
        """Append to the journal: before the process starts, and after the row is written."""
        entry = {"trial": trial, "try": attempt, "state": state, "ts": self._clock.now().ts}
        self._journal.write(orjson.dumps(entry) + b"\n")

    def write_result(self, folder: Path, row: ProfileRow) -> None:
        """Write a try's own row to its result.json."""
        self.write_whole(folder / "result.json", row.to_json() + b"\n")

    def append_row(self, row: ProfileRow) -> None:
        """Append the row of a trial that has ended for good."""
        self._rows.write(row.to_json() + b"\n")

    def write_whole(self, path: Path, content: bytes, redactor: Redactor | None = None) -> None:
        """Write a file of the run, redacted, whole or not at all. `redactor` is one that counts for its owner."""
        draft = path.with_name(path.name + ".draft")
        draft.write_bytes((redactor or self._redactor).redact(content))
        os.replace(draft, path)


def put_aside(folder: Path) -> None:
    """Name the folder of a try `<name>.former-<n>`. A workspace in it, which may not be redacted yet, is removed."""
    remove_tree(folder / "workspace")
    others = len(list(folder.parent.glob(f"{folder.name}.former-*")))
    folder.rename(folder.with_name(f"{folder.name}.former-{others + 1}"))


def make_folder(out: Path, label: str) -> Path:
    """Make a folder below `out`, named by time and label. Raises InputError where it cannot be written.

    A fresh `out` tells git to leave it alone.
    """
    path = out / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{plain_name(label)}-{secrets.token_hex(2)}"
    try:
        fresh = not out.exists()
        path.mkdir(parents=True)
        if fresh:
            (out / ".gitignore").write_text("*\n")
    except OSError as exc:
        raise InputError(f"{out}: cannot write runs there ({exc.strerror}); name another folder with --out") from exc
    return path
