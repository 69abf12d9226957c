"""Keys in the query of a URL, where some clients put them: never sent on, hidden in what is logged. Pure."""

from urllib.parse import unquote_plus

CREDENTIALS = frozenset({"key", "access_token"})
"""Parameters in which clients send the key that they were given."""
HIDDEN = "[redacted]"


def find_credentials(query: str) -> list[str]:
    """Return the names of the parameters that are credentials, in order."""
    return [name for part in query.split("&") if (name := _name(part)) in CREDENTIALS] if query else []


def drop_credentials(query: str) -> str:
    """Leave credentials out; all else stays as it is."""
    return "&".join(part for part in query.split("&") if _name(part) not in CREDENTIALS)


def hide_credentials(query: str) -> str:
    """Put a mark where the values of credentials stand; all else stays as it is."""
    if not find_credentials(query):
        return query
    parts = query.split("&")
    return "&".join(f"{part.partition('=')[0]}={HIDDEN}" if _name(part) in CREDENTIALS else part for part in parts)


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0])
