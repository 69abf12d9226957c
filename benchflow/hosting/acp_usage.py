"""What an agent says of its own usage over ACP, where the gateway saw none of it.

`PromptResponse.usage` is unstable in the protocol: its schema speaks of a turn in one place and of the session in
another, and agents differ. `usage_update` has the cost of the session so far; its token counts are the context's fill.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchflow.contracts import CostBreakdown, TokenBreakdown

SOURCE = "acp"


class AcpUsage:
    """Collects what one session's agent says."""

    def __init__(self) -> None:
        self._said: list[TokenBreakdown] = []
        self._unclear = False
        self._cost_usd: float | None = None

    def prompt_ended(self, usage: Any) -> None:
        """Take the usage of a prompt's response as sent, None included."""
        tokens = read_tokens(usage)
        if tokens is None:
            self._unclear = True  # a sum without it would be too small
        else:
            self._said.append(tokens)

    def updated(self, update: Mapping[str, Any]) -> None:
        """Take the data of a `usage` event."""
        cost = update.get("cost")
        amount = cost.get("amount") if isinstance(cost, dict) and cost.get("currency") == "USD" else None
        if isinstance(amount, int | float) and not isinstance(amount, bool) and amount >= 0:
            self._cost_usd = float(amount)

    @property
    def tokens(self) -> TokenBreakdown | None:
        """Those of the session; None where the agent did not say, or not clearly."""
        return None if self._unclear else session_tokens(self._said)

    @property
    def cost(self) -> CostBreakdown:
        """That of the session, in US dollars, as the agent says."""
        said = self._cost_usd is not None
        return CostBreakdown(total_usd=self._cost_usd, source=SOURCE if said else None)

    @property
    def source(self) -> str | None:
        """Where tokens or cost are from; None: there are neither."""
        return SOURCE if self.tokens is not None or self._cost_usd is not None else None


def session_tokens(said: Sequence[TokenBreakdown]) -> TokenBreakdown | None:
    """Return the tokens of a session from what was said at the end of each prompt.

    Counts that fall from one prompt to the next are of a prompt each, and are added up. Counts that never fall may be
    either, and then nobody knows: None.
    """
    if len(said) == 1:
        return said[0]
    falls = any(
        after.input < before.input or after.output < before.output or after.total < before.total
        for before, after in pairwise(said)
    )
    return sum(said, TokenBreakdown()) if falls else None


def read_tokens(usage: Any) -> TokenBreakdown | None:
    """Read `PromptResponse.usage`. None where it is not what the protocol says."""
    if not isinstance(usage, dict):
        return None
    total, given, out = (_count(usage, name) for name in ("totalTokens", "inputTokens", "outputTokens"))
    if given is None or out is None:
        return None
    thought, read, written = (
        _count(usage, name) or 0 for name in ("thoughtTokens", "cachedReadTokens", "cachedWriteTokens")
    )
    cached = read + written
    counted_in = {  # the total tells what is counted in what: cached tokens in the prompt, thoughts beside the answer
        given + out: (cached, 0),
        given + out + thought: (cached, thought),
        given + out + cached: (0, 0),
        given + out + cached + thought: (0, thought),
    }
    within, beside = counted_in.get(total, (0, 0)) if total is not None else (0, 0)
    out += beside
    return TokenBreakdown.of(
        input=max(0, given - within), output=out, reasoning=min(thought, out), cache_read=read, cache_write=written
    )


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
