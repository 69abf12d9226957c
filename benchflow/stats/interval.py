"""An interval at a level, the form in which every statistic here says how sure it is."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Interval:
    """Where a value lies, with the confidence `level`; both limits are included, and finite."""

    low: float
    high: float
    level: float
    """Within (0, 1): 0.95 for an interval that covers the truth in 95 of 100 samples."""

    @property
    def width(self) -> float:
        """The distance between the limits."""
        return self.high - self.low

    def contains(self, value: float) -> bool:
        """Whether the value lies within."""
        return self.low <= value <= self.high


def check_level(level: float) -> float:
    """Return the level. Raise ValueError where it is not within (0, 1): 95 is no level, 0.95 is one."""
    if not 0 < level < 1:
        raise ValueError(f"level {level} is not between 0 and 1; write 0.95 for 95 %")
    return level


def hull(intervals: list[Interval]) -> Interval:
    """Return the smallest interval that holds them all. They are of one level, and there is at least one."""
    (level,) = {interval.level for interval in intervals}
    return Interval(
        low=min(interval.low for interval in intervals), high=max(interval.high for interval in intervals), level=level
    )
