"""The connection to one supervisor: orders out, reports in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Sequence
from typing import cast

import anyio

from benchflow.sandbox.helper import wire

Listener = Callable[["wire.Report", list[int]], None]
"""Takes a report and the descriptors that came with it, which it then owns."""


class Link:
    """A control socket, read as long as the supervisor is there."""

    def __init__(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = control
        self._received = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(control, self._hear)
        self.listener: Listener | None = None
        """Who hears of the present tree; None between two."""
        self.idle = False
        """The supervisor can take a launch."""

    async def launch(self, plan: wire.Plan, stdio: Sequence[int]) -> None:
        """Hand over a plan. What becomes of it, its loss included, is reported."""
        self.idle = False
        try:
            await send(self._control, wire.pack(plan), stdio)
        except OSError:
            return
        except BaseException:  # cancelled within the plan: no order could follow it
            self.close()
            self._tell({"event": "lost"}, [])
            raise

    def order(self, command: bytes) -> None:
        """Send `TERMINATE` or `KILL`."""
        with contextlib.suppress(OSError):  # it has just ended: that report is on its way
            self._control.send(command)

    def close(self) -> None:
        """Let the supervisor go; a tree that it still has is killed. May be called again."""
        if self._control.fileno() >= 0:
            self._loop.remove_reader(self._control)
            self._control.close()
        self.idle = False

    def _hear(self) -> None:
        try:
            data, fds = wire.receive(self._control, 1 << 16)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data, fds = b"", []
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            self._tell(cast("wire.Report", json.loads(line)), fds)
            fds = []
        if not data:
            self.close()
            self._tell({"event": "lost"}, [])

    def _tell(self, report: wire.Report, fds: list[int]) -> None:
        if report["event"] == "empty":
            self.idle = report.get("again", False)
        if self.listener:
            self.listener(report, fds)


async def send(target: socket.socket, data: bytes, fds: Sequence[int]) -> None:
    """Send bytes with descriptors on the first of them."""
    while True:
        try:
            sent = socket.send_fds(target, [data], list(fds))
        except BlockingIOError:
            await anyio.sleep(0.001)  # hundreds of requests wait already: rarer than what a callback would cost
            continue
        if sent < len(data):
            await asyncio.get_running_loop().sock_sendall(target, data[sent:])
        return
