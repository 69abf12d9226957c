"""Who metered a trial's usage, and what of it each role used."""

from collections.abc import Mapping
from typing import Any

from benchflow.contracts import TokenBreakdown
from benchflow.row import ProfileRow


def usage_source(row: ProfileRow) -> str:
    """Return who says what the trial used: `gateway`, or `acp` where only the agent itself does."""
    said = row.extensions.get("usage_source")
    return said if isinstance(said, str) else "gateway"


def role_tokens(row: ProfileRow, role: str) -> int | None:
    """Return the tokens of all exchanges of a role: 0 where the gateway saw exchanges, and none of that role."""
    roles = row.extensions.get("by_role")
    if not isinstance(roles, Mapping) or not roles:
        return None
    return _total(roles[role]["tokens"]) if role in roles else 0


def has_role(row: ProfileRow, role: str) -> bool:
    """Tell whether the gateway saw an exchange of a role."""
    return role in (row.extensions.get("by_role") or {})


def _total(tokens: Any) -> int | None:
    """Of a breakdown, or of what a stored row has in its place."""
    if isinstance(tokens, TokenBreakdown):
        return tokens.total
    return tokens["total"] if isinstance(tokens, Mapping) else None
