"""One started process as BenchFlow sees it: its streams, its exit, and the way to end it with all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from benchflow.errors import TrialError
from benchflow.sandbox.helper import wire
from benchflow.sandbox.interface import Inside, Isolation
from benchflow.sandbox.link import Link
from benchflow.sandbox.pipes import PipeReader, PipeWriter

_KILLED_WITHIN_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Streams:
    """BenchFlow's ends of the pipes."""

    stdin: PipeWriter
    stdout: PipeReader
    stderr: PipeReader | None


class Child:
    """A process and its tree, owned by a supervisor."""

    def __init__(self, link: Link, streams: Streams, isolation: Isolation, inside: Inside) -> None:
        self.stdin, self.stdout, self.stderr = streams.stdin, streams.stdout, streams.stderr
        self.isolation: Isolation = isolation
        self.inside = inside
        self.sockets: tuple[socket.socket, ...] = ()
        self.pid = 0
        self.at_end: Callable[[], object] | None = None
        """Called once nothing of the tree is alive."""
        self._link = link
        self._status: int | None = None
        self._alive: list[str] = []
        self._began: asyncio.Future[wire.Report] = asyncio.get_running_loop().create_future()
        self._exited = asyncio.Event()
        self._empty = asyncio.Event()
        link.listener = self._take

    async def began(self) -> wire.Report:
        """Wait for the first report: `started` or `failed`."""
        return await self._began

    async def exited(self) -> int:
        """Wait for the first process; return its exit status, or minus the signal that ended it."""
        await self._exited.wait()
        assert self._status is not None
        return self._status

    async def stop(self, grace_s: float) -> None:
        """End the whole tree and return when it is empty.

        Half of `grace_s` to leave after end of file on stdin, half after SIGTERM, then SIGKILL; 0: SIGKILL at once.
        What the first process leaves behind is killed at once. Raises TrialError(`sandbox`) if something cannot be.
        """
        if grace_s > 0:
            await self.stdin.aclose()
            await self._leaves_within(grace_s / 2)
            self._order(wire.TERMINATE)
            await self._leaves_within(grace_s / 2)
        self._order(wire.KILL)
        try:
            with anyio.fail_after(_KILLED_WITHIN_S):
                await self._empty.wait()
        except TimeoutError:
            alive = ", ".join(self._alive) or "a process"
            raise TrialError("sandbox", f"cannot be killed, in {_KILLED_WITHIN_S:.0f} s: {alive}") from None

    async def _leaves_within(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._exited.wait()

    def _order(self, command: bytes) -> None:
        if not self._exited.is_set():
            self._link.order(command)

    def _take(self, report: wire.Report, fds: list[int]) -> None:
        match report["event"]:
            case "started" | "failed":
                self.pid = report.get("pid", 0)
                self.sockets = tuple(map(_adopt, fds))
                self._settle(report)
            case "exited":
                self._exit(report.get("status", 0))
            case "alive":
                self._alive = report.get("alive", [])
            case "empty":
                self._end()
            case "lost":
                self._lost()

    def _lost(self) -> None:
        """The supervisor was killed. The helper has ended the tree; if that was killed as well, end its first group."""
        if self.pid and not self._exited.is_set():
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        self._settle({"event": "failed", "text": "its supervisor was killed"})
        self._exit(-signal.SIGKILL)
        self._end()

    def _settle(self, report: wire.Report) -> None:
        if not self._began.done():
            self._began.set_result(report)

    def _exit(self, status: int) -> None:
        if self._status is None:
            self._status = status
            self._exited.set()

    def _end(self) -> None:
        """The tree is empty: free what belongs to it."""
        self._link.listener = None
        self._exit(-signal.SIGKILL)  # nothing had been executed
        self.stdin.close()
        self.stdout.end()
        if self.stderr:
            self.stderr.end()
        self._empty.set()
        callback, self.at_end = self.at_end, None
        if callback:
            callback()


def _adopt(fd: int) -> socket.socket:
    opened = socket.socket(fileno=fd)
    opened.setblocking(False)
    return opened
