"""Connects to a host of the outside world: at once, or through the proxy that the user's environment names."""

import asyncio
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from benchflow.gateway.upstreams.providers import proxy_for

CONNECT_S = 30.0
_HEAD_LIMIT = 64 * 1024

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def dial(host: str, port: int, environ: Mapping[str, str]) -> Streams:
    """Open a connection. Raises OSError; TimeoutError, which is one, after `CONNECT_S`."""
    name = f"[{host}]" if ":" in host else host
    proxy = proxy_for(f"{'http' if port == 80 else 'https'}://{name}:{port}", environ)
    async with asyncio.timeout(CONNECT_S):
        if proxy is None:
            return await asyncio.open_connection(host, port, happy_eyeballs_delay=0.25)
        return await _through(urlsplit(proxy), f"{name}:{port}")


async def _through(proxy: SplitResult, target: str) -> Streams:
    reader, writer = await asyncio.open_connection(proxy.hostname, proxy.port or 80, limit=_HEAD_LIMIT)
    try:
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}", *_credentials(proxy), "\r\n"]
        writer.write("\r\n".join(lines).encode("latin-1"))
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as exc:
            raise ConnectionError(f"the proxy {proxy.hostname} did not answer in HTTP") from exc
        status = head.split(b" ", 2)[1:2]
        if not status or not status[0].startswith(b"2"):
            said = head.partition(b"\r\n")[0].decode("latin-1")
            raise ConnectionError(f"the proxy {proxy.hostname} refuses to connect: {said}")
    except BaseException:
        writer.transport.abort()
        raise
    return reader, writer


def _credentials(proxy: SplitResult) -> list[str]:
    if proxy.username is None:
        return []
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return [f"Proxy-Authorization: Basic {b64encode(pair).decode()}"]
