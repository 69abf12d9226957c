"""The door of a gateway that stands alone: who may come in, and what of a request is forgotten at once."""

import hmac
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlsplit

from benchflow.gateway.altered import altered
from benchflow.gateway.changing import CREDENTIALS, answer_error
from benchflow.gateway.dialects.queries import CREDENTIALS as QUERY_CREDENTIALS
from benchflow.gateway.dialects.queries import HIDDEN, hide_credentials
from benchflow.gateway.message import RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext, Upstream

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Guard:
    """Lets in whoever sends the key, where one is demanded, and no web page from elsewhere; remembers nobody's key."""

    def __init__(self, upstream: Upstream, key: str | None, on_refused: Callable[[str], None]) -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self._upstream = upstream
        self._key = key
        self._on_refused = on_refused

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Let the request in, without the keys in it: they may be real ones. A refusal is not recorded."""
        reason = self._reason(request)
        if reason is None:
            return await self._upstream.send(_forget(request), context)
        self._on_refused(reason)
        status = 401 if self._key else 403
        message = f"this gateway refuses: {reason}"
        return context.dialect.refuse(request, status, message) if context.dialect else answer_error(status, message)

    def _reason(self, request: RawRequest) -> str | None:
        if self._key:
            known = any(hmac.compare_digest(sent.encode(), self._key.encode()) for sent in _keys(request))
            return None if known else "the request does not carry the gateway's key"
        origin = request.header("origin")
        if origin and urlsplit(origin).hostname not in LOOPBACK:
            return f"a web page at {origin} may not spend the key; demand one of clients with --key to allow it"
        return None

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._upstream.aclose()


def _keys(request: RawRequest) -> Iterator[str]:
    for name, value in request.headers:
        if name.lower() in CREDENTIALS:
            yield value.strip().rpartition(" ")[2]
    for name, value in parse_qsl(request.query):
        if name in QUERY_CREDENTIALS:
            yield value


def _forget(request: RawRequest) -> RawRequest:
    headers = tuple((name, HIDDEN if name.lower() in CREDENTIALS else value) for name, value in request.headers)
    return altered(request, headers=headers, query=hide_credentials(request.query))
