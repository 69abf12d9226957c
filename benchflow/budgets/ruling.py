"""What the budgets of a trial say of one model request."""

from dataclasses import dataclass

from benchflow.contracts import LimitHit


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """Whether a request goes on, and with what."""

    passes: bool = True
    warning: str | None = None
    """What the agent must read in it. None: it goes on as it is."""
    limit: LimitHit | None = None
    """The budget that it is about; None: none is."""
