"""Owns process trees, one after the other: starts each, tells how it ends, and takes the next once nothing of it lives.

It adopts every orphan below it, so that nothing which a program starts can get away, however it detaches itself.
"""

from __future__ import annotations

import os
import select
import signal
import socket

from . import limits, linux, namespace, processes, wire
from .tree import Tree

_REPORT_AFTER_PASSES = 10


class Supervisor:
    """Runs in a process of its own, forked from the helper."""

    def __init__(self, control: socket.socket, lifeline: int) -> None:
        self._control = control
        self._inbox = wire.Inbox(control)
        self._lifeline = lifeline
        """Ends when the helper does."""
        self._tree: Tree | None = None
        self._serving = True
        self._wake, wake_write = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self._poller = select.poll()
        for fd in (control.fileno(), lifeline, self._wake):
            self._poller.register(fd, select.POLLIN)

    def run(self, open_files: int) -> None:
        """Serve until BenchFlow or the helper is gone. `open_files`: the soft limit that BenchFlow was started with."""
        os.setsid()
        linux.adopt_orphans()
        linux.forbid_new_privileges()
        limits.set_open_files(open_files)
        while self._serving or self._tree:
            for fd, _ in self._poller.poll(self._tree.pause_ms if self._tree else None):
                self._hear(fd)
            if self._tree:
                self._advance(self._tree)

    def _hear(self, fd: int) -> None:
        if fd == self._wake:
            os.read(fd, 4096)
            return
        messages = self._inbox.read() if fd == self._control.fileno() else None
        if messages is None:
            self._hang_up()
        for message in messages or ():
            if isinstance(message, wire.Launch):
                self._tree = self._start(message)
            elif self._tree and message == wire.TERMINATE:
                self._tree.terminate()
            elif self._tree and message == wire.KILL:
                self._tree.killing = True

    def _hang_up(self) -> None:
        """BenchFlow or the helper is gone."""
        self._serving = False
        self._poller = select.poll()
        self._poller.register(self._wake, select.POLLIN)
        if self._tree:
            self._tree.killing = True

    def _start(self, launch: wire.Launch) -> Tree:
        tree, stage = Tree(), "cwd"
        try:
            os.chdir(launch.plan["cwd"])
            stage = "exec"
            tree.start(launch, [self._control.fileno(), self._lifeline])
        except namespace.NamespaceError as error:
            tree.killing = True
            stage = "inside" if isinstance(error, namespace.WrapperError) else "namespace"
            wire.report(self._control, event="failed", stage=stage, text=str(error))
        except OSError as error:
            tree.killing = True
            wire.report(self._control, event="failed", stage=stage, path=error.filename, text=error.strerror)
        else:
            wire.report(self._control, tree.sockets, event="started", pid=tree.program)
        for fd in tree.sockets:
            os.close(fd)
        if launch.plan["limits"] and launch.plan["namespaces"] is None:
            self._serving = False  # they were set on this process too, for good
        return tree

    def _advance(self, tree: Tree) -> None:
        running = tree.status is None
        empty = tree.reap()
        if running and tree.status is not None:
            wire.report(self._control, event="exited", status=tree.status)
        if empty:
            tree.close()
            self._tree = None
            wire.report(self._control, event="empty", again=self._serving)
        elif tree.killing:
            tree.kill()
            if tree.passes == _REPORT_AFTER_PASSES:
                wire.report(self._control, event="alive", alive=list(map(processes.name_of, tree.living())))
