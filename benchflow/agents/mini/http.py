"""A POST over HTTP/1.1 whose response is read as it comes. Importing a whole HTTP client would double mini's start."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

CONNECT_TIMEOUT_S = 30
READ_TIMEOUT_S = 600
"""How long a server may stay silent."""
_LINE_LIMIT = 64 * 2**20

T = TypeVar("T")


class HttpError(Exception):
    """No connection, or no response as HTTP/1.1 has it, or one that broke off."""


@dataclass(frozen=True)
class Response:
    """A response whose body is still coming. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    _reader: asyncio.StreamReader

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes. Raises HttpError if it breaks off."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int((await self._line()).split(b";")[0], 16):
                yield await self._exactly(size)
                await self._line()
        elif "content-length" in self.headers:
            if size := int(self.headers["content-length"]):
                yield await self._exactly(size)
        else:
            while block := await _in_time(self._reader.read(65_536)):
                yield block

    async def lines(self) -> AsyncIterator[str]:
        """Yield the body's lines as they come, without their ends."""
        rest = b""
        async for chunk in self.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace").rstrip("\r")
        if rest:
            yield rest.decode("utf-8", "replace")

    async def text(self) -> str:
        """Return the whole body."""
        return b"".join([chunk async for chunk in self.chunks()]).decode("utf-8", "replace")

    async def _line(self) -> bytes:
        return (await _in_time(self._reader.readuntil(b"\n"))).strip()

    async def _exactly(self, size: int) -> bytes:
        return await _in_time(self._reader.readexactly(size))


@asynccontextmanager
async def post(url: str, headers: Mapping[str, str], body: bytes) -> AsyncIterator[Response]:
    """Send the request, and give its response; leaving closes the connection. Raises HttpError."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(
                parts.hostname, parts.port or (443 if secure else 80), ssl=secure or None, limit=_LINE_LIMIT
            )
    except (OSError, TimeoutError) as exc:
        raise HttpError(f"no connection to {parts.netloc}: {exc or type(exc).__name__}") from exc
    try:
        lines = [f"POST {parts.path or '/'}{'?' + parts.query if parts.query else ''} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in {"Host": parts.netloc, **headers}.items()]
        lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        yield await _read_head(reader)
    except (OSError, EOFError, ValueError, IndexError, TimeoutError, asyncio.LimitOverrunError) as exc:
        raise HttpError(f"{parts.netloc} broke off: {exc or type(exc).__name__}") from exc
    finally:
        writer.close()


async def _read_head(reader: asyncio.StreamReader) -> Response:
    head = (await _in_time(reader.readuntil(b"\r\n\r\n"))).decode("latin-1").split("\r\n")
    status = int(head[0].split(" ")[1])
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    return Response(status, headers, reader)


async def _in_time(awaitable: Awaitable[T]) -> T:
    async with asyncio.timeout(READ_TIMEOUT_S):
        return await awaitable
