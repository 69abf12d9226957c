"""A run that goes on: what it has already, what is missing, and whether it is still the same run."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchflow import __version__
from benchflow.clock import Clock
from benchflow.errors import InputError
from benchflow.runner.former import FormerPart, FormerTries
from benchflow.runner.options import Options, stored
from benchflow.runner.same import differences
from benchflow.sandbox.interface import Isolation
from benchflow.store import Store, StoredRun


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """A stored run, and what of it is run again."""

    run: StoredRun
    retry_unscored: bool = False
    """Trials that could not be scored are run again, too."""

    @property
    def isolation(self) -> Isolation:
        """That of its trials so far."""
        return self.run.description["sandbox"]["isolation"]

    def require_same(self, description: Mapping[str, Any]) -> None:
        """Refuse to mix rows of two configurations; `description` is what run.json would be now. Raises InputError."""
        found = differences(self.run.description, description)
        if found:
            lines = "\n  ".join(f"{each.what}: {each.before} in the run, {each.now} now" for each in found)
            raise InputError(
                f"--resume {self.run.id}: what would go on is not what was begun, and rows of both cannot be mixed:\n"
                f"  {lines}\nrestore what has changed, or begin a new run"
            )

    def clock(self) -> Clock:
        """Return the run's clock, which goes on from its beginning."""
        began = (self.run.description.get("clock") or {}).get("wall_ns")
        journal = StoredRun(self.run.folder).journal
        return Clock.continued(int(began), journal[-1].ts if journal else None) if began else Clock()

    def former_part(self) -> FormerPart:
        """Read what there is of the run. Whoever asks holds its folder, and has mended it."""
        now = StoredRun(self.run.folder)
        rows = {row.trial: row for row in now.rows}
        again = {key for key, row in rows.items() if self.retry_unscored and row.score is None}
        kept = {key: row for key, row in rows.items() if key not in again}
        ended = {entry.trial: entry.attempt for entry in now.journal if entry.state == "ended"}
        tries = {key: FormerTries(ended=number) for key, number in ended.items() if key not in rows}
        for key in again:
            forgiven = rows[key].tries
            tries[key] = FormerTries(ended=max(forgiven, ended.get(key, 0)), forgiven=forgiven)
        return FormerPart(rows=kept, tries=tries)

    def describe(self, options: Options) -> dict[str, Any]:
        """Return run.json with a note that the run was resumed, and with which options."""
        note = {
            "ts": datetime.now(UTC).isoformat(timespec="seconds"),
            "benchflow_version": __version__,
            "retry_unscored": self.retry_unscored,
            "config": stored(options),
        }
        before = self.run.description
        return {**before, "resumed": [*before.get("resumed", ()), note]}


def find_run(text: str, out: Path) -> StoredRun:
    """Return the run that is to go on. Raises InputError where it cannot."""
    run = Store(out).find(text)
    if not run.description:
        raise InputError(f"--resume {run.id}: it was killed before it had a plan; begin a new run")
    if not run.description.get("config"):
        raise InputError(f"--resume {run.id}: run.json has no options to go on from; begin a new run")
    return run


def stored_options(run: StoredRun) -> tuple[Options, Path]:
    """Return the options that a run was begun with, and the folder in which. Raises InputError."""
    from benchflow.runner.config import read_stored

    options = read_stored(run.description["config"], f"{run.folder / 'run.json'}: config")
    for name in ("record", "judge_record"):
        if name in options:
            raise InputError(
                f"--resume {run.id}: it records {options[name]}, which its end has cut; begin a new run that records "
                "another file"
            )
    return options, Path(str(run.description.get("folder", ".")))
