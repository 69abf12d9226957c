"""Serves any upstream over HTTP/1.1 on sockets that already listen. Starts in a millisecond, without an HTTP library.

Each chunk is written as it arrives. A client that reads slowly slows the upstream; one that leaves cancels it.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from http import HTTPStatus

from benchflow.gateway.dialect import Dialect
from benchflow.gateway.dialects import DIALECTS
from benchflow.gateway.http11 import (
    CONTINUE,
    HEAD_LIMIT,
    LAST_CHUNK,
    BadRequest,
    Head,
    chunk_size,
    has_body,
    parse_head,
    write_chunk,
    write_head,
)
from benchflow.gateway.message import Headers, RawRequest, RawResponse, UpstreamCut, find_header
from benchflow.gateway.reading import understand
from benchflow.gateway.upstream import TrialContext, Upstream

BACKLOG = 1024


class HttpServer:
    """One HTTP server of one upstream. Whoever starts it closes it; it takes its sockets over."""

    def __init__(self, upstream: Upstream, context: TrialContext, dialects: Mapping[str, Dialect]) -> None:
        self.upstream = upstream
        self.context = context
        self.dialects = dialects
        self.closing = False
        self._servers: list[asyncio.Server] = []
        self._connections: set[_Connection] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._answering = 0
        self._bug: BaseException | None = None

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Begin to accept connections."""
        loop = asyncio.get_running_loop()
        for sock in sockets:
            self._servers.append(await loop.create_server(lambda: _Connection(self), sock=sock, backlog=BACKLOG))

    async def aclose(self, grace_s: float = 0.0) -> None:
        """Stop accepting, give the answers under way `grace_s`, end the connections.

        May be called again. Raises, once, what broke in answering, if anything did: a bug of ours must not be taken for
        an agent's failure.
        """
        self.closing = True
        for server in self._servers:
            server.close()
        if self._answering and grace_s > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._quiet.wait(), grace_s)
        tasks = [connection.abort() for connection in self._connections]
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        bug, self._bug = self._bug, None
        if bug:
            raise bug

    def joined(self, connection: "_Connection") -> None:
        self._connections.add(connection)

    def left(self, connection: "_Connection", bug: BaseException | None) -> None:
        self._connections.discard(connection)
        self._bug = self._bug or bug

    async def answer(self, request: RawRequest) -> RawResponse:
        """Ask the upstream."""
        return await self.upstream.send(request, understand(request, self.context, self.dialects))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a request as under way while the block runs."""
        self._answering += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                self._quiet.set()


@asynccontextmanager
async def serve(
    upstream: Upstream,
    sockets: Sequence[socket.socket],
    *,
    context: TrialContext | None = None,
    dialects: Mapping[str, Dialect] | None = None,
) -> AsyncIterator[HttpServer]:
    """Serve `upstream` on `sockets`, which already listen, while the block runs."""
    server = HttpServer(
        upstream,
        context or TrialContext(trial="", attempt=1, model=""),
        DIALECTS if dialects is None else dialects,
    )
    await server.start(sockets)
    try:
        yield server
    finally:
        await server.aclose()


class _Connection(asyncio.Protocol):
    """One client's connection: its requests are answered one after another by one task, which dies with it."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._reader = asyncio.StreamReader(HEAD_LIMIT)
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport
        self._task: asyncio.Task[None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        _send_at_once(transport.get_extra_info("socket"))
        self._reader.set_transport(transport)
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._server.joined(self)

    def data_received(self, data: bytes) -> None:
        self._reader.feed_data(data)

    def eof_received(self) -> None:
        self._reader.feed_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def abort(self) -> "asyncio.Task[None]":
        """End the connection at once; the task ends soon after."""
        self._transport.abort()
        self._task.cancel()
        return self._task

    async def _run(self) -> None:
        bug = None
        try:
            while await self._exchange():
                pass
            self._transport.close()
        except asyncio.CancelledError:
            self._transport.abort()
        except Exception as exc:  # noqa: BLE001 - raised when the server closes: a bug must not pass as an agent's failure
            bug = exc
            self._transport.abort()
        finally:
            self._server.left(self, bug)

    async def _exchange(self) -> bool:
        """Answer one request. Return whether another may follow."""
        try:
            head = await self._read_head()
            if head is None:
                return False
            body = await self._read_body(head)
        except BadRequest as exc:
            self._refuse(exc)
            return False
        except asyncio.IncompleteReadError:
            return False
        request = RawRequest(method=head.method, path=head.path, query=head.query, headers=head.headers, body=body)
        with self._server.answering():
            try:
                response = await self._server.answer(request)
                async with aclosing(response.chunks):
                    return await self._write(head, response)
            except UpstreamCut:
                self._transport.abort()
                return False

    async def _read_head(self) -> Head | None:
        try:
            return parse_head(await self._reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError as exc:
            raise BadRequest(431, "the head of the request is too large") from exc
        except asyncio.IncompleteReadError:
            return None

    async def _read_body(self, head: Head) -> bytes:
        length = head.length
        if length != 0 and head.expects_continue:
            self._transport.write(CONTINUE)
        if length is not None:
            return await self._reader.readexactly(length) if length else b""
        try:
            return await self._read_chunks()
        except (ValueError, asyncio.LimitOverrunError) as exc:
            raise BadRequest(400, "a chunk of the request's body is malformed") from exc

    async def _read_chunks(self) -> bytes:
        chunks = []
        while size := chunk_size(await self._reader.readuntil(b"\r\n")):
            chunks.append(await self._reader.readexactly(size))
            if await self._reader.readexactly(2) != b"\r\n":
                raise ValueError("a chunk is longer than it says")
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass  # trailers concern the connection alone
        return b"".join(chunks)

    async def _write(self, head: Head, response: RawResponse) -> bool:
        """Write the response. Return whether the connection can be used again."""
        keep_alive = head.keep_alive and not self._server.closing
        length = find_header(response.headers, "content-length")
        chunked = False
        if has_body(head.method, response.status) and length is None:
            chunked = head.minor == 1
            keep_alive = keep_alive and chunked
        extra: Headers = (("Transfer-Encoding", "chunked"),) if chunked else ()
        if not keep_alive:
            extra += (("Connection", "close"),)
        self._transport.write(write_head(response.status, response.reason, response.headers, extra))
        if has_body(head.method, response.status):
            await self._write_body(response, chunked=chunked, length=None if length is None else int(length))
        else:
            async for _ in response.chunks:
                pass  # its end must be seen all the same
        return keep_alive

    async def _write_body(self, response: RawResponse, *, chunked: bool, length: int | None) -> None:
        written = 0
        async for chunk in response.chunks:
            if not chunk:
                continue
            written += len(chunk)
            self._transport.write(write_chunk(chunk) if chunked else chunk)
            if not self._writable.is_set():
                await self._writable.wait()
        if length is not None and written != length:
            raise UpstreamCut(f"the body has {written} bytes, but {length} were announced")
        if chunked:
            self._transport.write(LAST_CHUNK)

    def _refuse(self, error: BadRequest) -> None:
        text = f"{error}\n".encode()
        headers = (("Content-Type", "text/plain"), ("Content-Length", str(len(text))))
        reason = HTTPStatus(error.status).phrase
        self._transport.write(write_head(error.status, reason, headers, (("Connection", "close"),)) + text)


def _send_at_once(sock: socket.socket) -> None:
    """Let no small write wait for an acknowledgement. asyncio does it for the listening sockets that it made itself."""
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
