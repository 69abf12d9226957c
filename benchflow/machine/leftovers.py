"""Ends what a killed BenchFlow may have left running: its helper does that too, unless it was killed as well."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import anyio

_WITHIN_S = 10.0
_PAUSE_S = 0.02
_PROC = Path("/proc")


async def end_leftovers(folder: Path, within_s: float = _WITHIN_S) -> int:
    """Kill every process that lives in `folder`, and return how many there were when none is left, or the time is up.

    Nothing but agents and what they started has its HOME below a run's scratch folder, or sees no more of this machine
    than a part of it. Where there is no /proc, none is found.
    """
    marks, seen = _Marks.of(folder), set[int]()
    until = time.monotonic() + within_s
    while (found := [pid for pid in _processes() if marks.on(pid)]) and time.monotonic() < until:
        for pid in found:
            _kill(pid, marks)
        seen.update(found)
        await anyio.sleep(_PAUSE_S)
    return len(seen)


def _processes() -> list[int]:
    if not (_PROC / "self" / "environ").exists():
        return []
    return [int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdecimal()]


@dataclass(frozen=True)
class _Marks:
    """By what a process that lives in a folder is known."""

    home: bytes
    """The beginning of its HOME, where it sees the machine as it is."""
    mount: bytes
    """A part of what is mounted for it, where it does not; the path may begin at another file system's root."""

    @classmethod
    def of(cls, folder: Path) -> Self:
        return cls(
            home=b"\0HOME=%b/" % os.fsencode(folder.resolve()),
            mount=os.fsencode(f"/{folder.parent.name}/{folder.name}/"),
        )

    def on(self, pid: int) -> bool:
        try:
            environ = (_PROC / str(pid) / "environ").read_bytes()
            mounts = (_PROC / str(pid) / "mountinfo").read_bytes()
        except OSError:
            return False  # it has ended, or is another user's
        return self.home in b"\0" + environ or self.mount in mounts


def _kill(pid: int, marks: _Marks) -> None:
    """Kill a process, by a handle: its number may have become another's meanwhile."""
    with suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(pid)
        try:
            if marks.on(pid):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
