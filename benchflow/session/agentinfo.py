"""What an agent says of itself in answer to `initialize` and `session/new`; nulls and omissions are tolerated. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PROTOCOL_VERSION = 1
"""The one stable version; 2 is a draft."""

_KEY_WORDS = re.compile(r"api[-_ ]?key|env(ironment)?[-_ ]?var|\bgateway\b", re.IGNORECASE)
_PERSON_WORDS = re.compile(r"oauth|log[-_ ]?in|sign[-_ ]?in|browser|subscription", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class AuthMethod:
    """A way to authenticate that the agent offers."""

    id: str
    name: str
    keyed: bool
    """It needs nobody at a browser or terminal: the key that is in the environment is enough."""


@dataclass(frozen=True, kw_only=True)
class AgentInfo:
    """The agent's answer to `initialize`."""

    name: str | None
    title: str | None
    version: str | None
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """`agentCapabilities` as sent."""
    auth_methods: Sequence[AuthMethod] = ()


@dataclass(frozen=True, kw_only=True)
class SessionInfo:
    """The agent's answer to `session/new`."""

    id: str
    raw: Mapping[str, Any]
    """The whole result: modes, configuration options, models."""


def read_version(result: Any) -> int | None:
    """Return the protocol version that the agent speaks, a number even where it is sent as text; None: it says none."""
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    if isinstance(version, str) and version.isdecimal():
        return int(version)
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def read_agent_info(result: Mapping[str, Any]) -> AgentInfo:
    """Read the result of `initialize`."""
    info = _table(result.get("agentInfo"))
    methods = result.get("authMethods")
    return AgentInfo(
        name=_text(info.get("name")),
        title=_text(info.get("title")),
        version=_text(info.get("version")),
        capabilities=_table(result.get("agentCapabilities")),
        auth_methods=tuple(filter(None, map(_auth_method, methods))) if isinstance(methods, list) else (),
    )


def _auth_method(method: Any) -> AuthMethod | None:
    """Read one entry. A typed one says what it is; for others the words of its id, name and description tell."""
    if not isinstance(method, dict) or not isinstance(method.get("id"), str):
        return None
    words = " ".join(text for key in ("id", "name", "description") if (text := _text(method.get(key))))
    kind = method.get("type")
    guessed = bool(_KEY_WORDS.search(words)) and not _PERSON_WORDS.search(method["id"])
    return AuthMethod(
        id=method["id"],
        name=_text(method.get("name")) or method["id"],
        keyed=kind == "env_var" or (kind in (None, "agent") and guessed),
    )


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
