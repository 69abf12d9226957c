"""Requests for the models that a provider has, as most dialects put them: a list at one place, each model below it."""

from urllib.parse import unquote

from benchflow.gateway.message import Route


def list_route(method: str, path: str, place: str) -> Route | None:
    """Say whether the request asks for the list at the end of the path, or for one model of it; None: neither."""
    if method not in ("GET", "HEAD"):
        return None
    if path.endswith(place):
        return Route(kind="models", tail=place)
    at = path.rfind(f"{place}/")
    name = unquote(path[at + len(place) + 1 :])
    return Route(kind="models", tail=path[at:], model=name or None) if at >= 0 else None
