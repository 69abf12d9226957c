"""Serves any upstream over HTTP/1.1 on sockets that already listen, in a millisecond, without an HTTP library."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from benchflow.gateway.dialects.dialect import Dialect
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.http.inbound import AgentConnection
from benchflow.gateway.message import RawRequest, RawResponse
from benchflow.gateway.reading import understand
from benchflow.gateway.upstream import TrialContext, Upstream

BACKLOG = 1024


class HttpServer:
    """One HTTP server of one upstream. Whoever starts it closes it; it takes its sockets over."""

    def __init__(
        self,
        upstream: Upstream,
        context: TrialContext,
        dialects: Mapping[str, Dialect],
        spool_folder: Path | None = None,
    ) -> None:
        self.upstream = upstream
        self.spool_folder = spool_folder
        self.context = context
        self.dialects = dialects
        self.closing = False
        self._servers: list[asyncio.Server] = []
        self._connections: set[AgentConnection] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._answering = 0
        self._bug: BaseException | None = None

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Begin to accept connections."""
        loop = asyncio.get_running_loop()
        for sock in sockets:
            self._servers.append(await loop.create_server(self._connect, sock=sock, backlog=BACKLOG))

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
        tasks = [task for connection in self._connections if (task := connection.end())]
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        bug, self._bug = self._bug, None
        if bug:
            raise bug

    def _connect(self) -> AgentConnection:
        connection = AgentConnection(self, self._left)
        self._connections.add(connection)
        return connection

    def _left(self, connection: AgentConnection, bug: BaseException | None) -> None:
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
