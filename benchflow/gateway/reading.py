"""What the gateway understands of a raw request before it does anything with it. Pure."""

from collections.abc import Mapping

from benchflow.gateway.altered import altered
from benchflow.gateway.dialect import Dialect
from benchflow.gateway.encoding import decode
from benchflow.gateway.message import ModelRequest, RawRequest, Route
from benchflow.gateway.upstream import TrialContext


def understand(request: RawRequest, context: TrialContext, dialects: Mapping[str, Dialect]) -> TrialContext:
    """Add to the context which dialect the request is of, what it is for, and what it says, as far as can be told."""
    for dialect in dialects.values():
        route = dialect.route(request.method, request.path)
        if route:
            return altered(context, dialect=dialect, route=route, parsed=_parse(request, dialect, route))
    return context


def _parse(request: RawRequest, dialect: Dialect, route: Route) -> ModelRequest | None:
    if route.kind != "generate":
        return None
    try:
        return dialect.read(plain(request))
    except ValueError:
        return None


def plain(request: RawRequest) -> RawRequest:
    """Return the request with its body decoded, and the header that named the coding gone. Raises Undecodable."""
    if not request.header("content-encoding"):
        return request
    headers = tuple((name, value) for name, value in request.headers if name.lower() != "content-encoding")
    return altered(request, headers=headers, body=decode(request.body, request.headers))
