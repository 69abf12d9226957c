"""The ends of pipes that BenchFlow keeps, as asynchronous streams on the event loop's own readiness callbacks.

Faster than asyncio's transports by a copy and a callback for each block, and without a limit to a line.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass

import anyio

BLOCK = 64 * 1024
"""Bytes moved at most at once: a whole pipe. Enlarged pipes were not faster, and the kernel allows a plain user few."""


@dataclass(frozen=True)
class Pipe:
    """A fresh pipe: two descriptors."""

    read: int
    write: int


def make_pipe() -> Pipe:
    """Open a pipe that no child inherits."""
    return Pipe(*os.pipe())


class PipeReader:
    """The reading end of a pipe; one consumer."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._last = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        await asyncio.sleep(0)  # a fast writer must not keep the event loop from everything else
        while self._fd >= 0:
            try:
                block = os.read(self._fd, BLOCK)
            except BlockingIOError:
                if self._last:
                    break
                await self._readable()
                continue
            if not block:
                break
            return block
        self.close()
        raise StopAsyncIteration

    def end(self) -> None:
        """Nobody can write any more: what is in the pipe is the last, whoever may still hold its other end."""
        self._last = True
        self._wake()

    def close(self) -> None:
        """Give up the descriptor; may be called again. A waiting consumer finds the end."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._wake()

    def __del__(self) -> None:
        # Nobody reads a process's last words when its session broke: the descriptor goes with the last reference.
        if self._fd >= 0:
            os.close(self._fd)

    async def _readable(self) -> None:
        self._waiter = self._loop.create_future()
        self._loop.add_reader(self._fd, self._wake)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if self._fd >= 0:
                self._loop.remove_reader(self._fd)

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)


class PipeWriter:
    """The writing end of a pipe. Bytes go out in the order of the calls, each call's together.

    A cancelled call leaves what it had not yet written to the next one, so that no message is ever cut off inside.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._pending = bytearray()
        self._waiter: asyncio.Future[None] | None = None

    async def send(self, data: bytes) -> None:
        """Write all of it. Raises `anyio.BrokenResourceError` when nobody reads any more."""
        if self._fd < 0:
            raise anyio.BrokenResourceError
        self._pending += data
        while self._pending:
            try:
                del self._pending[: os.write(self._fd, self._pending[:BLOCK])]
            except BlockingIOError:
                await self._writable()
            except BrokenPipeError:
                self.close()
            if self._fd < 0:
                raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        """Send end of file; may be called again."""
        self.close()

    def close(self) -> None:
        """Give up the descriptor, and with it what could not be written; waiting calls fail."""
        if self._fd >= 0:
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._pending.clear()
            self._wake()

    def __del__(self) -> None:
        if self._fd >= 0:  # the start of its process failed
            os.close(self._fd)

    async def _writable(self) -> None:
        """Wait, with any other call that waits already."""
        if self._waiter is None:
            self._waiter = self._loop.create_future()
            self._loop.add_writer(self._fd, self._wake)
        await asyncio.shield(self._waiter)

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter:
            if self._fd >= 0:
                self._loop.remove_writer(self._fd)
            waiter.set_result(None)
