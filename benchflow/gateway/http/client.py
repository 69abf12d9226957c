"""Sends requests over kept HTTP/1.1 connections, byte for byte, without an HTTP library. Knows nothing of models."""

import asyncio
import ssl
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from benchflow.gateway.http.http11 import ResponseHead, framing_of, write_request_head
from benchflow.gateway.http.outbound import Arriving, Connection, InPieces, Origin, told, words
from benchflow.gateway.message import Headers, UpstreamCut

HAPPY_EYEBALLS_S = 0.25
"""Head start of an address of a host before the next one is tried too (RFC 8305)."""


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
        self._idle: dict[Origin, list[Connection]] = {}
        self._opening: set[asyncio.Task[Connection]] = set()
        self._tls: ssl.SSLContext | None = None

    async def send(
        self, method: str, url: str, headers: Headers, body: bytes | InPieces, on_sent: Callable[[], None]
    ) -> tuple[ResponseHead, Arriving]:
        """Send a request; return when the head of its response is there. Raises UpstreamCut.

        `on_sent` is called once the request has left, or begins to. Host and the body's length are added to its
        headers.
        """
        place = urlsplit(url)
        origin = _origin(place)
        size = len(body) if isinstance(body, bytes) else body.size
        top = _head(method, self._target(place), place, headers, size)
        silence_s = self._patience.silence_s
        with told(f"{place.hostname}:{origin.port}"):
            connection = self._take(origin) or await self._connect(origin)
            try:
                if isinstance(body, bytes):
                    connection.send(top, body)
                    on_sent()
                else:
                    on_sent()
                    await connection.send_long(top, body, silence_s)
                head = await connection.head(silence_s)
                framing = framing_of(method, head)
            except BaseException:
                connection.abort()
                raise
        keep_alive = head.keep_alive and connection.clean
        return head, Arriving(connection, framing, silence_s, keep_alive=keep_alive, keep=self._keep)

    @property
    def kept(self) -> int:
        """How many connections wait for another request."""
        return sum(len(idle) for idle in self._idle.values())

    def _keep(self, connection: Connection) -> None:
        """Take back a connection whose response has come to its end."""
        connection.idle_since = time.monotonic()
        self._idle.setdefault(connection.origin, []).append(connection)

    def _take(self, origin: Origin) -> Connection | None:
        """Find a kept connection that is still good."""
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            if connection.usable:
                return connection
            connection.abort()
        return None

    async def _connect(self, origin: Origin) -> Connection:
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
            raise UpstreamCut(f"cannot connect to {origin.host}:{origin.port}: {words(exc)}") from exc

    def _keep_opened(self, opening: "asyncio.Task[Connection]") -> None:
        if not opening.cancelled() and not opening.exception():
            self._keep(opening.result())

    async def _open(self, origin: Origin) -> Connection:
        first = _origin(self._proxy) if self._proxy else origin
        tls = self._context() if first.scheme == "https" else None
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(origin), first.host, first.port, ssl=tls, happy_eyeballs_delay=HAPPY_EYEBALLS_S
        )
        if self._proxy and origin.scheme == "https":
            try:
                await self._tunnel(connection, self._proxy)
            except BaseException:
                connection.abort()
                raise
        return connection

    async def _tunnel(self, connection: Connection, proxy: SplitResult) -> None:
        """Have the proxy connect to the server, and speak TLS through it."""
        origin = connection.origin
        target = f"{origin.host}:{origin.port}"
        connection.write(write_request_head("CONNECT", target, (("Host", target), *_proxy_credentials(proxy))))
        head = await connection.head(self._patience.connect_s)
        if head.status != 200:
            raise UpstreamCut(f"the proxy {proxy.hostname} refuses to connect: {head.status} {head.reason}")
        transport = await asyncio.get_running_loop().start_tls(
            connection.transport, connection, self._context(), server_hostname=origin.host
        )
        assert transport
        connection.transport = transport

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
                connection.abort()
        self._idle.clear()
        for opening in self._opening:
            opening.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        await asyncio.sleep(0)  # asyncio closes the sockets of aborted connections in its next round


def _origin(place: SplitResult) -> Origin:
    return Origin(place.scheme, place.hostname or "", place.port or (443 if place.scheme == "https" else 80))


def _head(method: str, target: str, place: SplitResult, headers: Headers, size: int) -> bytes:
    host = place.netloc.rpartition("@")[2]
    length = (("Content-Length", str(size)),) if size or method not in ("GET", "HEAD") else ()
    return write_request_head(method, target, (("Host", host), *headers, *length))


def _proxy_credentials(proxy: SplitResult) -> Headers:
    if proxy.username is None:
        return ()
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return (("Proxy-Authorization", f"Basic {b64encode(pair).decode()}"),)
