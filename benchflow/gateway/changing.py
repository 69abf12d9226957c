"""The closed list of what the gateway changes in a request, and what it answers by itself.

A request that needs no change is the very same value afterwards.
"""

from benchflow.gateway.altered import altered
from benchflow.gateway.dialects.dialect import Dialect
from benchflow.gateway.dialects.queries import drop_credentials, find_credentials
from benchflow.gateway.dialects.writing import json_response
from benchflow.gateway.http.encoding import readable_codings
from benchflow.gateway.http.http11 import HOP_BY_HOP
from benchflow.gateway.http.spool import TooLongToChange
from benchflow.gateway.message import Change, RawRequest, RawResponse
from benchflow.gateway.rewriting import rewrite
from benchflow.gateway.upstream import TrialContext, Upstream

CREDENTIALS = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key"})
"""Headers in which agents send the key that they were given."""
REPLACED = HOP_BY_HOP | {"host", "content-length", "expect"}
"""Headers that the next hop gets anew."""


class Changing:
    """Sends requests on with the trial's model in them, and answers what no provider should see."""

    def __init__(self, upstream: Upstream, *, strict_model: bool = False) -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self._upstream = upstream
        self._strict_model = strict_model

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Answer the request, or send it on."""
        dialect = context.dialect
        if (request.header("upgrade") or "").lower() == "websocket":
            return answer_error(426, "WebSocket is not served here; use HTTP")
        if dialect is None or context.route is None:
            return answer_error(404, f"no model API at {request.method} {request.path}")
        if context.route.kind == "probe":
            return json_response(200, {}, origin="gateway")
        if context.parsed is None or context.role != "main" or context.model in ("", context.parsed.model):
            return await self._upstream.send(request, context)
        asked = context.parsed.model
        if self._strict_model:
            return dialect.refuse(request, 400, f"the model of this trial is {context.model!r}, not {asked!r}")
        try:
            request = enforce_model(request, dialect, context.model)
        except TooLongToChange as exc:
            return dialect.refuse(request, 413, str(exc))
        parsed = altered(context.parsed, model=context.model)
        route = dialect.route(request.method, request.path) or context.route
        return await self._upstream.send(request, altered(context, parsed=parsed, route=route))

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._upstream.aclose()


def enforce_model(request: RawRequest, dialect: Dialect, model: str) -> RawRequest:
    """Put the model into the request. A compressed body goes on uncompressed. Raises TooLongToChange."""
    return rewrite(request, "model", lambda whole: dialect.set_model(whole, model)[0])


def strip_hop_headers(request: RawRequest) -> RawRequest:
    """Leave out what concerns the agent's own connection, and codings that an answer could not be read in."""
    kept: list[tuple[str, str]] = []
    changes: list[Change] = []
    for name, value in request.headers:
        path = f"header.{name.lower()}"
        if name.lower() in REPLACED:
            changes.append(Change(kind="hop_headers", path=path, before=value, after=None))
        elif name.lower() == "accept-encoding" and (readable := readable_codings(value)) != value:
            kept.append((name, readable or "identity"))
            changes.append(Change(kind="hop_headers", path=path, before=value, after=readable or "identity"))
        else:
            kept.append((name, value))
    return altered(request, headers=tuple(kept), changes=(*request.changes, *changes))


def replace_credentials(request: RawRequest, dialect: Dialect, key: str | None) -> RawRequest:
    """Put the provider's key where the agent's stands, or at the end; without a key, leave the agent's out.

    A key in the query is left out in any case: queries are what servers and proxies on the way write down.
    """
    request = _strip_query(request)
    own = dialect.key_header.lower()
    headers: list[tuple[str, str]] = []
    changes: list[Change] = []
    placed = key is None
    for name, value in request.headers:
        if name.lower() not in CREDENTIALS:
            headers.append((name, value))
            continue
        if name.lower() == own and key is not None and not placed:
            headers.append((name, dialect.key_prefix + key))
            placed = True
            changes.append(_credentials(name, "the trial's key", "the provider's key"))
        else:
            changes.append(_credentials(name, "the trial's key", None))
    if not placed:
        headers.append((dialect.key_header, f"{dialect.key_prefix}{key}"))
        changes.append(_credentials(dialect.key_header, None, "the provider's key"))
    return altered(request, headers=tuple(headers), changes=(*request.changes, *changes))


def _strip_query(request: RawRequest) -> RawRequest:
    names = find_credentials(request.query)
    if not names:
        return request
    changes = [Change(kind="credentials", path=f"query.{name}", before="the trial's key", after=None) for name in names]
    return altered(request, query=drop_credentials(request.query), changes=(*request.changes, *changes))


def _credentials(name: str, before: str | None, after: str | None) -> Change:
    return Change(kind="credentials", path=f"header.{name.lower()}", before=before, after=after)


def answer_error(status: int, message: str) -> RawResponse:
    """Refuse a request in a form that clients of any dialect can show."""
    error = {"message": message, "type": "benchflow_gateway", "param": None, "code": status}
    return json_response(status, {"error": error}, origin="gateway")
