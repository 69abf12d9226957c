"""`GracefulTurnLimit`: warns an agent, once, some turns before its hard cap, so that it can deliver what it has.

It knows nothing of gateways, protocols or trials: whoever runs a loop feeds it events and polls it for messages.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from benchflow.contracts import Event


def default_wrap_up_message() -> str:
    """Return the directive that is given when the soft limit of the turns is reached. It names no tool."""
    return wrap_up_message("turn")


def wrap_up_message(budget: str) -> str:
    """Return the directive for a budget of this name: `turn`, `token`, `time`, ..."""
    return (
        f"You have used your {budget} budget. Stop calling work tools and deliver your final result now: say what you "
        "have accomplished, what remains to be done, and what you have found so far, however partial it is; then stop. "
        "Ask the user something only if it is truly required."
    )


class GracefulTurnLimit:
    """Counts completed turns, and has one message to give once the soft limit is reached.

    An `EventObserver` and a `SteeringSource`: hand it every event, and poll it before each further turn. Do not poll it
    when the work has ended: what has ended needs no warning.
    """

    name = "graceful_turn_limit"
    default_wrap_up_message = staticmethod(default_wrap_up_message)

    def __init__(
        self,
        max_turns: int,
        grace_turns: int,
        *,
        message_provider: Callable[[], str] | None = None,
        grace_provider: Callable[[], int] | None = None,
    ) -> None:
        """`message_provider` is called when the warning is given, and never else; `grace_provider` at every poll."""
        if not 0 < grace_turns < max_turns:
            raise ValueError(f"{grace_turns} turns of grace do not fit into {max_turns} turns; use from_hard_cap")
        self.max_turns = max_turns
        self._grace_turns = grace_turns
        self._message_provider = message_provider or default_wrap_up_message
        self._grace_provider = grace_provider
        self._completed = 0
        self._fired = False

    @classmethod
    def from_hard_cap(
        cls,
        max_turns: int,
        grace_turns: int,
        *,
        message_provider: Callable[[], str] | None = None,
        grace_provider: Callable[[], int] | None = None,
    ) -> Self | None:
        """Make the limit for a hard cap; None where the grace leaves no room for a warning: there is the cap alone.

        The static number alone decides that, whatever a provider would return.
        """
        if not 0 < grace_turns < max_turns:
            return None
        return cls(max_turns, grace_turns, message_provider=message_provider, grace_provider=grace_provider)

    @property
    def soft_limit(self) -> int:
        """After how many completed turns the warning is due; computed anew at each read."""
        grace = self._grace_turns if self._grace_provider is None else self._grace_provider()
        return self.max_turns - min(max(grace, 1), self.max_turns - 1)

    @property
    def fired(self) -> bool:
        """Whether the message was handed out: what ends before that has ended by itself, what ends later was asked."""
        return self._fired

    async def on_event(self, event: "Event") -> None:
        """Count the end of a turn; nothing else matters."""
        if event.type == "turn_end":
            self._completed += 1

    async def next_steering_messages(self) -> list[str]:
        """Return the message, once, when the soft limit is reached; else nothing."""
        if self._fired or not self._completed or self._completed < self.soft_limit:
            return []
        message = self._message_provider()
        self._fired = True  # nothing was awaited since it was looked at: of concurrent polls one gets the message
        return [message]
