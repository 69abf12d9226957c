"""A lock between processes, by a file; it is free again however its holder ends."""

import fcntl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

_FIRST_WAIT_S = 0.02
_LONGEST_WAIT_S = 0.5


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Hold the lock of the file at `path`, which is made if need be. Waits as long as another holds it."""
    wait_s = _FIRST_WAIT_S
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await anyio.sleep(wait_s)
                wait_s = min(wait_s * 2, _LONGEST_WAIT_S)
        yield
