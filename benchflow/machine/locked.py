"""A lock between processes, by a file; it is free again however its holder ends."""

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import anyio

_FIRST_WAIT_S = 0.02
_LONGEST_WAIT_S = 0.5


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Hold the lock of the file at `path`, made if need be, with its folder. Waits as long as another holds it."""
    wait_s = _FIRST_WAIT_S
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            if take(file, path):
                yield
                return
        await anyio.sleep(wait_s)
        wait_s = min(wait_s * 2, _LONGEST_WAIT_S)


def take(file: IO[str], path: Path) -> bool:
    """Take the lock of an open file, if it is free, and tell whether that was so.

    One that its last holder has removed is none: others see another file.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
