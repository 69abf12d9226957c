"""Ctrl-C: the first ends the run in order, the second ends BenchFlow at once. Agents die with it either way."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

EXIT_CODE = 130


@asynccontextmanager
async def interruptible() -> AsyncIterator[None]:
    """Cancel the block when SIGINT or SIGTERM arrives, and go on after it."""
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_listen, scope)
            yield
            tasks.cancel_scope.cancel()


async def _listen(
    scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if scope.cancel_called:
                os._exit(EXIT_CODE)  # the sandbox's helper ends every agent when its parent is gone
            scope.cancel()
