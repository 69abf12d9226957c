"""The helper itself: forks supervisors, and sees to the trees of those that were killed."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys

from . import limits, linux, processes, wire
from .supervisor import Supervisor


class Server:
    """Forks supervisors until BenchFlow closes the channel, or dies."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._open_files = limits.raise_open_files()
        self._lifeline, self._lifeline_write = os.pipe()
        self._wake, self._wake_write = os.pipe()
        self._supervisors: dict[int, socket.socket] = {}
        """Process id → a copy of its control socket, kept to tell of its death."""
        self._lost: list[socket.socket] = []
        """Control sockets of supervisors that were killed, whose trees may be alive."""

    def run(self) -> None:
        """Serve, then wait until every supervisor has left."""
        linux.adopt_orphans()
        for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wake_write, False)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        gc.disable()
        gc.freeze()
        poller = select.poll()
        poller.register(self._channel, select.POLLIN)
        poller.register(self._wake, select.POLLIN)
        serving = True
        while serving or self._supervisors or self._lost:
            for fd, _ in poller.poll():
                if fd == self._wake:
                    os.read(fd, 4096)
                    self._reap()
                elif not self._accept():
                    serving = False
                    poller.unregister(fd)

    def _accept(self) -> bool:
        message, fds = wire.receive(self._channel, 1)
        for fd in fds:
            self._fork(socket.socket(fileno=fd))
        return bool(message)

    def _fork(self, control: socket.socket) -> None:
        child = os.fork()
        if child != 0:
            self._supervisors[child] = control
            return
        try:
            self._let_go()
            Supervisor(control, self._lifeline).run(self._open_files)
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 (a fork must never return into its parent's code)
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            os._exit(1)

    def _let_go(self) -> None:
        """In a forked child: close what would keep others from seeing the end of a file."""
        self._channel.close()
        for each in (*self._supervisors.values(), *self._lost):
            each.close()
        for fd in (self._lifeline_write, self._wake, self._wake_write):
            os.close(fd)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            control = self._supervisors.pop(pid, None)
            if control and status == 0:
                control.close()
            elif control:
                self._lost.append(control)
        if self._lost:
            self._sweep()

    def _sweep(self) -> None:
        """Kill what killed supervisors left to us. Each that ends wakes us again, until there is none."""
        strays = [pid for pid in processes.children_of(os.getpid()) if pid not in self._supervisors]
        for stray in strays:
            processes.send([stray, *processes.descendants(stray, stray)], signal.SIGKILL)
        if not strays:
            for control in self._lost:
                wire.report(control, event="lost")
                control.close()
            self._lost.clear()


def main() -> None:
    """Serve the channel whose descriptor is the first argument, and end without Python's own clean-up: 3 ms saved."""
    Server(socket.socket(fileno=int(sys.argv[1]))).run()
    os._exit(0)
