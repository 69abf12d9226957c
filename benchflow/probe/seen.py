"""What a step saw: its verdict, and what is to be said of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchflow.tiers import Verdict


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How one step ended."""

    verdict: Verdict
    detail: str
    remedy: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    quirks: tuple[str, ...] = ()
    """What the agent's users should know of, a sentence each."""
    spoiled: bool = False
    """The session cannot be used any more."""


def passed(detail: str, **facts: Any) -> Seen:
    """It did what was expected."""
    return Seen(verdict="pass", detail=detail, facts=facts)


def odd(detail: str, quirk: str, **facts: Any) -> Seen:
    """It works, in a way that its users should know of."""
    return Seen(verdict="odd", detail=detail, quirks=(quirk,), facts=facts)


def not_tried(why: str) -> Seen:
    """It could not be tried, for a reason that is no fault of the agent's."""
    return Seen(verdict="skipped", detail=f"could not be tried: {why}")


def failed(detail: str, remedy: str | None = None, *, spoiled: bool = False, **facts: Any) -> Seen:
    """It does not do it."""
    return Seen(verdict="fail", detail=detail, remedy=remedy, facts=facts, spoiled=spoiled)
