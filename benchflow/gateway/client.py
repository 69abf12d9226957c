"""Sends requests over kept HTTP/1.1 connections, byte for byte, without an HTTP library. Knows nothing of models."""

import asyncio
import os
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Self
from urllib.parse import SplitResult, unquote, urlsplit

from benchflow.gateway.http11 import (
    HEAD_LIMIT,
    BadResponse,
    Framing,
    ResponseHead,
    framing_of,
    parse_response_head,
    write_request_head,
)
from benchflow.gateway.message import Headers, UpstreamCut

IDLE_S = 15.0
"""How long a connection is kept for another request: shorter than servers keep theirs."""
READ = 256 * 1024
"""Bytes that are read at once, at most."""
HAPPY_EYEBALLS_S = 0.25
"""Head start of an address of a host before the next one is tried too (RFC 8305)."""


class Origin(NamedTuple):
    """Where a connection leads to."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait, in seconds."""

    connect_s: float = 30.0
    silence_s: float = 900.0
    """For the next bytes of an answer."""


PATIENCE = Patience()


class HttpClient:
    """Keeps connections to the servers that it was sent to. Whoever makes it closes it."""

    def __init__(self, *, proxy: str | None = None, patience: Patience = PATIENCE) -> None:
        self._proxy = urlsplit(proxy) if proxy else None
        self._patience = patience
        self._idle: dict[Origin, list[_Connection]] = {}
        self._opening: set[asyncio.Task[_Connection]] = set()
        self._tls: ssl.SSLContext | None = None

    async def send(
        self, method: str, url: str, headers: Headers, body: bytes, on_sent: Callable[[], None]
    ) -> tuple[ResponseHead, "Arriving"]:
        """Send a request; return when the head of its response is there. Raises UpstreamCut.

        `on_sent` is called once the request has left. Host and the body's length are added to the headers.
        """
        place = urlsplit(url)
        origin = _origin(place)
        with _told(f"{place.hostname}:{origin.port}"):
            connection = self._take(origin) or await self._connect(origin)
            try:
                connection.write(_write(method, self._target(place), place, headers, body), body)
                on_sent()
                head = await connection.head(self._patience.silence_s)
                framing = framing_of(method, head)
            except BaseException:
                connection.close()
                raise
        return head, Arriving(self, connection, head, framing, self._patience.silence_s)

    @property
    def kept(self) -> int:
        """How many connections wait for another request."""
        return sum(len(idle) for idle in self._idle.values())

    def keep(self, connection: "_Connection") -> None:
        """Take back a connection whose response has come to its end."""
        connection.idle_since = time.monotonic()
        self._idle.setdefault(connection.origin, []).append(connection)

    def _take(self, origin: Origin) -> "_Connection | None":
        """Find a kept connection that is still good."""
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            if connection.usable:
                return connection
            connection.close()
        return None

    async def _connect(self, origin: Origin) -> "_Connection":
        opening = asyncio.create_task(self._open(origin))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
        try:
            async with asyncio.timeout(self._patience.connect_s):
                return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(self._keep_opened)  # who asked for it has gone; the next one will want it
            raise
        except TimeoutError as exc:
            opening.cancel()
            raise UpstreamCut(
                f"no connection to {origin.host}:{origin.port} in {self._patience.connect_s:g} s"
            ) from exc
        except OSError as exc:
            raise UpstreamCut(f"cannot connect to {origin.host}:{origin.port}: {_words(exc)}") from exc

    def _keep_opened(self, opening: "asyncio.Task[_Connection]") -> None:
        if not opening.cancelled() and not opening.exception():
            self.keep(opening.result())

    async def _open(self, origin: Origin) -> "_Connection":
        first = _origin(self._proxy) if self._proxy else origin
        tls = self._context() if first.scheme == "https" else None
        reader, writer = await asyncio.open_connection(
            first.host, first.port, ssl=tls, limit=HEAD_LIMIT, happy_eyeballs_delay=HAPPY_EYEBALLS_S
        )
        connection = _Connection(origin, reader, writer)
        if self._proxy and origin.scheme == "https":
            try:
                await self._tunnel(connection, self._proxy)
            except BaseException:
                connection.close()
                raise
        return connection

    async def _tunnel(self, connection: "_Connection", proxy: SplitResult) -> None:
        """Have the proxy connect to the server, and speak TLS through it."""
        origin = connection.origin
        target = f"{origin.host}:{origin.port}"
        connection.write(write_request_head("CONNECT", target, (("Host", target), *_proxy_credentials(proxy))), b"")
        head = await connection.head(self._patience.connect_s)
        if head.status != 200:
            raise UpstreamCut(f"the proxy {proxy.hostname} refuses to connect: {head.status} {head.reason}")
        await connection.writer.start_tls(self._context(), server_hostname=origin.host)

    def _target(self, place: SplitResult) -> str:
        path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        return f"http://{place.netloc}{path}" if self._proxy and place.scheme == "http" else path

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    async def aclose(self) -> None:
        """Close the kept connections."""
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()
        for opening in self._opening:
            opening.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        await asyncio.sleep(0)  # asyncio closes the sockets of aborted connections in its next round


