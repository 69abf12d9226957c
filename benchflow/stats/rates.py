"""Success rates and the scenarios that are neither reliably solved nor reliably failed. Without numpy: every run shows
rates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchflow.stats.interval import Interval, check_level
from benchflow.stats.student import normal_quantile


@dataclass(frozen=True, kw_only=True)
class Rate:
    """How many of the scored trials succeeded."""

    passed: int
    total: int
    rate: float | None
    """None: there are no scored trials."""
    interval: Interval | None
    """Wilson's; of these trials as if each were drawn anew, so it says nothing of scenarios that are not among them."""


def success_rate(passed: int, total: int, *, level: float = 0.95) -> Rate:
    """Return the rate of success with Wilson's interval."""
    if not 0 <= passed <= total:
        raise ValueError(f"{passed} of {total} passed; it must be 0 <= passed <= total")
    if not total:
        return Rate(passed=0, total=0, rate=None, interval=None)
    rate = passed / total
    return Rate(passed=passed, total=total, rate=rate, interval=wilson(rate, total, level=level))


def wilson(rate: float, total: float, *, level: float = 0.95) -> Interval:
    """Return the score interval of a rate out of `total` > 0 trials (Wilson, JASA 22, 1927).

    `total` may be an effective number of trials, then not a whole one.
    """
    z = normal_quantile(0.5 + check_level(level) / 2)
    spread = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    centre = rate + z * z / (2 * total)
    low, high = ((centre + side * spread) / (1 + z * z / total) for side in (-1, 1))
    # Rounding must not keep all of all from 1.
    return Interval(low=max(0.0, low) if rate else 0.0, high=min(1.0, high) if rate < 1 else 1.0, level=level)


def flaky_scenarios(outcomes: Mapping[str, Sequence[bool]]) -> list[str]:
    """Return the scenarios of which some repetitions succeeded and some did not, in the order given."""
    return [scenario for scenario, passed in outcomes.items() if any(passed) and not all(passed)]
