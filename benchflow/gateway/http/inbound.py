"""One connection of an agent: its requests are read and answered one after another. Knows nothing of models.

What is ready at the same time leaves in one write; what comes later is written as it comes. An agent that reads slowly
slows the upstream; one that leaves cancels it.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, aclosing, closing
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

from benchflow.gateway.http.endpoint import Endpoint, TooLong, before_a_wait
from benchflow.gateway.http.framing import LAST_CHUNK, BadFraming, Chunked, Framing, Piece, Sized, write_chunk
from benchflow.gateway.http.http11 import CONTINUE, HEAD_LIMIT, BadRequest, Head, has_body, parse_head, write_head
from benchflow.gateway.http.intake import Intake
from benchflow.gateway.message import Headers, RawRequest, RawResponse, UpstreamCut, find_header

JOINED = 64 * 1024
"""Bytes that are gathered for one write, at most."""


class Answerer(Protocol):
    """Whoever answers requests."""

    closing: bool
    """The connection should end after the request that is under way."""
    spool_folder: Path | None
    """Where bodies that are too long for memory go."""

    async def answer(self, request: RawRequest) -> RawResponse: ...

    def answering(self) -> AbstractContextManager[None]:
        """Count a request as under way while the block runs."""
        ...


class AgentConnection(Endpoint):
    """One agent's connection, served by one task, which dies with it."""

    def __init__(self, server: Answerer, on_left: Callable[["AgentConnection", BaseException | None], None]) -> None:
        super().__init__()
        self._server = server
        self._on_left = on_left
        self._out: list[bytes] = []
        self._gathered = 0
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._task = self._loop.create_task(self._run())
        if self._server.closing:  # it came as the server closed
            self.end()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._task:
            self._task.cancel()

    def end(self) -> "asyncio.Task[None] | None":
        """End the connection at once; the task ends soon after. None: it is not made yet, and will end when it is."""
        if self._task is None:
            return None
        self.abort()
        self._task.cancel()
        return self._task

    async def _run(self) -> None:
        bug = None
        try:
            while await self._exchange():
                pass
            self.transport.close()
        except asyncio.CancelledError:  # the agent has gone, or the server closes
            self.abort()
        except Exception as exc:  # noqa: BLE001 - raised when the server closes: a bug must not pass as an agent's failure
            bug = exc
            self.abort()
        finally:
            self._on_left(self, bug)

    async def _exchange(self) -> bool:
        """Answer one request. Return whether another may follow."""
        try:
            head = await self._read_head()
            if head is None:
                return False
            with closing(Intake(head.headers, self._server.spool_folder)) as intake:
                return await self._read_body(head, intake) and await self._answer(head, intake)
        except BadRequest as exc:
            self._refuse(exc)
            return False

    async def _answer(self, head: Head, intake: Intake) -> bool:
        """Answer a request that is there whole. Return whether another may follow."""
        body, long = intake.body()
        request = RawRequest(
            method=head.method, path=head.path, query=head.query, headers=head.headers, body=body, long=long
        )
        with self._server.answering():
            try:
                response = await self._server.answer(request)
                async with aclosing(response.chunks):
                    return await self._write(head, response)
            except UpstreamCut:
                self._flush()
                self.abort()
                return False

    async def _read_head(self) -> Head | None:
        """Read the head of the next request; None: there is none."""
        try:
            block = await self.receive_until(b"\r\n\r\n", HEAD_LIMIT)
        except TooLong as exc:
            raise BadRequest(431, "the head of the request is too large") from exc
        return parse_head(block) if block.endswith(b"\r\n\r\n") else None

    async def _read_body(self, head: Head, intake: Intake) -> bool:
        """Read the body. Return whether it came whole."""
        length = head.length
        framing: Framing = Chunked() if length is None else Sized(length)
        if length != 0 and head.expects_continue:
            self.write(CONTINUE)
        while not framing.done:
            data = await self.receive()
            if not data:
                return False
            try:
                intake.take(framing.feed(data))
            except BadFraming as exc:
                raise BadRequest(400, "a chunk of the request's body is malformed") from exc
        if framing.surplus:
            self.put_back(framing.surplus)
        return True

    async def _write(self, head: Head, response: RawResponse) -> bool:
        """Write the response. Return whether the connection can be used again."""
        bodied = has_body(head.method, response.status)
        length = find_header(response.headers, "content-length")
        chunked = bodied and length is None and head.minor == 1
        keep_alive = head.keep_alive and not self._server.closing and (chunked or not bodied or length is not None)
        extra: Headers = (("Transfer-Encoding", "chunked"),) if chunked else ()
        if not keep_alive:
            extra += (("Connection", "close"),)
        self._gather(write_head(response.status, response.reason, response.headers, extra))
        if bodied:
            await self._write_body(response, chunked=chunked, length=None if length is None else int(length))
        else:
            async for _ in response.chunks:
                pass  # its end must be seen all the same
        self._flush()
        return keep_alive

    async def _write_body(self, response: RawResponse, *, chunked: bool, length: int | None) -> None:
        written = 0
        body = response.chunks
        while True:
            try:
                piece = await before_a_wait(self._flush, body.__anext__())
            except StopAsyncIteration:
                break
            if not piece:
                continue
            written += len(piece)
            if chunked:
                self._gather(piece.framed if isinstance(piece, Piece) else write_chunk(piece))
            else:
                self._gather(piece)
            if self._gathered >= JOINED:
                self._flush()
            if self.full:
                await self.room()
        if length is not None and written != length:
            raise UpstreamCut(f"the body has {written} bytes, but {length} were announced")
        if chunked:
            self._gather(LAST_CHUNK)

    def _gather(self, data: bytes) -> None:
        self._out.append(data)
        self._gathered += len(data)

    def _flush(self) -> None:
        if self._out:
            self.write(self._out[0] if len(self._out) == 1 else b"".join(self._out))
            self._out.clear()
            self._gathered = 0

    def _refuse(self, error: BadRequest) -> None:
        text = f"{error}\n".encode()
        headers = (("Content-Type", "text/plain"), ("Content-Length", str(len(text))))
        reason = HTTPStatus(error.status).phrase
        self.write(write_head(error.status, reason, headers, (("Connection", "close"),)) + text)
