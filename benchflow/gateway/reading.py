"""What the gateway understands of a raw request before it does anything with it. Pure."""

from collections.abc import Mapping, Sequence

from benchflow.gateway.altered import altered
from benchflow.gateway.dialects.dialect import Dialect
from benchflow.gateway.http.encoding import decode
from benchflow.gateway.message import ModelRequest, RawRequest, Route
from benchflow.gateway.upstream import TrialContext


def understand(request: RawRequest, context: TrialContext, dialects: Mapping[str, Dialect]) -> TrialContext:
    """Add to the context which dialect the request is of, what it is for, and what it says, as far as can be told."""
    found = [
        (dialect, route) for dialect in dialects.values() if (route := dialect.route(request.method, request.path))
    ]
    if not found:
        return context
    dialect, route = found[0] if len(found) == 1 else _likeliest(found, request)
    return altered(context, dialect=dialect, route=route, parsed=_parse(request, dialect, route))


def _likeliest(found: Sequence[tuple[Dialect, Route]], request: RawRequest) -> tuple[Dialect, Route]:
    """Choose among dialects that know the path, as several have lists of models: by the path, by where the key is."""
    return max(found, key=lambda pair: (pair[1].own, request.header(pair[0].key_header) is not None))


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
    if request.long:
        return altered(request, headers=headers, long=request.long.plain)
    return altered(request, headers=headers, body=decode(request.body, request.headers))
