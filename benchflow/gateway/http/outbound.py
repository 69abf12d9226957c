"""One connection to a server: a request leaves on it, and the response's body arrives. Knows nothing of models."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol, Self

from benchflow.gateway.http.endpoint import Endpoint, TooLong
from benchflow.gateway.http.framing import BadFraming, Framing
from benchflow.gateway.http.http11 import HEAD_LIMIT, BadResponse, ResponseHead, parse_response_head
from benchflow.gateway.message import UpstreamCut

IDLE_S = 15.0
"""How long a connection is kept for another request: shorter than servers keep theirs."""
JOINED = 64 * 1024
"""Bytes of a body up to which it is sent together with its head."""


class InPieces(Protocol):
    """A body that is read from where it lies while it is sent."""

    @property
    def size(self) -> int: ...

    def pieces(self) -> Iterator[bytes]: ...


class Origin(NamedTuple):
    """Where a connection leads to."""

    scheme: str
    host: str
    port: int


class HungUp(Exception):
    """The server closed the connection before it answered."""


class Connection(Endpoint):
    """One connection, with one request at a time on it."""

    def __init__(self, origin: Origin) -> None:
        super().__init__()
        self.origin = origin
        self.idle_since = 0.0
        self.clean = True
        """Every request on it has left whole."""

    @property
    def usable(self) -> bool:
        """Whether it has not been idle for too long, and the server has neither closed it nor spoken unasked."""
        return time.monotonic() - self.idle_since < IDLE_S and not self.ended and not self.waiting

    def send(self, head: bytes, body: bytes) -> None:
        """Send a request."""
        self.write(head + body if len(body) < JOINED else head)
        if len(body) >= JOINED:
            self.write(body)

    async def send_long(self, head: bytes, body: InPieces, silence_s: float) -> None:
        """Send a request as fast as the server takes it. A server that answers meanwhile wants no more of it."""
        self.write(head)
        for piece in body.pieces():
            if self.waiting or self.ended:
                self.clean = False
                return
            self.write(piece)
            await self.room(silence_s)

    async def head(self, silence_s: float) -> ResponseHead:
        """Wait for the head of the response, interim ones left aside. Raises HungUp."""
        while True:
            block = await self.receive_until(b"\r\n\r\n", HEAD_LIMIT, silence_s)
            if not block.endswith(b"\r\n\r\n"):
                raise HungUp
            head = parse_response_head(block)
            if head.status >= 200:
                return head


class Arriving:
    """The body of a response, as it arrives: what came in one read is one piece."""

    def __init__(
        self,
        connection: Connection,
        framing: Framing,
        silence_s: float,
        *,
        keep_alive: bool,
        keep: Callable[[Connection], None],
    ) -> None:
        self._connection = connection
        self._framing = framing
        self._silence_s = silence_s
        self._keep_alive = keep_alive
        self._keep = keep
        self._broken: str | None = None
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        framing = self._framing
        if self._broken:
            raise UpstreamCut(self._broken)
        while not framing.done:
            try:
                data = await self._connection.receive(self._silence_s)
                piece = framing.feed(data) if data else b""
            except (OSError, BadFraming) as exc:
                return self._cut(reason(exc, self._connection.origin.host))
            if piece:
                return piece
            if not data and framing.ends_with_connection:
                break
            if not data:
                return self._cut("the connection was closed before the response was complete")
        raise StopAsyncIteration

    def _cut(self, why: str) -> bytes:
        """Give what came of a chunk that will never be whole. Raises UpstreamCut where there is nothing."""
        self._broken = why
        rest = self._framing.rest()
        if not rest:
            raise UpstreamCut(why)
        return rest

    async def aclose(self) -> None:
        """Let go of the connection: for others where the response came to its end, for good where it did not."""
        if self._over:
            return
        self._over = True
        if self._framing.done and not self._framing.surplus and self._keep_alive:
            self._keep(self._connection)
        else:
            self._connection.abort()


@contextmanager
def told(server: str) -> Iterator[None]:
    """Turn what breaks on a connection into UpstreamCut, in words."""
    try:
        yield
    except (OSError, HungUp, TooLong, BadResponse, BadFraming) as exc:
        raise UpstreamCut(reason(exc, server)) from exc


def reason(error: Exception, server: str) -> str:
    """Say in words what broke."""
    match error:
        case TimeoutError():
            return f"{server} was silent for too long"
        case HungUp():
            return f"{server} closed the connection before it answered"
        case TooLong():
            return f"{server} sent a head that is too large"
        case OSError():
            return f"the connection to {server} broke: {words(error)}"
        case BadFraming():
            return f"{server} did not answer in HTTP/1.1: a chunk of the response is malformed: {error}"
    return f"{server} did not answer in HTTP/1.1: {error}"


def words(error: OSError) -> str:
    """Say what went wrong; asyncio puts words of its own in the place of the system's."""
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return error.strerror or str(error)
