"""One figure, with how sure it is and what it rests on."""

from dataclasses import dataclass
from typing import Literal

from benchflow.stats.interval import Interval

Method = Literal[
    "wilson",
    "confidence sequence",
    "order statistics",
    "bootstrap of scenarios",
    "permutation",
    "score and permutation",
]
"""How an interval was made. `confidence sequence`: it holds although trials were repeated until it was narrow enough.
`wilson`, as that, is conservative for a score: a score varies no more than passing or not."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure of a sample, with its interval."""

    value: float | None
    """None: there is nothing to tell it from."""
    low: float | None = None
    """The interval's lower limit, at the profile's level; None, always with `high`: too few values for an interval."""
    high: float | None = None
    n: int = 0
    """How many values it rests on: scored trials, or, for pass@k and pass^k, scenarios."""
    unknown: int = 0
    """How many more there would be, were it known of every one: trials without a price, scenarios with too few trials.
    """
    method: Method | None = None
    """Of the interval; None where there is none."""


def estimate(value: float | None, interval: Interval | None, method: Method, *, n: int, unknown: int = 0) -> Estimate:
    """Join a value with its interval."""
    if interval is None:
        return Estimate(value=value, n=n, unknown=unknown)
    return Estimate(value=value, low=interval.low, high=interval.high, n=n, unknown=unknown, method=method)
