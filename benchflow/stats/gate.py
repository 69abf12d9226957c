"""Whether a run has become worse than its base, for a build that must fail then and at no other time."""

from dataclasses import dataclass
from typing import Literal

from benchflow.stats.paired import PairedComparison

GateReason = Literal["regression", "too small a sample", "no regression"]


@dataclass(frozen=True, kw_only=True)
class GateDecision:
    """What the gate says, with the figures that it said it by."""

    missed: bool
    """Whether the build is to fail."""
    reason: GateReason
    margin: float
    drop: float | None
    """How much worse head is, in the metric's unit; below 0 where it is better. None: nothing could be compared."""
    surely: float | None
    """The least drop that the interval allows; the gate is missed where it is above the margin. None: no interval."""
    detectable: float | None
    """The smallest drop that such a sample shows with a chance of 0.8; None: none at all."""


def decide(
    comparison: PairedComparison,
    *,
    margin: float = 0.0,
    require_power: float | None = None,
    higher_is_better: bool = True,
) -> GateDecision:
    """Decide whether the gate is missed: only where the whole interval lies beyond the margin, to the worse.

    Not distinguishable passes, with the smallest drop that could have been found beside it. With `require_power`, a
    sample that cannot show a drop of that size is a miss of its own: a gate that can see nothing is no gate.
    """
    if margin < 0:
        raise ValueError(f"margin {margin}; it is how much worse is still accepted, 0 or more")
    drop = surely = None
    if comparison.difference is not None:
        drop = -comparison.difference if higher_is_better else comparison.difference
    if comparison.interval:
        surely = -comparison.interval.high if higher_is_better else comparison.interval.low
    detectable = comparison.detectable
    reason: GateReason = "no regression"
    if surely is not None and surely > margin and comparison.verdict == "worse":
        reason = "regression"
    elif require_power is not None and (detectable is None or detectable > require_power):
        reason = "too small a sample"
    return GateDecision(
        missed=reason != "no regression",
        reason=reason,
        margin=margin,
        drop=drop,
        surely=surely,
        detectable=detectable,
    )
