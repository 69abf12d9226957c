"""How much memory a process and all its children hold. Linux tells it in /proc; elsewhere it is not known."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio

PROC = Path("/proc")
EVERY_S = 0.1


class MemoryWatch:
    """Looks at a process tree now and then, and remembers the most that it held."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.peak_mb: float | None = None

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await anyio.sleep(EVERY_S)

    def look(self) -> None:
        """Look once."""
        pages = [_resident_pages(pid) for pid in tree_of(self._pid)]
        if any(pages):
            held = sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6
            self.peak_mb = round(max(held, self.peak_mb or 0.0), 1)


def tree_of(pid: int) -> Iterator[int]:
    """Yield the process and all that descends from it."""
    yield pid
    try:
        threads = list((PROC / str(pid) / "task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            children = (thread / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield from tree_of(int(child))


def _resident_pages(pid: int) -> int:
    try:
        return int((PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
