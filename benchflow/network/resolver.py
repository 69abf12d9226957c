"""A resolver that knows no name, and remembers which ones were asked for. One socket, no task, no thread."""

import asyncio
import socket

from benchflow.network.dns import refuse
from benchflow.network.tally import Tally

PORT = 53
_LONGEST = 4096
_AT_ONCE = 64
"""Queries that are answered before anything else gets its turn."""


class Resolver:
    """Answers whatever comes to one UDP socket. Whoever opens it closes it; it takes its socket over."""

    def __init__(self) -> None:
        self.looked_up = Tally()
        """Queries by name; most programs make two for each look-up, one for either kind of address."""
        self._socket: socket.socket | None = None

    def open(self, bound: socket.socket) -> None:
        """Begin to answer."""
        self._socket = bound
        bound.setblocking(False)
        asyncio.get_running_loop().add_reader(bound.fileno(), self._answer)

    def close(self) -> None:
        """Answer what has come, and end. May be called again."""
        if self._socket is not None:
            self._answer()
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def _answer(self) -> None:
        assert self._socket is not None
        for _ in range(_AT_ONCE):
            try:
                query, asker = self._socket.recvfrom(_LONGEST)
            except OSError:  # there is no more, or an asker of before has gone
                return
            answer = refuse(query)
            if answer is None:
                continue
            if answer.name is not None:
                self.looked_up.count(answer.name)
            try:
                self._socket.sendto(answer.packet, asker)
            except OSError:  # the asker does not listen, or is slow: it may ask again
                continue
