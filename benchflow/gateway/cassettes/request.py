"""A model request as cassettes compare it: its call and its body, after the neutral rules, without secrets. Pure."""

import base64
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson

from benchflow.gateway.dialects.json_text import read_json
from benchflow.gateway.http.encoding import Undecodable
from benchflow.gateway.message import RawRequest
from benchflow.gateway.neutral import Side, neutralize
from benchflow.gateway.places import Places, word
from benchflow.gateway.reading import plain
from benchflow.gateway.upstream import TrialContext
from benchflow.redact import Redactor

KEYS = frozenset({"key", "api_key", "access_token"})
"""Parameters of a query in which clients send their key."""
_MEMORY = "neutral side"


def neutral_request(request: RawRequest, context: TrialContext, redactor: Redactor) -> dict[str, Any]:
    """Return what is the same for equal requests of two trials: `call` and `body`."""
    return {"call": _call(request, context), "body": neutralize(_body(request, redactor), side_of(context)).value}


def side_of(context: TrialContext) -> Side:
    """Return what is this trial's own."""
    today = datetime.now(UTC).date()
    side: Side | None = context.memory.get(_MEMORY)
    if side is None or side.day != today:
        side = Side(
            places=places_of(context),
            model=context.model,
            port=context.port,
            prompts=tuple(context.prompts),
            day=today,
        )
        context.memory[_MEMORY] = side
    return side


def places_of(context: TrialContext) -> Places:
    """Return the folders that are this trial's own."""
    return Places(workspace=context.workspace, home=context.home, tmp=context.tmp)


def _call(request: RawRequest, context: TrialContext) -> str:
    """Write method and path as the provider's API names them, whatever stands before them here."""
    route = context.route
    path = route.tail if route else request.path
    if route and route.model and route.model == context.model:
        path = path.replace(route.model, word("model"), 1)
    query = urlencode([(name, value) for name, value in parse_qsl(request.query, True) if name not in KEYS])
    return f"{request.method} {path}{'?' if query else ''}{query}"


def _body(request: RawRequest, redactor: Redactor) -> Any:
    """Read the body: JSON, else a text, else what bytes are written as."""
    try:
        content = plain(request).body
    except Undecodable:
        content = request.body
    try:
        clean = redactor.redact(orjson.dumps(read_json(content)))
        return orjson.loads(clean)
    except ValueError:
        pass
    try:
        return redactor.redact(content).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
