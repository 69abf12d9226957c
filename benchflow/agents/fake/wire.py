"""The fake agent's end of the two pipes: lines of JSON, read without ever blocking on anything but `select`."""

import json
import os
import select
from collections import deque
from typing import Any


class Wire:
    """Reads messages from stdin, and writes whatever it is told to stdout."""

    def __init__(self) -> None:
        self.ended = False
        """stdin is at its end."""
        self._buffer = b""
        self._inbox: deque[Any] = deque()

    def send(self, message: Any) -> None:
        """Write one value as a line."""
        self.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Write bytes as they are, all of them."""
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def poll(self, timeout_s: float | None, *fds: int) -> set[int]:
        """Wait for a message, or for one of the descriptors to be readable; None: as long as it takes."""
        if self._inbox:
            timeout_s = 0.0
        watched = [*fds] if self.ended else [0, *fds]
        ready = set(select.select(watched, [], [], timeout_s)[0])
        if 0 in ready:
            self._read()
        return ready

    def message(self) -> Any:
        """Return the next message that was read; None if there is none."""
        return self._inbox.popleft() if self._inbox else None

    def _read(self) -> None:
        block = os.read(0, 1 << 20)
        self.ended = not block
        *lines, self._buffer = (self._buffer + block).split(b"\n")
        for line in lines:
            if line.strip():
                self._inbox.append(json.loads(line))
