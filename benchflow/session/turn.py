"""One prompt turn, from the prompt to whatever ends it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from benchflow.session.connection import Reply

LOOK_AGAIN_S = 0.05
"""How often a clock is looked at that stood still while a turn's time ran out."""


@dataclass(frozen=True, kw_only=True)
class PromptOutcome:
    """How a prompt turn ended."""

    stop_reason: str | None
    """The agent's own word, known to the protocol or not; None: it gave none, or never ended the turn."""
    ended: bool = True
    """The agent ended the turn. False: it died or was given up while cancelled, and may still be at work."""
    cancelled: bool = False
    """We asked it to end the turn."""
    timed_out: bool = False
    """We asked because the prompt's time was up."""
    waited_s: float | None = field(default=None, compare=False)
    """After how many seconds of the agent's time it was up, as measured; None: it was not."""
    usage: Mapping[str, Any] | None = None
    """`PromptResponse.usage` as sent."""


class GivenUp(Exception):
    """The agent did not end a cancelled turn in time."""


class Turn:
    """An open turn. What waits for its end needs not know how the protocol signals it.

    In version 1 the prompt's response does; in the draft of version 2 an update of the session's state will.
    """

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.cancelled = False

    async def end(self) -> Any:
        """Wait for the end; return the agent's last word on it. Raises RpcError, PeerGone or GivenUp."""
        return await self.reply.wait()

    async def ends_within(self, seconds: float, now: Callable[[], float] = anyio.current_time) -> bool:
        """Wait for the end, for so long at most on the clock `now`, which may stand still; say whether it came."""
        deadline = now() + seconds
        left = seconds
        while True:
            with anyio.move_on_after(left):
                await self.reply.settled.wait()
            if self.reply.settled.is_set() or now() >= deadline:
                return self.reply.settled.is_set()
            left = max(deadline - now(), LOOK_AGAIN_S)

    def give_up(self) -> None:
        """Stop waiting for the end."""
        if not self.reply.settled.is_set():
            self.reply.fail(GivenUp())
