"""How long nothing has been heard of an agent. Pure: whoever asks says what time it is."""

from dataclasses import dataclass


@dataclass
class IdleClock:
    """Stands still while a model request is under way, and, if asked, while a tool call is open."""

    pause_in_tools: bool = False
    under_way: int = 0
    """Model requests."""
    open_calls: int = 0
    heard_s: float = 0.0
    """When something was last heard."""

    def heard(self, now: float) -> None:
        """Something was heard of the agent."""
        self.heard_s = now

    def idle_s(self, now: float) -> float:
        """Return for how long nothing has been."""
        if self.under_way or (self.pause_in_tools and self.open_calls):
            return 0.0
        return now - self.heard_s
