"""What takes room and is of no use any more, and its removal. Nothing of a run that still runs is ever touched."""

import fcntl
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchflow.install import Place
from benchflow.machine.disk import folder_bytes
from benchflow.machine.home import Home
from benchflow.machine.liveness import owner_lives
from benchflow.manifest import Manifest
from benchflow.registry import Registry
from benchflow.store import Store
from benchflow.workspaces.snapshot import remove_tree

Kind = Literal["scratch", "install", "tools", "cache", "workspace"]

_DAY_S = 86_400
_DIGEST = 12
"""Characters of a manifest's digest at the end of an install's name."""


@dataclass(frozen=True, kw_only=True)
class Garbage:
    """A folder that can go."""

    kind: Kind
    path: Path
    bytes: int
    why: str
    lock: Path | None = None
    """Who holds this file's lock is using the folder."""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What was found."""

    garbage: list[Garbage]
    notes: list[str]
    """Why something was not even looked at."""


@dataclass(frozen=True, kw_only=True)
class Removal:
    """What became of one folder."""

    garbage: Garbage
    removed: bool
    error: str | None = None


def current_installs(home: Home, environ: Mapping[str, str]) -> set[str]:
    """Return the names of the installs that belong to the manifests of this machine's registry as they are now."""
    known = Registry.open(environ=environ).listing().agents
    return {Place.of(agent, home).root.name for agent in known if isinstance(agent, Manifest)}


def find_garbage(
    home: Home, *, current: Collection[str], older_than_days: float = 30, cache: bool = False, runs: Store | None = None
) -> Survey:
    """Find what can go. `current` are the names of installs that belong to known manifests as they are now.

    With `cache`, the shared download cache as well; with `runs`, the kept workspaces of its old runs.
    """
    before = time.time() - older_than_days * _DAY_S
    live = [folder.name for folder in _folders(home.scratch) if owner_lives(folder)]
    found = [
        _garbage("scratch", folder, "its run ended without removing it")
        for folder in _folders(home.scratch)
        if folder.name not in live
    ]
    notes: list[str] = []
    if live:
        notes.append(f"running now: {', '.join(live)}; installs, tools and cache are left alone until the end of it")
    else:
        found += [*_installs(home, current, before), *_tools(home)]
        if cache and home.cache.is_dir():
            found.append(_garbage("cache", home.cache, "downloads, which come again when they are needed"))
    if runs is not None:
        found += _workspaces(runs, before)
    return Survey(garbage=found, notes=notes)


def remove(garbage: Garbage) -> Removal:
    """Remove one folder. A folder that is in use, or cannot be removed, stays, and is said to."""
    with _holding(garbage.lock) as free:
        if not free:
            return Removal(garbage=garbage, removed=False, error="it is in use")
        remove_tree(garbage.path)
    if garbage.path.exists():
        return Removal(garbage=garbage, removed=False, error="something in it cannot be removed by this user")
    return Removal(garbage=garbage, removed=True)


def _installs(home: Home, current: Collection[str], before: float) -> Iterator[Garbage]:
    names = {name[: -_DIGEST - 1] for name in current}
    for folder in _folders(home.installs):
        record = folder / "install.json"
        lock = folder / "lock"
        if not record.exists():
            yield _garbage("install", folder, "it was never finished", lock=lock)
        elif folder.name not in current and folder.name[: -_DIGEST - 1] in names:
            yield _garbage("install", folder, "its manifest has changed since", lock=lock)
        elif record.stat().st_mtime < before:
            yield _garbage("install", folder, "it was not used for long", lock=lock)


def _tools(home: Home) -> Iterator[Garbage]:
    for folder in _folders(home.tools):
        if folder.name.startswith("python-") and not (folder / "complete").exists():
            yield _garbage("tools", folder, "it was never finished", lock=folder.with_suffix(".lock"))


def _workspaces(runs: Store, before: float) -> Iterator[Garbage]:
    for run in runs.runs():
        if run.is_running or run.last_change > before:
            continue
        for folder in sorted(run.folder.glob("trials/*/try-*/workspace")):
            yield _garbage("workspace", folder, "its run is old")


def _garbage(kind: Kind, path: Path, why: str, lock: Path | None = None) -> Garbage:
    return Garbage(kind=kind, path=path, bytes=folder_bytes(path), why=why, lock=lock)


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if path.is_dir() and not path.is_symlink())
    except FileNotFoundError:
        return []


@contextmanager
def _holding(lock: Path | None) -> Iterator[bool]:
    """Hold a lock without waiting for it; give False where somebody else has it."""
    if lock is None or not lock.exists():
        yield True
        return
    file = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(file)
