"""Sockets on the host's loopback, for processes that share it."""

import contextlib
import socket
from typing import Literal

from benchflow.errors import TrialError
from benchflow.sandbox.interface import LaunchSpec, SocketSpec

ADDRESS = "127.0.0.1"
BACKLOG = 512


def reserve(kind: Literal["tcp", "udp"], port: int) -> SocketSpec:
    """Open a socket at `port`, or, where that is 0 or taken, at a free one. Raises TrialError(`sandbox`)."""
    try:
        bound = _open(kind, port)
    except OSError as error:
        raise TrialError("sandbox", f"cannot open a socket on the loopback: {error.strerror}") from error
    return SocketSpec(kind=kind, port=bound.getsockname()[1], bound=bound)


def _open(kind: Literal["tcp", "udp"], port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
    if kind == "tcp":
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with contextlib.suppress(OSError):  # taken, or not ours to take
        made.bind((ADDRESS, port))
    if made.getsockname()[1] == 0:
        made.bind((ADDRESS, 0))
    if kind == "tcp":
        made.listen(BACKLOG)
    made.setblocking(False)
    return made


def close_reserved(spec: LaunchSpec) -> None:
    """Close the reserved sockets of a process that could not be started."""
    for each in spec.sockets:
        if each.bound:
            each.bound.close()


def opened(spec: LaunchSpec) -> tuple[socket.socket, ...]:
    """Return the sockets of a process that shares the host's loopback, where they must be open before it starts."""
    sockets = tuple(each.bound for each in spec.sockets if each.bound)
    if len(sockets) != len(spec.sockets):
        raise ValueError(
            "a process on the host's loopback needs sockets that are open: make them with `Sandbox.socket`"
        )
    return sockets
