"""What BenchFlow and its helper say to each other. The one module that both sides import: standard library only.

Channel (one per helper), to the helper: one byte with one descriptor, a new supervisor's end of its control socket.
Control (one per supervisor), to the supervisor: a launch, which is the length of a plan and the plan as JSON, with
stdin, stdout and stderr attached; `TERMINATE`; `KILL`. From the supervisor: one JSON object a line, the one that says
`started` with the served sockets attached. The end of file, either way, means that the other side is dead.
"""

from __future__ import annotations

import json
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, NotRequired, TypedDict

    class Namespaces(TypedDict):
        """How bubblewrap is to be called."""

        program: str
        options: list[str | dict[str, str]]
        """A `{"text": …}` stands for the number of a descriptor that this text can be read from."""
        sockets: list[tuple[str, int]]
        """`tcp` or `udp`, and the port, to open on the loopback inside."""

    class Plan(TypedDict):
        """One launch."""

        argv: list[str]
        env: dict[str, str]
        cwd: str
        limits: list[tuple[str, int]]
        """Names of `resource.RLIMIT_…` without the prefix."""
        namespaces: Namespaces | None
        """None: the process shares the host's."""

    class Report(TypedDict):
        """One line from the supervisor."""

        event: Literal["started", "failed", "exited", "alive", "empty", "lost"]
        """`lost` comes from the helper: a supervisor was killed, and now its tree is dead."""
        pid: NotRequired[int]
        status: NotRequired[int]
        stage: NotRequired[Literal["exec", "cwd", "namespace", "inside"]]
        """`inside`: bubblewrap could not execute the program and has said why on its stderr."""
        path: NotRequired[str | None]
        text: NotRequired[str]
        alive: NotRequired[list[str]]
        again: NotRequired[bool]
        """With `empty`: the supervisor can take another launch."""


FORK = b"F"
TERMINATE = b"T"
KILL = b"K"

_LAUNCH = struct.Struct("!cI")
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_MOST_FDS = 32


class Launch:
    """A plan as it arrived."""

    def __init__(self, plan: Plan, stdio: list[int]) -> None:
        self.plan = plan
        self.stdio = stdio


class Inbox:
    """The supervisor's reading end of a control socket."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._data = b""
        self._fds: list[int] = []

    def read(self) -> list[bytes | Launch] | None:
        """Wait for bytes and return the messages that they complete; None at the end."""
        try:
            data, fds = receive(self._control, 1 << 18)
        except ConnectionResetError:  # the other side died with reports unread
            return None
        if not data:
            return None
        self._data += data
        self._fds += fds
        messages: list[bytes | Launch] = []
        while self._data:
            if self._data[:1] in (TERMINATE, KILL):
                size, message = 1, self._data[:1]
            else:
                size = _LAUNCH.size + (_LAUNCH.unpack_from(self._data)[1] if len(self._data) >= _LAUNCH.size else 0)
                if len(self._data) < size or size == _LAUNCH.size:
                    break
                message = Launch(json.loads(self._data[_LAUNCH.size : size]), self._fds)
                self._fds = []
            messages.append(message)
            self._data = self._data[size:]
        return messages


def pack(plan: Plan) -> bytes:
    """Return the bytes that carry a plan."""
    body = json.dumps(plan).encode()
    return _LAUNCH.pack(b"L", len(body)) + body


def report(control: socket.socket, fds: Sequence[int] = (), **fields: Any) -> None:
    """Send one line. A reader that is gone is no error: the end of its socket says it."""
    line = json.dumps(fields).encode() + b"\n"
    try:
        if fds:
            socket.send_fds(control, [line], list(fds))
        else:
            control.sendall(line)
    except OSError:
        return


def receive(source: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Read what is there, with descriptors that no child inherits."""
    data, fds, _, _ = socket.recv_fds(source, size, _MOST_FDS, _CLOSE_ON_EXEC)
    for fd in fds:
        os.set_inheritable(fd, False)
    return data, fds
