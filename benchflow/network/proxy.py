"""A forward proxy that passes the named hosts alone: CONNECT, and plain HTTP. What it passes it does not look into.

An agent that leaves, or a server that does, ends a connection; nothing that either does ends the proxy.
"""

import asyncio
import socket
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus

from benchflow.gateway.http.framing import LAST_CHUNK, BadFraming, Chunked, Framing, Sized, write_chunk
from benchflow.gateway.http.http11 import BadRequest, write_head
from benchflow.network.asked import Asked, read_asked
from benchflow.network.dialing import Streams, dial
from benchflow.network.hosts import WEB_PORTS, Host, may_pass
from benchflow.network.tally import Tally

HEAD_S = 30.0
"""How long the head of a request may take."""
LINGER_S = 1.0
"""How long a client that was refused may go on sending, so that it comes to read why."""
LEAVE_S = 5.0
"""How long what was written last may take to leave."""
_HEAD_LIMIT = 64 * 1024
_BLOCK = 64 * 1024
_BROKEN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
"""What either side can do to a connection."""


class Proxy:
    """Serves one agent on one listening socket. Whoever starts it closes it; it takes its socket over."""

    def __init__(self, hosts: Sequence[Host], environ: Mapping[str, str]) -> None:
        """`environ` is the user's: a proxy that it names is gone through."""
        self.passed = Tally()
        """Requests by host; with its port, where that is not the web's."""
        self.refused = Tally()
        self._hosts = hosts
        self._environ = environ
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._closing = False
        self._bug: BaseException | None = None

    async def start(self, listening: socket.socket) -> None:
        """Begin to accept connections."""
        self._server = await asyncio.start_server(self._accept, sock=listening, limit=_HEAD_LIMIT)

    async def aclose(self) -> None:
        """End the server and all connections. May be called again. Raises, once, a bug of ours that broke one."""
        self._closing = True
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        bug, self._bug = self._bug, None
        if bug:
            raise bug

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._serving.discard(task)
        if not task.cancelled():
            self._bug = self._bug or task.exception()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_S):
                block = await reader.readuntil(b"\r\n\r\n")
            await self._answer(read_asked(block), (reader, writer))
        except BadRequest as exc:
            await _refuse((reader, writer), exc.status, str(exc))
        except _BROKEN:
            pass  # the agent has gone, or speaks no HTTP
        finally:
            await self._leave(writer)

    async def _answer(self, asked: Asked, agent: Streams) -> None:
        name = asked.host if asked.port in WEB_PORTS else f"{asked.host}:{asked.port}"
        if not may_pass(self._hosts, asked.host, asked.port):
            self.refused.count(name)
            await _refuse(agent, 403, f"{name} is none of the hosts that [backend] names in the agent's manifest")
            return
        self.passed.count(name)
        try:
            server = await dial(asked.host, asked.port, self._environ)
        except OSError as exc:
            status = 504 if isinstance(exc, TimeoutError) else 502
            await _refuse(agent, status, f"{name} cannot be reached: {exc or 'it does not answer'}")
            return
        try:
            if asked.tunnel:
                agent[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _both(_copy(agent[0], server[1]), _copy(server[0], agent[1]))
            else:
                server[1].write(asked.onward())
                await _both(_send_body(asked, agent[0], server[1]), _copy(server[0], agent[1]))
        finally:
            await self._leave(server[1])

    async def _leave(self, writer: asyncio.StreamWriter) -> None:
        """Close a connection, once what was written has left."""
        if self._closing:
            writer.transport.abort()
            return
        writer.close()
        try:
            async with asyncio.timeout(LEAVE_S):
                await writer.wait_closed()
        except _BROKEN:
            writer.transport.abort()


async def _both(there: Coroutine[None, None, None], back: Coroutine[None, None, None]) -> None:
    """Pass both ways until the way back has ended, or either breaks."""
    sending = asyncio.ensure_future(there)
    answering = asyncio.ensure_future(back)
    try:
        await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and sending.exception() is None:
            await asyncio.wait((answering,))
    finally:
        sending.cancel()
        answering.cancel()
        ends = await asyncio.gather(sending, answering, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass bytes on as they come, and then their end."""
    while data := await source.read(_BLOCK):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()


async def _send_body(asked: Asked, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass the body of one request on, and nothing that comes after it."""
    length = asked.head.length
    framing: Framing = Chunked() if length is None else Sized(length)
    while not framing.done:
        data = await source.read(_BLOCK)
        if not data:
            raise ConnectionError("the agent left in the middle of its request")
        try:
            body = framing.feed(data)
        except BadFraming as exc:
            raise ConnectionError("a chunk of the agent's request is malformed") from exc
        target.write(write_chunk(body) if length is None and body else body)
        await target.drain()
    if length is None:
        target.write(LAST_CHUNK)
        await target.drain()


async def _refuse(agent: Streams, status: int, message: str) -> None:
    """Answer with an error, and take what is still being sent: closing over it would drop the answer."""
    reader, writer = agent
    text = f"{message}\n".encode()
    headers = (("Content-Type", "text/plain"), ("Content-Length", str(len(text))), ("Connection", "close"))
    with suppress(*_BROKEN):
        writer.write(write_head(status, HTTPStatus(status).phrase, (), headers) + text)
        writer.write_eof()
        async with asyncio.timeout(LINGER_S):
            while await reader.read(_BLOCK):
                pass
