"""Where Google's API names models: in the path, behind a collection and before the verb. Pure."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from benchflow.gateway.message import Route, RouteKind

_VERBS: dict[str, RouteKind] = {
    "generateContent": "generate",
    "streamGenerateContent": "generate",
    "countTokens": "count_tokens",
}
_CALL = re.compile(r"(?P<resource>.+)(?P<colon>:|%3[Aa])(?P<verb>[A-Za-z]+)")
_VERSION = re.compile(r"/v\d[0-9a-z]*/")
"""Before it stands what a client's base URL has of a path; the rest is the API's own."""
_COLLECTION = re.compile(r"(?:/|%2[Ff])models(?:/|%2[Ff])")
_LIST = re.compile(r"(?P<tail>/v\d(?P<stage>[0-9a-z]*)/(?:models|tunedModels)(?:(?:/|%2[Ff])(?P<name>[^:]+))?)/?")
_ROOT = re.compile(r"(?:/v\d[0-9a-z]*)?/?")


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """Where in a path the model is named."""

    start: int
    end: int
    whole: bool
    """The name takes in its collection, as in `tunedModels/mine`; else it is what follows `models/`."""
    name: str
    """Decoded."""
    verb: str


def find_model(path: str) -> ModelPlace | None:
    """Find the model that a path calls a method of; None: it calls none that is known."""
    call = _CALL.fullmatch(path)
    if call is None or call["verb"] not in _VERBS:
        return None
    start = _after_version(path)
    collection = _COLLECTION.search(path, start - 1, call.end("resource"))
    if collection:
        start = collection.end()
    end = call.end("resource")
    name = unquote(path[start:end])
    return ModelPlace(start, end, collection is None, name, call["verb"]) if name else None


def route_of(method: str, path: str) -> Route | None:
    """Say what a request to the path is for."""
    if method == "POST":
        place = find_model(path)
        if place is None:
            return None
        stream = place.verb == "streamGenerateContent"
        return Route(kind=_VERBS[place.verb], tail=path[_base(path) :], model=place.name, stream=stream)
    if method not in ("GET", "HEAD"):
        return None
    if (found := _LIST.search(path)) and found.end() == len(path):
        named = unquote(found["name"]) if found["name"] else None
        return Route(kind="models", tail=found["tail"], model=named, own=bool(found["stage"]))
    return Route(kind="probe", tail="/") if _ROOT.fullmatch(path) else None


def put_model(path: str, model: str) -> str:
    """Name another model in a path that `find_model` knows; every other character stays. Raises ValueError."""
    place = find_model(path)
    if place is None:
        raise ValueError(f"no model is named in {path}")
    name = model.removeprefix("models/")
    slash = "" if re.search("%2f", path, re.IGNORECASE) else "/"
    start = place.start
    if name.startswith("tunedModels/") and not place.whole:
        start = _after_version(path)
    elif place.whole and not name.startswith("tunedModels/"):
        name = f"models/{name}"
    return path[:start] + quote(name, safe=f"{slash}:") + path[place.end :]


def _after_version(path: str) -> int:
    version = _VERSION.search(path)
    return version.end() if version else 1


def _base(path: str) -> int:
    version = _VERSION.search(path)
    return version.start() if version else 0
