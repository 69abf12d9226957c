"""Finds and reads what runs left behind. It writes nothing, and takes a run that was killed as it is."""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import orjson

from benchflow.errors import InputError
from benchflow.machine.liveness import is_claimed
from benchflow.row import ProfileRow, read_rows

DEFAULT_FOLDER = Path("runs")
ACP_LOG = "acp.ndjson"
EXCHANGE_LOG = "llm.jsonl"
SESSION_LOG = "session.jsonl"
"""The events of a session without ACP, as its provider and the run saw them."""
DIFF = "workspace.diff"
STDERR_LOG = "stderr.log"
_MARKS = ("run.json", "journal.jsonl", "rows.jsonl")
_TIME = re.compile(r"\d{8}-\d{6}")


@dataclass(frozen=True, kw_only=True)
class JournalEntry:
    """One line of a run's journal."""

    trial: str
    attempt: int
    state: Literal["started", "ended"]
    ts: str


@dataclass(frozen=True, kw_only=True)
class StoredTrial:
    """A trial of a stored run, finished or not."""

    key: str
    folder: Path
    """`trials/<key>`; it may be missing."""
    tries: tuple[int, ...]
    """Numbers of the tries that have a folder, ascending."""
    row: ProfileRow | None
    """None: it has not ended, or BenchFlow was killed before it could say how."""

    @property
    def told(self) -> int:
        """The number of the try that its row tells of; without a row, of the last one. Raises InputError."""
        if not self.tries:
            raise InputError(f"{self.folder}: nothing was recorded of this trial")
        return self.row.tries if self.row and self.row.tries in self.tries else self.tries[-1]

    def try_folder(self, attempt: int | None = None) -> Path:
        """Return the folder of a try; None: of the one that is told of. Raises InputError where there is none."""
        told = self.told
        if attempt is not None and attempt not in self.tries:
            raise InputError(f"{self.key}: has no try {attempt}; it has {', '.join(map(str, self.tries))}")
        return self.folder / f"try-{attempt or told}"