class _Connection:
    """One connection, with one request at a time on it."""

    def __init__(self, origin: Origin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.origin = origin
        self.reader = reader
        self.writer = writer
        self.idle_since = 0.0

    @property
    def usable(self) -> bool:
        """Whether it has not been idle for too long, and the server has neither closed it nor spoken unasked."""
        fresh = time.monotonic() - self.idle_since < IDLE_S
        return fresh and not self.reader.at_eof() and not self.writer.is_closing()

    def write(self, head: bytes, body: bytes) -> None:
        self.writer.write(head + body if len(body) < READ else head)
        if len(body) >= READ:
            self.writer.write(body)

    async def head(self, silence_s: float) -> ResponseHead:
        """Wait for the head of the response, interim ones left aside."""
        while True:
            async with asyncio.timeout(silence_s):
                head = parse_response_head(await self.reader.readuntil(b"\r\n\r\n"))
            if head.status >= 200:
                return head

    def close(self) -> None:
        """End it at once."""
        self.writer.transport.abort()


class Arriving:
    """The body of a response, as it arrives."""

    def __init__(
        self, client: HttpClient, connection: _Connection, head: ResponseHead, framing: Framing, silence_s: float
    ) -> None:
        self._client = client
        self._connection = connection
        self._head = head
        self._framing = framing
        self._silence_s = silence_s
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        framing = self._framing
        while not framing.done:
            with _told(self._connection.origin.host):
                async with asyncio.timeout(self._silence_s):
                    data = await self._connection.reader.read(READ)
                if not data:
                    self._at_end()
                    break
                body = framing.feed(data)
            if body:
                return body
        raise StopAsyncIteration

    def _at_end(self) -> None:
        if not self._framing.ends_with_connection:
            raise UpstreamCut("the connection was closed before the response was complete")

    async def aclose(self) -> None:
        """Let go of the connection: for others where the response came to its end, for good where it did not."""
        if self._over:
            return
        self._over = True
        if self._framing.done and not self._framing.surplus and self._head.keep_alive:
            self._client.keep(self._connection)
        else:
            self._connection.close()


@contextmanager
def _told(server: str) -> Iterator[None]:
    """Turn what breaks on a connection into UpstreamCut, in words."""
    try:
        yield
    except TimeoutError as exc:
        raise UpstreamCut(f"{server} was silent for too long") from exc
    except asyncio.IncompleteReadError as exc:
        raise UpstreamCut(f"{server} closed the connection before it answered") from exc
    except asyncio.LimitOverrunError as exc:
        raise UpstreamCut(f"{server} sent a head that is too large") from exc
    except BadResponse as exc:
        raise UpstreamCut(f"{server} did not answer in HTTP/1.1: {exc}") from exc
    except OSError as exc:
        raise UpstreamCut(f"the connection to {server} broke: {_words(exc)}") from exc


def _words(error: OSError) -> str:
    """Say what went wrong; asyncio puts words of its own in the place of the system's."""
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return error.strerror or str(error)


def _origin(place: SplitResult) -> Origin:
    return Origin(place.scheme, place.hostname or "", place.port or (443 if place.scheme == "https" else 80))


def _write(method: str, target: str, place: SplitResult, headers: Headers, body: bytes) -> bytes:
    host = place.netloc.rpartition("@")[2]
    length = (("Content-Length", str(len(body))),) if body or method not in ("GET", "HEAD") else ()
    return write_request_head(method, target, (("Host", host), *headers, *length))


def _proxy_credentials(proxy: SplitResult) -> Headers:
    if proxy.username is None:
        return ()
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return (("Proxy-Authorization", f"Basic {b64encode(pair).decode()}"),)
