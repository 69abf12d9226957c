"""Whether the process that owns a folder still runs: its id is kept with its start time, since ids are reused."""

import os
import subprocess
import time
from pathlib import Path

import orjson

NAME = "pid"
"""The file in a folder that says whose it is."""
_UNCLAIMED_S = 600.0
"""A folder without the file is taken for abandoned only after this long: its owner may be about to write it."""


def claim(folder: Path) -> None:
    """Say that this process owns `folder`."""
    pid = os.getpid()
    (folder / NAME).write_bytes(orjson.dumps({"pid": pid, "started": _started(pid)}) + b"\n")


def owner_lives(folder: Path) -> bool:
    """Tell whether the process that claimed `folder` still runs."""
    try:
        claimed = orjson.loads((folder / NAME).read_bytes())
        pid, since = int(claimed["pid"]), str(claimed["started"])
    except (OSError, ValueError, KeyError, TypeError):
        return _is_new(folder)
    return _started(pid) == since


def release(folder: Path) -> None:
    """Give up the claim on `folder`."""
    (folder / NAME).unlink(missing_ok=True)


def is_claimed(folder: Path) -> bool:
    """Tell whether a process that still runs has claimed `folder`; without a claim it is nobody's."""
    return (folder / NAME).exists() and owner_lives(folder)


def _is_new(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime < _UNCLAIMED_S
    except OSError:
        return False


def _started(pid: int) -> str | None:
    """When a process started, as its system says it; None if there is no such process, or only its remains."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _started_by_ps(pid)
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()


def _started_by_ps(pid: int) -> str | None:
    answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None