@dataclass(frozen=True)
class StoredRun:
    """A run's folder, read as it is asked for."""

    folder: Path

    @property
    def id(self) -> str:
        return self.folder.resolve().name

    @property
    def is_running(self) -> bool:
        """Whether the process that makes the run is still at it."""
        return is_claimed(self.folder)

    @property
    def last_change(self) -> float:
        """When something was last written, in seconds since the epoch."""
        return max((self.folder / mark).stat().st_mtime for mark in _MARKS if (self.folder / mark).exists())

    @cached_property
    def description(self) -> dict[str, Any]:
        """The content of run.json; empty where a kill came before it."""
        try:
            value = orjson.loads((self.folder / "run.json").read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError as exc:
            raise InputError(f"{self.folder / 'run.json'}: {exc}; restore the file") from exc
        if not isinstance(value, dict):
            return {}
        if not isinstance(value.get("trials") or [], list):
            raise InputError(f"{self.folder / 'run.json'}: trials: is no list; restore the file")
        return value

    @cached_property
    def journal(self) -> list[JournalEntry]:
        """What was started and ended, in order."""
        return list(read_journal(self.folder / "journal.jsonl"))

    @cached_property
    def rows(self) -> list[ProfileRow]:
        """One row a trial in the order of tables; where a trial was run again, its last."""
        path = self.folder / "rows.jsonl"
        rows = read_rows(path) if path.exists() else []
        return table_order({row.trial: row for row in rows}.values())

    @cached_property
    def open_trials(self) -> list[str]:
        """Keys of the trials that were started and have no row, in order."""
        done = {row.trial for row in self.rows}
        return list(dict.fromkeys(entry.trial for entry in self.journal if entry.trial not in done))

    @property
    def planned(self) -> list[str]:
        """Keys of all trials that the run was to have, or as many of them as are known where run.json is missing."""
        return list(dict.fromkeys([*map(str, self.description.get("trials") or ()), *self.keys]))

    @property
    def keys(self) -> list[str]:
        """All trials that were started: those of the table, in its order, then those without a row."""
        return [*(row.trial for row in self.rows), *self.open_trials]

    def trial(self, key: str) -> StoredTrial:
        """Return the trial with exactly this key."""
        folder = self.folder / "trials" / key
        row = next((row for row in self.rows if row.trial == key), None)
        return StoredTrial(key=key, folder=folder, tries=_tries(folder), row=row)

    def find_trial(self, text: str | None) -> StoredTrial:
        """Return the trial that `text` names: its key, its number in the table from 1, or a part of no other key.

        None names the only one, or the only one that has not ended. Raises InputError with the nearest ones.
        """
        keys = self.keys
        if text is None:
            only = keys if len(keys) == 1 else self.open_trials
            if len(only) != 1:
                raise InputError(f"{self.id}: has {len(keys)} trials; name one, for example by its number in the table")
            return self.trial(only[0])
        if text in keys:
            return self.trial(text)
        if text.isdecimal() and 1 <= int(text) <= len(keys):
            return self.trial(keys[int(text) - 1])
        found = [key for key in keys if key.startswith(text)] or [key for key in keys if text in key]
        if len(found) != 1:
            raise InputError(_not_one("trial", text, found, keys, f"`benchflow show {self.id}` lists them"))
        return self.trial(found[0])


@dataclass(frozen=True)
class Store:
    """A folder of runs."""

    folder: Path = DEFAULT_FOLDER

    def runs(self) -> list[StoredRun]:
        """All runs, the newest last."""
        try:
            folders = [folder for folder in self.folder.iterdir() if is_run(folder)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [StoredRun(folder) for folder in sorted(folders, key=_age)]

    def find(self, text: str) -> StoredRun:
        """Return the run that `text` names: a path, an id, a unique beginning of one, or `last`.

        Raises InputError with the nearest ones.
        """
        path = Path(text)
        if is_run(path):
            return StoredRun(path)
        if path.is_dir() and ("/" in text or text in (".", "..")):
            raise InputError(f"{text}: no run is there (no run.json); name the folder of one run")
        runs = self.runs()
        if not runs:
            raise InputError(f"{text}: there are no runs in {self.folder}; `--out` names another folder")
        if text == "last":
            return runs[-1]
        found = [run for run in runs if run.id == text] or [run for run in runs if run.id.startswith(text)]
        if len(found) != 1:
            ids = [run.id for run in found]
            hint = f"`benchflow runs` lists those in {self.folder}"
            raise InputError(_not_one("run", text, ids, [run.id for run in runs], hint))
        return found[0]


def find_record(text: str) -> Path | None:
    """Return the exchange log that `text` names: the file, or the folder that it is in; None: it names none."""
    path = Path(text)
    if path.name == EXCHANGE_LOG and path.is_file():
        return path
    return path / EXCHANGE_LOG if (path / EXCHANGE_LOG).is_file() else None


def is_run(folder: Path) -> bool:
    """Tell whether a folder is that of a run."""
    return any((folder / mark).is_file() for mark in _MARKS)


def table_order(rows: Iterable[ProfileRow]) -> list[ProfileRow]:
    """Sort rows as tables show them, which gives trials their numbers: by agent, model, mode, scenario, iteration."""
    return sorted(
        rows, key=lambda row: (row.agent, row.upstream, row.model, row.mode, row.scenario_id, row.iteration, row.trial)
    )


def read_journal(path: Path) -> Iterator[JournalEntry]:
    """Read a journal; a line that was cut by a kill is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            entry = orjson.loads(line)
            yield JournalEntry(trial=entry["trial"], attempt=entry["try"], state=entry["state"], ts=entry["ts"])
        except (ValueError, KeyError, TypeError):
            continue


def read_result(try_folder: Path) -> ProfileRow | None:
    """Read a try's own row; None where the try did not come so far."""
    path = try_folder / "result.json"
    rows = read_rows(path) if path.exists() else []
    return rows[-1] if rows else None


def _tries(folder: Path) -> tuple[int, ...]:
    names = [path.name.removeprefix("try-") for path in folder.glob("try-*")]
    return tuple(sorted(int(name) for name in names if name.isdecimal()))


def _age(folder: Path) -> tuple[str, int, str]:
    """Runs are named by their second; within one, the file tells."""
    times = [(folder / mark).stat().st_mtime_ns for mark in _MARKS if (folder / mark).exists()]
    named = folder.name[:15] if _TIME.match(folder.name) else ""
    return named, min(times, default=0), folder.name


def _not_one(noun: str, text: str, found: list[str], known: list[str], hint: str) -> str:
    if found:
        return f"{text}: {len(found)} {noun}s begin so or contain it ({', '.join(found[:5])}); write more of it"
    near = difflib.get_close_matches(text, known, n=3, cutoff=0.4)
    nearest = f" The nearest: {', '.join(near)}." if near else ""
    return f"{text}: no such {noun}.{nearest} {hint}."
