"""Which processes descend from one, and how to kill them. Linux: from /proc; elsewhere: from `ps`."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

HAS_CHILDREN_FILES = os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def descendants(root: int, group: int) -> list[int]:
    """Return every process below `root`, parents first; where only `ps` knows, those of the process group `group`, too.

    A snapshot: what forks meanwhile is found by asking again. `group` 0: none. Only Linux lets `root` adopt orphans:
    elsewhere, one that has left the group is not found.
    """
    if not HAS_CHILDREN_FILES:
        return below(list_processes(), root, group)
    found = children_of(root)
    for pid in found:
        found.extend(children_of(pid))
    return found


def children_of(pid: int) -> list[int]:
    """Return the children of a process, or nothing if it is gone."""
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children.extend(map(int, file.read().split()))
    except OSError:
        pass  # a process or thread that ended meanwhile has none
    return children


def list_processes() -> list[tuple[int, int, int]]:
    """Return process, parent and group of everything that runs but `ps` itself, which tells it."""
    import subprocess  # late: most machines never need it, and it would double the helper's start

    with subprocess.Popen(["ps", "-A", "-o", "pid=,ppid=,pgid="], stdout=subprocess.PIPE, text=True) as ps:
        rows = [tuple(map(int, line.split())) for line in ps.stdout or ()]
    return [(pid, parent, group) for pid, parent, group in rows if pid != ps.pid]


def below(table: Iterable[tuple[int, int, int]], root: int, group: int) -> list[int]:
    """Return the processes of `table` that descend from `root` or belong to `group`, which 0 is not."""
    rows = list(table)
    found = [root]
    for ancestor in found:
        found.extend(pid for pid, parent, _ in rows if parent == ancestor and pid not in found)
    found.extend(pid for pid, _, own in rows if group and own == group and pid not in found)
    return found[1:]


def send(pids: Iterable[int], number: signal.Signals, *, spared: Container[int] = ()) -> None:
    """Signal each process that is still there."""
    for pid in pids:
        if pid not in spared:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
            except PermissionError:
                continue  # a set-uid program, where nothing forbids it: it stays in the list of the living


def name_of(pid: int) -> str:
    """Return `pid name` for a message."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return f"{pid} {file.read().strip()}"
    except OSError:
        return str(pid)
