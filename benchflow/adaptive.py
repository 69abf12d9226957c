"""What became of repeating until enough was known: values that a run leaves in run.json, and reports read there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from benchflow.errors import InputError

Reason = Literal["sure", "most", "unscored"]
"""`sure`: known well enough. `most`: repeated as often as was allowed. `unscored`: no trial could be scored, so that
more of them would not help."""

KEY = "adaptive"
"""Under which it stands in run.json."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """An arm, one agent with one model in one mode, that is repeated no more."""

    agent: str
    model: str
    upstream: str
    mode: str
    reason: Reason
    repetitions: int
    """Of each scenario, until it was decided."""
    most: int
    """How many there might have been."""
    scenarios: int
    saved: int
    """Trials that were not run."""
    scored: int
    """Trials that it was decided by."""
    success: float | None
    """Their rate of success; None: there are none."""
    low: float
    """Of the confidence sequence's interval when it was decided."""
    high: float


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """Repetition until the rate of success is known well enough."""

    half_width: float
    """How well: within so much either way."""
    level: float
    method: str = "confidence sequence: beta mixture, Robbins 1970"
    settled: tuple[Settled, ...] = ()
    """In the order in which it was decided; an arm that is not among them was interrupted."""

    @property
    def saved(self) -> int:
        """How many trials were not run, in all."""
        return sum(arm.saved for arm in self.settled)

    @classmethod
    def of_description(cls, description: Mapping[str, Any]) -> Self | None:
        """Read it from run.json; None: the run had a fixed number of repetitions. Raises InputError."""
        found = description.get(KEY)
        if not found:
            return None
        try:
            return cls(**{**found, "settled": tuple(Settled(**arm) for arm in found["settled"])})
        except (TypeError, KeyError) as exc:
            raise InputError(f"run.json: {KEY} is not as this version writes it ({exc}); restore the file") from exc
