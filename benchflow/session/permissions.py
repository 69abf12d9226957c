"""How a permission request is answered: by policy, with one of the options offered, chosen by its `kind`. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchflow.contracts import PermissionConfig
from benchflow.session.updates import tool_name

CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}
"""The answer to every permission request of a turn that was cancelled."""

_ALLOW = ("allow_once", "allow_always", "allow")
_REJECT = ("reject_once", "reject_always", "reject", "deny")
"""In order of preference: `always` may change the agent's behaviour for the rest of the session. The last are for kinds
that the protocol does not know yet, by how they begin.
"""


@dataclass(frozen=True, kw_only=True)
class KnownCall:
    """What is known of a tool call when its permission is asked for."""

    title: str | None = None
    kind: str | None = None
    name: str | None = None

    def updated(self, call: Mapping[str, Any]) -> "KnownCall":
        """Return it with what another announcement, update or request says."""
        return KnownCall(
            title=_text(call.get("title")) or self.title,
            kind=_text(call.get("kind")) or self.kind,
            name=tool_name(call) or self.name,
        )


def answer_permission(params: Any, call: KnownCall, policy: PermissionConfig) -> dict[str, Any]:
    """Return the result of a `session/request_permission`: an offered option, or `cancelled` where none fits."""
    options = params.get("options") if isinstance(params, dict) else None
    options = [option for option in options if isinstance(option, dict)] if isinstance(options, list) else []
    option = choose_option(options, allow=is_allowed(call, policy))
    if option is None:
        return CANCELLED
    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}


def is_allowed(call: KnownCall, policy: PermissionConfig) -> bool:
    """Apply the policy. An entry of its list names a tool, a kind, or the title's first word, in any case."""
    if policy.allowed_tools is None:
        return policy.auto_approve
    allowed = {entry.casefold() for entry in policy.allowed_tools}
    first_word = re.split(r"[\s:(`]", call.title.strip(), maxsplit=1)[0] if call.title else None
    return any(text.casefold() in allowed for text in (call.name, call.kind, call.title, first_word) if text)


def choose_option(options: Sequence[Mapping[str, Any]], *, allow: bool) -> Mapping[str, Any] | None:
    """Choose by kind, never by id or order; None where no kind says what is wanted."""
    usable = [option for option in options if option.get("optionId") is not None and _text(option.get("kind"))]
    for wanted in _ALLOW if allow else _REJECT:
        for option in usable:
            if option["kind"] == wanted:
                return option
    stems = _ALLOW[-1:] if allow else _REJECT[-2:]
    return next((option for option in usable if option["kind"].startswith(stems)), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


class PermissionDesk:
    """Answers the permission requests of one session, at once, under its policy."""

    def __init__(self, policy: PermissionConfig) -> None:
        self.policy = policy
        self._calls: dict[str, KnownCall] = {}
        self.turn_cancelled = False
        """Every request is answered `cancelled` while this is set."""

    @property
    def curious(self) -> bool:
        """The policy depends on what is known of a tool call."""
        return self.policy.allowed_tools is not None

    def note(self, params: Any) -> None:
        """Take notice of a `session/update`: a request may name no more than the id of a call announced before."""
        update = params.get("update") if isinstance(params, dict) else None
        if not isinstance(update, dict) or update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
            return
        call_id = str(update.get("toolCallId"))
        known = self._calls.pop(call_id, KnownCall())
        if update.get("status") not in ("completed", "failed"):
            self._calls[call_id] = known.updated(update)

    def answer(self, params: Any) -> dict[str, Any]:
        """Handle `session/request_permission`."""
        if self.turn_cancelled:
            return CANCELLED
        call = params.get("toolCall") if isinstance(params, dict) else None
        call = call if isinstance(call, dict) else {}
        known = self._calls.get(str(call.get("toolCallId")), KnownCall())
        return answer_permission(params, known.updated(call), self.policy)
