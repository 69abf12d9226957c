"""One process tree: its first process, and all that descends from it.

A tree lives as long as its first process. What that leaves behind is killed at once, as it is in a process namespace.
"""

from __future__ import annotations

import os
import signal

from . import limits, namespace, processes, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .wire import Launch

_PAUSES_MS = (4, 8, 16, 32, 64, 128, 256, 500)
"""Between one time that everything is killed and the next."""


class Tree:
    """Every process below this one; there is never more than one tree at a time."""

    def __init__(self) -> None:
        self.first = 0
        """The process whose end is the tree's: the program, or bubblewrap around it."""
        self.program = 0
        self.sockets: list[int] = []
        self.status: int | None = None
        """Of the first process, once it has ended."""
        self.killing = False
        self.passes = 0
        """How often everything was killed."""
        self._group = 0
        """The first process's group, until it was killed."""
        self._wrapped: namespace.Wrapped | None = None
        self._spared: frozenset[int] = frozenset()
        """Bubblewrap's own processes, which SIGTERM must not reach: they would take the others with them at once."""

    @property
    def pause_ms(self) -> int | None:
        """How long to wait for news; None: for ever."""
        return _PAUSES_MS[min(self.passes, len(_PAUSES_MS) - 1)] if self.killing else None

    def start(self, launch: Launch, orders: list[int]) -> None:
        """Start the first process. Raises OSError or NamespaceError; then, too, there may be processes to end."""
        plan, namespaces = launch.plan, launch.plan["namespaces"]
        try:
            if namespaces is None:
                limits.limit(plan["limits"])
                self.first = self.program = spawn.spawn(plan["argv"], plan["env"], launch.stdio)
            else:
                self._wrapped = inside = namespace.start(plan, namespaces, launch.stdio, orders)
                self.first, self.program, self.sockets = inside.wrapper, inside.program, inside.sockets
                self._spared = frozenset({inside.wrapper, inside.init})
        finally:
            self._group = self.first
            for fd in launch.stdio:
                os.close(fd)

    def living(self) -> list[int]:
        """Return the processes of the tree, parents first: a snapshot."""
        return processes.descendants(os.getpid(), self.first)

    def terminate(self) -> None:
        """Ask all of them to end."""
        processes.send(self.living(), signal.SIGTERM, spared=self._spared)

    def kill(self) -> None:
        """Kill what is there. To be repeated until `reap` finds nothing: some may fork meanwhile."""
        # Once the whole group, because what forks faster than it is listed cannot outrun that.
        group, self._group = self._group, 0
        if group:
            processes.send([-group], signal.SIGKILL)
        processes.send(self.living(), signal.SIGKILL)
        self.passes += 1

    def reap(self) -> bool:
        """Collect what has ended, and tell whether nothing is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return processes.HAS_CHILDREN_FILES or not self.living()
            if pid == 0:
                return False
            if pid == self.first:
                self.status = self._exit_status(os.waitstatus_to_exitcode(status))
                self.killing = True

    def close(self) -> None:
        """Free what belonged to it."""
        if self._wrapped:
            self._wrapped.status.close()

    def _exit_status(self, status: int) -> int:
        """Read the first process's exit status. Bubblewrap tells the signal that ended its program as shells do."""
        return 128 - status if self._wrapped and status > 128 else status
