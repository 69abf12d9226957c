"""The trace of a session: what happened in it, as typed values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchflow.contracts.measures import TokenBreakdown, ToolCallBreakdown, ToolCallRecord

EventType = Literal[
    "prompt_begin",
    "prompt_end",
    "turn_begin",
    "turn_end",
    "user_message",
    "agent_message",
    "agent_thought",
    "tool_call",
    "tool_call_update",
    "plan",
    "permission",
    "usage",
    "limit",
    "notice",
    "error",
    "unknown",
]


EventSource = Literal["acp", "gateway", "harness", "derived"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happened in a session, on the run's clock."""

    seq: int
    ts: str
    mono_ms: float
    type: EventType
    source: EventSource
    session_id: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """The rest, flattened into the event when it is written; `trace.py` lists the keys of each type."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One completed main exchange and what came of it."""

    index: int
    """From 0."""
    exchange: str
    started_ms: float
    duration_ms: float
    """Without the time for which the gateway held the request."""
    text: str
    thought: str
    tool_calls: Sequence[ToolCallRecord]
    tokens: TokenBreakdown | None
    ttft_ms: float | None = None
    """To the first byte of the answer, without the time for which the gateway held the request."""
    cost_usd: float | None = None
    """None: not known, or nothing was bought."""


@dataclass(frozen=True, kw_only=True)
class TraceSummary:
    total_turns: int
    total_tool_calls: int
    total_tokens: int | None
    total_duration_ms: float


@dataclass(frozen=True, kw_only=True)
class SessionTrace:
    """The typed value made from a trajectory, which plugins read."""

    session_id: str
    events: Sequence[Event]
    turns: Sequence[Turn]
    tool_calls: ToolCallBreakdown
    summary: TraceSummary
