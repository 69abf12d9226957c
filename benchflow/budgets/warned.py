"""The one warning of a trial."""

from dataclasses import dataclass

from benchflow.budgets.budget import Budget
from benchflow.contracts import LimitHit


@dataclass(frozen=True, kw_only=True)
class Warned:
    """What the agent is told, and of which budget."""

    text: str
    budget: Budget
    hit: LimitHit
    """As it was when the warning was handed out."""
