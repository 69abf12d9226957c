"""Starts a program through bubblewrap, with listening sockets opened inside its network namespace.

Bubblewrap makes the namespaces and waits; a forked child of ours enters the network namespace, opens the sockets and
hands them out; then bubblewrap goes on. What listens is thus never a process inside, and nothing inside can end it.
"""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import sys
import time

from . import limits, linux, processes, spawn, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_BACKLOG = 512
_IP_FREEBIND = 15
_ENTER_WITHIN_S = 5.0
_PAUSE_S = 0.0003
_GONE = b"gone"


class NamespaceError(Exception):
    """The program was not executed. The text says why, unless bubblewrap itself failed."""


class WrapperError(NamespaceError):
    """Bubblewrap failed. It has said why on the program's stderr."""


class Status:
    """What bubblewrap tells of itself, watched together with the orders to stop."""

    def __init__(self, fd: int, orders: Sequence[int]) -> None:
        self._fd = fd
        self._orders = orders
        self._poller = select.poll()
        for each in (fd, *orders):
            self._poller.register(each, select.POLLIN)

    def wait(self, pause_ms: int | None = None) -> bool:
        """Wait until there is something to read. Raises NamespaceError when there is an order to stop."""
        ready = [fd for fd, _ in self._poller.poll(pause_ms)]
        if any(fd in self._orders for fd in ready):
            raise NamespaceError("told to stop")
        return self._fd in ready

    def wait_until_taken(self, pipe: int) -> None:
        """Wait until nobody can read from the pipe any more, or there is something to read here."""
        self._poller.register(pipe, 0)
        self.wait()
        self._poller.unregister(pipe)

    def read(self) -> bytes:
        """Return what is there; nothing when bubblewrap has ended."""
        return os.read(self._fd, 4096)

    def close(self) -> None:
        """Stop listening. Not while bubblewrap is there: it would die of the broken pipe."""
        os.close(self._fd)


class Wrapped:
    """A program inside its namespaces."""

    def __init__(self, wrapper: int, init: int, program: int, sockets: list[int], status: Status) -> None:
        self.wrapper = wrapper
        """Bubblewrap's own process, which ends with the program's exit status, and takes everything inside with it."""
        self.init = init
        """The first process of the process namespace: when it is gone, all inside are."""
        self.program = program
        """The program's process; 0 if it has ended already."""
        self.sockets = sockets
        self.status = status


def start(plan: wire.Plan, namespaces: wire.Namespaces, stdio: Sequence[int], orders: Sequence[int]) -> Wrapped:
    """Start `plan.argv` inside; give up as soon as one of the descriptors `orders` has something to read.

    Raises NamespaceError; what was started by then is a child of this process.
    """
    status_read, status_write = os.pipe()
    block_read, block_write = os.pipe()
    wrapper = _spawn_wrapper(plan["argv"], namespaces, stdio, status_write, block_read)
    os.close(status_write)
    os.close(block_read)
    status = Status(status_read, orders)
    try:
        init = _first_process(status)
        sockets = _open_inside(init, namespaces["sockets"]) if namespaces["sockets"] else []
        limits.limit(plan["limits"], init)
        os.write(block_write, b"1")
        status.wait_until_taken(block_write)
        return Wrapped(wrapper, init, _wait_until_executed(status, init), sockets, status)
    except BaseException as error:
        status.close()
        if isinstance(error, ProcessLookupError | BrokenPipeError):
            raise WrapperError("bubblewrap ended before it executed the program") from error
        raise
    finally:
        os.close(block_write)


def _spawn_wrapper(
    argv: Sequence[str], namespaces: wire.Namespaces, stdio: Sequence[int], status: int, block: int
) -> int:
    passed = [status, block]
    options = ["--json-status-fd", str(status), "--block-fd", str(block)]
    for option in namespaces["options"]:
        if isinstance(option, dict):
            passed.append(_memory_file(option["text"]))
            options.append(str(passed[-1]))
        else:
            options.append(option)
    # By descriptor, because a command line can be read by everyone, inside and outside.
    passed.append(_memory_file("\0".join(options) + "\0"))
    for fd in passed:
        os.set_inheritable(fd, True)
    try:
        return spawn.spawn([namespaces["program"], "--args", str(passed[-1]), "--", *argv], {}, stdio)
    finally:
        for fd in passed[2:]:
            os.close(fd)


def _memory_file(text: str) -> int:
    fd = os.memfd_create("")
    data = os.fsencode(text)
    while data:
        data = data[os.write(fd, data) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _first_process(status: Status) -> int:
    """Read bubblewrap's first status line."""
    line = b""
    while not line.endswith(b"\n"):
        status.wait()
        part = status.read()
        if not part:
            raise WrapperError("bubblewrap ended before it had made its namespaces")
        line += part
    return json.loads(line)["child-pid"]


def _wait_until_executed(status: Status, init: int) -> int:
    """Return the program's process id once it executes; 0 if it has ended already.

    Bubblewrap does not say so. It reports an exit code only if the program could be executed, and the kernel marks a
    process that has forked but not executed. By now that is a matter of half a millisecond.
    """
    while not status.wait(0):
        for child in processes.children_of(init):
            if linux.has_executed(child):
                return child
        time.sleep(_PAUSE_S)
    if b"exit-code" not in status.read():
        raise WrapperError("bubblewrap could not execute the program")
    return 0


def _open_inside(pid: int, wanted: Sequence[tuple[str, int]]) -> list[int]:
    """Open sockets on the loopback of the network namespace of `pid`. Raises ProcessLookupError if that has ended."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        _serve_sockets(theirs, pid, wanted)
    theirs.close()
    with ours:
        text, fds = wire.receive(ours, 4096)
    os.waitpid(child, 0)
    if text == _GONE:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    if len(fds) != len(wanted):
        raise NamespaceError(f"cannot open sockets inside: {text.decode() or 'the process that does it was killed'}")
    return fds


def _serve_sockets(answer: socket.socket, pid: int, wanted: Sequence[tuple[str, int]]) -> None:
    """In a forked child: enter, open, hand over, end."""
    try:
        _enter(pid)
        sockets = [_listen(kind, port) for kind, port in wanted]
        socket.send_fds(answer, [b"ok"], [each.fileno() for each in sockets])
    except (FileNotFoundError, ProcessLookupError):
        answer.send(_GONE)
    except OSError as error:
        answer.send(str(error).encode())
    except BaseException as error:  # noqa: BLE001 (a fork must never return into its parent's code)
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        os._exit(0)


def _enter(pid: int) -> None:
    """Enter the network namespace of `pid`. For an instant while bubblewrap changes its user, the kernel refuses."""
    until = time.monotonic() + _ENTER_WITHIN_S
    while True:
        try:
            return linux.enter_network_of(pid)
        except PermissionError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)


def _listen(kind: str, port: int) -> socket.socket:
    """Open one socket. The loopback may not be up yet, so the address need not exist."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
    opened.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
    opened.bind(("127.0.0.1", port))
    if kind == "tcp":
        opened.listen(_BACKLOG)
    return opened
