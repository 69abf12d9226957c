"""What was measured of a session: tokens, times, cost, tool calls, exchanges, and the budgets that it had."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchflow.errors import ErrorCode

CompletionReason = Literal["stop", "timeout", "error", "tool_limit"]
"""How a trial ended: the agent ended its turn, a time budget, an error (see `ErrorCode`), another budget."""


@dataclass(frozen=True, kw_only=True)
class TokenBreakdown:
    """Token counts of one exchange or one trial.

    `total = input + output + cache_read + cache_write` and `active = total - cache_read`.
    """

    input: int = 0
    """Prompt tokens, without cache reads and writes."""
    output: int = 0
    """Generated tokens, reasoning included."""
    reasoning: int = 0
    """The part of `output` that was reasoning."""
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    active: int = 0

    @classmethod
    def of(
        cls, *, input: int = 0, output: int = 0, reasoning: int = 0, cache_read: int = 0, cache_write: int = 0
    ) -> "TokenBreakdown":
        """Build a breakdown whose `total` and `active` follow from the rest."""
        fresh = input + output + cache_write
        return cls(
            input=input,
            output=output,
            reasoning=reasoning,
            cache_read=cache_read,
            cache_write=cache_write,
            total=fresh + cache_read,
            active=fresh,
        )

    def __add__(self, other: "TokenBreakdown") -> "TokenBreakdown":
        return TokenBreakdown.of(
            input=self.input + other.input,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, kw_only=True)
class TimingBreakdown:
    """Measured times, never a budget repeated."""

    wall_ms: float
    """From the first prompt sent to the last prompt's end."""
    segments: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage: `workspace`, `session` (of it `launch` and `handshake`), `prompt` (of it `model`, waiting
    on main exchanges), `stop`, `score`.
    """


@dataclass(frozen=True, kw_only=True)
class CostBreakdown:
    """Cost in US dollars."""

    total_usd: float | None
    """None: not known. It is never 0 for want of a price."""
    main_usd: float | None = None
    auxiliary_usd: float | None = None
    input_usd: float | None = None
    """Of the prompts, cached or not; with `output_usd` it makes the total. None: the prices do not tell them apart."""
    output_usd: float | None = None
    source: str | None = None
    """Where the prices come from, with their date."""


ToolStatus = Literal["pending", "in_progress", "completed", "failed"]


@dataclass(frozen=True, kw_only=True)
class ToolCallRecord:
    """One tool call of an agent."""

    id: str
    name: str
    kind: str
    """ACP's tool kind: read, edit, delete, move, search, execute, think, fetch, switch_mode, other."""
    status: ToolStatus
    """The last status seen; a call that the agent never closed stays `pending` or `in_progress`."""
    ms: float | None
    """From announcement to its final status; None if it was never closed."""
    exchange: str | None = None
    """Id of the exchange whose answer asked for this call, if the gateway saw it."""


@dataclass(frozen=True, kw_only=True)
class ToolCallBreakdown:
    """All tool calls of a trial."""

    total: int = 0
    by_category: Mapping[str, int] = field(default_factory=dict)
    """Count by ACP kind."""
    failed: int = 0
    retried: int = 0
    """Calls with the same name and arguments as the failed call before them."""
    error_rate: float | None = None
    """failed / total; None without calls."""
    records: tuple[ToolCallRecord, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ExchangeCounts:
    """How many model exchanges a trial had."""

    main: int = 0
    auxiliary: int = 0
    failed: int = 0
    """Of all, those that the upstream failed: 401, 403, 408, 429, 5xx, cut, or no answer."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that went wrong in a session although its prompt may have ended well."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, kw_only=True)
class SessionFacts:
    """What a provider measured over a whole session, late exchanges included."""

    agent_version: str | None = None
    """What the agent said of itself; None if it did not."""
    model_served: str | None = None
    """What the upstream said that it served, in the last main exchange."""
    isolation: str = "process"
    tokens: TokenBreakdown | None = None
    """None where nothing was metered."""
    cost: CostBreakdown = CostBreakdown(total_usd=None)
    exchanges: ExchangeCounts = ExchangeCounts()
    segments: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage, for `TimingBreakdown.segments`."""
    fault: Fault | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LimitHit:
    """A budget that ended a prompt, or warned of its end."""

    kind: str
    """`timeout_s`, `max_turns`, ..."""
    allowed: float
    used: float
    """As measured, not the budget repeated."""
    phase: Literal["soft", "hard"]
    counter: str
    """What was counted: `wall_clock`, `main_exchanges`, `tool_calls`, ..."""


Delivery = Literal["inject", "reprompt"]
"""How an agent is warned: in its own next model request, or by a prompt after its turn was cancelled."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The budgets of one trial. None: no such budget."""

    timeout_s: float | None = None
    """Seconds of wall time for all prompts of the trial together."""
    max_turns: int | None = None
    """Completed main exchanges; where the gateway sees none, tool calls that ended."""
    grace_turns: int | None = None
    """How many of them are left when the agent is warned. None: it is not warned of their end."""
    max_subagent_turns: int | None = None
    """Completed exchanges of all subagents together. None: as many as `max_turns`."""
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    """Tokens of all exchanges: input, output, cache reads and writes."""
    max_output_tokens: int | None = None
    max_cost_usd: float | None = None
    idle_timeout_s: float | None = None
    """Seconds in which nothing is heard of the agent, and no model request of its is under way."""
    idle_in_tools: bool | None = None
    """Time in which a tool call is open is idle time too. None: it is."""
    grace: float | None = None
    """The share of every budget but `max_turns` that is left when the agent is warned. None: it is not."""
    wrap_up: Delivery | None = None
    """None: by what is captured of the agent."""
    wrap_up_message: str | None = None
    """None: BenchFlow's own."""
