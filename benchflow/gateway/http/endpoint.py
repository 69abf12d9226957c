"""One end of a TCP connection: what has arrived and is not taken yet, and whether there is room to write.

A stream without the layers of asyncio's: one wake-up for each read, no copy that is not needed. Knows nothing of HTTP.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Generator
from types import coroutine
from typing import Any, TypeVar

READ = 256 * 1024
"""Bytes that may wait to be taken before the other side is held back."""

Value = TypeVar("Value")


class TooLong(ValueError):
    """What was looked for does not come within the bytes allowed."""


class Endpoint(asyncio.Protocol):
    """One end of a connection. Whoever opens it closes it."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self._loop = asyncio.get_running_loop()
        self._arrived = b""
        self._paused = False
        self._ended = False
        self._broken: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._full = False
        self._deadline = 0.0
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        _send_at_once(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        self._arrived = self._arrived + data if self._arrived else data
        if len(self._arrived) > READ and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        self._wake_reader()

    def eof_received(self) -> None:
        self._ended = True
        self._wake_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._broken = exc
        self._wake_reader()
        self.resume_writing()
        if self._watch:
            self._watch.cancel()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self._writer and not self._writer.done():
            self._writer.set_result(None)

    @property
    def ended(self) -> bool:
        """Nothing more will arrive."""
        return self._ended or self.transport.is_closing()

    @property
    def waiting(self) -> bool:
        """Something has arrived that nobody has taken."""
        return bool(self._arrived)

    async def receive(self, silence_s: float | None = None) -> bytes:
        """Take all that has arrived, waiting for it; nothing: the other side has ended.

        Raises TimeoutError after `silence_s` without a byte, and OSError where the connection broke.
        """
        if not self._arrived and not self._ended:
            await self._arrival(silence_s)
        data, self._arrived = self._arrived, b""
        if self._paused and not self._ended:
            self._paused = False
            self.transport.resume_reading()
        if not data and self._broken:
            raise self._broken
        return data

    async def receive_until(self, end: bytes, limit: int, silence_s: float | None = None) -> bytes:
        """Take what has arrived up to and with `end`; what is there when the other side ends before it.

        Raises TooLong where it is not within `limit` bytes.
        """
        data = await self.receive(silence_s)
        while (found := data.find(end)) < 0 and len(data) <= limit:
            more = await self.receive(silence_s)
            if not more:
                return data
            data += more
        if found < 0 or found > limit:
            raise TooLong
        self._arrived = data[found + len(end) :] + self._arrived
        return data[: found + len(end)]

    def put_back(self, data: bytes) -> None:
        """Leave bytes that were taken for the next taker."""
        self._arrived = data + self._arrived

    def write(self, data: bytes) -> None:
        """Send bytes, now or as soon as there is room."""
        self.transport.write(data)

    @property
    def full(self) -> bool:
        """Whoever writes should wait for room first."""
        return self._full

    async def room(self, silence_s: float | None = None) -> None:
        """Wait until what was written has left, but for a little. Raises TimeoutError, and OSError."""
        if self._full:
            self._writer = self._loop.create_future()
            async with asyncio.timeout(silence_s):
                await self._writer
        if self._broken:
            raise self._broken

    def abort(self) -> None:
        """End it at once."""
        self.transport.abort()

    async def _arrival(self, silence_s: float | None) -> None:
        self._reader = self._loop.create_future()
        if silence_s is not None:
            self._deadline = self._loop.time() + silence_s
            if self._watch is None or self._watch.when() > self._deadline:
                self._rearm()
        try:
            await self._reader
        finally:
            self._reader = None

    def _wake_reader(self) -> None:
        if self._reader and not self._reader.done():
            self._reader.set_result(None)

    def _rearm(self) -> None:
        if self._watch:
            self._watch.cancel()
        self._watch = self._loop.call_at(self._deadline, self._look)

    def _look(self) -> None:
        """Nothing may have come for too long. One timer a connection serves all its waits: most of them are short."""
        self._watch = None
        if self._reader is None:
            return
        if self._loop.time() < self._deadline:
            self._rearm()
        elif not self._reader.done():
            self._reader.set_exception(TimeoutError())


def _send_at_once(sock: socket.socket) -> None:
    """Let no small write wait for an acknowledgement. asyncio does it for the sockets that it made itself."""
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@coroutine
def before_a_wait(do: Callable[[], None], awaitable: Awaitable[Value]) -> Generator[Any, Any, Value]:
    """Await; call `do` before, but only where the result is not there at once."""
    steps = awaitable.__await__()
    try:
        pause = next(steps)
        do()
        while True:
            try:
                yield pause
            except BaseException as exc:  # noqa: BLE001 - a cancellation is for whom we wait for
                pause = steps.throw(exc)
            else:
                pause = next(steps)
    except StopIteration as over:
        return over.value
