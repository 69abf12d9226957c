"""Tasks that live as long as a connection.

A session is opened in one call and closed in another, with time limits around each; a task group entered in between
would have to end inside the scope in which it began. So these are plain tasks, owned and awaited by whoever holds this.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Background:
    """Runs tasks; an unexpected error of one is handed to `on_bug` at once and raised again by `aclose`."""

    def __init__(self, on_bug: Callable[[BaseException], None]) -> None:
        self._on_bug = on_bug
        self._tasks: set[asyncio.Task[None]] = set()
        self._bug: BaseException | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def settle(self, timeout_s: float) -> None:
        """Wait for all tasks to end by themselves, for so long at most; then as `aclose`."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)
        await self.aclose()

    async def aclose(self) -> None:
        """Cancel what still runs and wait until it has ended. Raises the first error that a task ended with."""
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
        if self._bug:
            raise self._bug

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error and self._bug is None:
            self._bug = error
            self._on_bug(error)
