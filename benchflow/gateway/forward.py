"""The upstream `forward`: sends requests on to a provider, byte for byte. Real keys are put in here, nowhere else."""

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from benchflow.gateway.changing import answer_error, replace_credentials, strip_hop_headers
from benchflow.gateway.message import Headers, RawRequest, RawResponse, UpstreamCut
from benchflow.gateway.upstream import TrialContext

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

LARGE = 1 << 20
"""Bytes from which on a body is sent in pieces, so that others get their turn."""
ALREADY_THERE = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that the HTTP library would add where the agent sent none."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A provider to send requests to."""

    name: str
    base_urls: Mapping[str, str]
    """By dialect."""
    key: str | None = None
    priced_as: str | None = None
    proxy: str | None = None
    """URL of the HTTP proxy on the way there."""
    connect_timeout_s: float = 30.0
    silence_timeout_s: float = 900.0
    """Longest time without a byte of the answer."""


class Forward:
    """Sends requests to one provider over kept connections."""

    def __init__(self, target: Target) -> None:
        self.name = target.name
        self.priced_as = target.priced_as
        self._target = target
        self._session: ClientSession | None = None

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Send the request on; return as soon as the response's head is there. Raises UpstreamCut."""
        dialect, route = context.dialect, context.route
        if dialect is None or route is None or dialect.name not in self._target.base_urls:
            spoken = ", ".join(self._target.base_urls)
            return answer_error(404, f"{self.name} speaks {spoken}; not {request.method} {request.path}")
        query = f"?{request.query}" if request.query else ""
        url = self._target.base_urls[dialect.name].rstrip("/") + route.tail + query
        outgoing = replace_credentials(strip_hop_headers(request), dialect, self._target.key)
        with _Translated():
            response = await self._request(outgoing, url, lambda: context.on_sent(outgoing))
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers)
        return RawResponse(
            status=response.status, reason=response.reason or "", headers=headers, chunks=_Arriving(response)
        )

    async def _request(self, request: RawRequest, url: str, on_sent: Callable[[], None]) -> "ClientResponse":
        from multidict import CIMultiDict
        from yarl import URL

        if self._session is None:
            self._session = _open_session(self._target)
        body = request.body
        return await self._session.request(
            request.method,
            URL(url, encoded=True),
            headers=CIMultiDict(_spelled_alike(request.headers)),
            data=io.BytesIO(body) if len(body) > LARGE else body or None,
            allow_redirects=False,
            proxy=self._target.proxy,
            trace_request_ctx=on_sent,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _open_session(target: Target) -> "ClientSession":
    import aiohttp

    async def headers_sent(session: Any, trace: Any, params: Any) -> None:
        trace.trace_request_ctx()

    tracing = aiohttp.TraceConfig()
    tracing.on_request_headers_sent.append(headers_sent)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=ALREADY_THERE,
        timeout=aiohttp.ClientTimeout(
            total=None, sock_connect=target.connect_timeout_s, sock_read=target.silence_timeout_s
        ),
        trace_configs=[tracing],
        max_line_size=LARGE,
        max_field_size=LARGE,
    )


def _spelled_alike(headers: Headers) -> Iterator[tuple[str, str]]:
    """Yield the headers, a repeated name as it was spelled first: the HTTP library would lose one spelled otherwise."""
    spelled: dict[str, str] = {}
    for name, value in headers:
        yield spelled.setdefault(name.lower(), name), _utf8(value)


def _utf8(value: str) -> str:
    """Turn one character a byte into what the HTTP library writes as the same bytes, where they are UTF-8."""
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


class _Translated:
    """Turns the HTTP library's errors into UpstreamCut while the block runs."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            return
        from aiohttp import ClientError

        if isinstance(error, ClientError | OSError | TimeoutError):
            raise UpstreamCut(f"{type(error).__name__}: {error}".rstrip(": ")) from error


class _Arriving:
    """The body of a provider's response, as it arrives."""

    def __init__(self, response: "ClientResponse") -> None:
        self._response = response

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        with _Translated():
            chunk = await self._response.content.readany()
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Let go of the connection: for others where the response came to its end, for good where it did not."""
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()
