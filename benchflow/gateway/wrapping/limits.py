"""The limits of one upstream, and whether the next request may go. Pure: whoever asks says what time it is."""

from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast requests may go to an upstream. None: no such limit."""

    max_requests: int | None = None
    """Under way at once."""
    rpm: int | None = None
    """Begun in any minute."""
    tpm: int | None = None
    """Tokens of what was begun in any minute: estimated at first, then as metered."""
    max_wait_s: float = 300.0
    """The longest wait that an upstream can ask of a request; one that would have to wait longer is refused at once."""
    minute_s: float = 60.0


@dataclass(slots=True)
class Spent:
    """What one request took from a window."""

    at_s: float
    amount: float


@dataclass(slots=True)
class Window:
    """So much in any stretch of so many seconds."""

    limit: float
    seconds: float
    spent: deque[Spent] = field(default_factory=deque)

    def wait_s(self, now: float, amount: float) -> float:
        """Return how long `amount` must wait. What is more than the whole limit waits until the window is empty."""
        while self.spent and self.spent[0].at_s + self.seconds <= now:
            self.spent.popleft()
        left = self.limit - sum(entry.amount for entry in self.spent)
        wait_s = 0.0
        for entry in self.spent:
            if left >= amount:
                break
            left += entry.amount
            wait_s = entry.at_s + self.seconds - now
        return wait_s

    def spend(self, now: float, amount: float) -> Spent:
        """Take an amount; it can be corrected as long as the window holds it."""
        entry = Spent(now, amount)
        self.spent.append(entry)
        return entry


class Limits:
    """What is left of an upstream's limits."""

    def __init__(self, pace: Pace) -> None:
        self._most = pace.max_requests
        self._requests = Window(pace.rpm, pace.minute_s) if pace.rpm else None
        self._tokens = Window(pace.tpm, pace.minute_s) if pace.tpm else None
        self._under_way = 0
        self.paused_until_s = 0.0
        """Until when the upstream asked everybody to wait."""

    def pause(self, now: float, seconds: float) -> None:
        """Let nothing begin for so long."""
        self.paused_until_s = max(self.paused_until_s, now + seconds)

    def wait_s(self, now: float, tokens: float) -> float:
        """Return how long a request must wait: 0 for not at all, infinite for until another one ends."""
        if self._most is not None and self._under_way >= self._most:
            return float("inf")
        wait_s = max(0.0, self.paused_until_s - now)
        if self._requests:
            wait_s = max(wait_s, self._requests.wait_s(now, 1))
        if self._tokens:
            wait_s = max(wait_s, self._tokens.wait_s(now, tokens))
        return wait_s

    def begin(self, now: float, tokens: float) -> Spent | None:
        """A request begins. What it takes of the tokens can be corrected."""
        self._under_way += 1
        if self._requests:
            self._requests.spend(now, 1)
        return self._tokens.spend(now, tokens) if self._tokens else None

    def end(self) -> None:
        """A request is over."""
        self._under_way -= 1
