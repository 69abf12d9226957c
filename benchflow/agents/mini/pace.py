"""How long mini works on one prompt, and whether it warns itself before it has to stop."""

import time
from dataclasses import dataclass

MOST_TURNS = 500
"""Requests to the model in one prompt turn, where nobody says how many."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The turns of a prompt."""

    max_turns: int = MOST_TURNS
    grace_turns: int = 0
    """How many are left when it tells itself to wrap up. 0: it does not."""

    def begin(self) -> "Turns":
        """Begin to count the turns of a prompt."""
        return Turns(self)


class Turns:
    """The turns of one prompt, with `GracefulTurnLimit` as observer and steering source."""

    def __init__(self, pace: Pace) -> None:
        self._done = 0
        self._limit = None
        if pace.grace_turns:
            from benchflow.limits import GracefulTurnLimit  # off by default, and mini starts in every trial

            self._limit = GracefulTurnLimit.from_hard_cap(pace.max_turns, pace.grace_turns)

    async def completed(self) -> list[str]:
        """Count a turn after which there is more to do; return what the model is to be told in the next one."""
        if self._limit is None:
            return []
        from benchflow.contracts import Event

        now_ms = time.monotonic() * 1000
        await self._limit.on_event(
            Event(seq=self._done, ts="", mono_ms=now_ms, type="turn_end", source="derived", session_id="")
        )
        self._done += 1
        return await self._limit.next_steering_messages()
