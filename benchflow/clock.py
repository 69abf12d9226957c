"""The one clock of a run: every log, event and row takes its time from here, so that they can be laid side by side."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Self


@dataclass(frozen=True, slots=True)
class Stamp:
    """One instant."""

    ts: str
    """UTC wall time, ISO 8601 with microseconds and `Z`."""
    mono_ms: float
    """Milliseconds since the run began, on a clock that never goes back."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Gives stamps that share one origin. Wall time is derived from the monotonic clock, so both always agree."""

    origin_ns: int = field(default_factory=time.monotonic_ns)
    wall_ns: int = field(default_factory=time.time_ns)

    @classmethod
    def continued(cls, wall_ns: int, last: str | None) -> Self:
        """Return the clock of a run that began at `wall_ns` and goes on: it shows the time since then, pauses included.

        Where this machine's time was set back meanwhile, it goes on from the stamp `last`: it never goes back itself.
        """
        elapsed_ns = time.time_ns() - wall_ns
        if last is not None:
            elapsed_ns = max(elapsed_ns, round(datetime.fromisoformat(last).timestamp() * 1e6) * 1000 - wall_ns + 1000)
        return cls(origin_ns=time.monotonic_ns() - max(elapsed_ns, 0), wall_ns=wall_ns)

    def now(self) -> Stamp:
        """Return the present instant."""
        elapsed_ns = time.monotonic_ns() - self.origin_ns
        return Stamp(ts=iso(self.wall_ns + elapsed_ns), mono_ms=round(elapsed_ns / 1e6, 3))

    def mono_ms(self) -> float:
        """Return the milliseconds since the run began, for a duration that needs no wall time."""
        return round((time.monotonic_ns() - self.origin_ns) / 1e6, 3)


def iso(epoch_ns: int) -> str:
    """Write nanoseconds since the epoch as ISO 8601 in UTC, with microseconds."""
    seconds, rest = divmod(epoch_ns, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


@lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    """Write a whole second; a busy run asks for the same one thousands of times."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
