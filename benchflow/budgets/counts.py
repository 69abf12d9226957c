"""What a trial has used so far, counted from its exchanges and from what the agent shows over ACP."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchflow.contracts import Event, EventType
from benchflow.gateway.message import Exchange
from benchflow.hosting.acp_usage import AcpUsage
from benchflow.trajectories.tools import ToolLedger


@dataclass
class Counts:
    """Takes exchanges as they end, and ACP events as they come."""

    captured: bool = False
    """The gateway has seen a main request. Until then tool calls stand in for turns."""
    turns: int = 0
    """Completed main exchanges."""
    subagent_turns: int = 0
    tokens: int = 0
    output_tokens: int = 0
    asked_calls: int = 0
    """Tool calls that the model asked for in main exchanges."""
    _cost_usd: float | None = None
    _tools: ToolLedger = field(default_factory=ToolLedger)
    _usage: AcpUsage = field(default_factory=AcpUsage)

    def exchange_ended(self, exchange: Exchange) -> None:
        """Take an exchange."""
        self.turns += exchange.turn is not None
        self.subagent_turns += exchange.role == "subagent" and exchange.succeeded
        if exchange.turn is not None:
            self.asked_calls += len(exchange.answer.tool_calls)
        if exchange.tokens is not None:
            self.tokens += exchange.tokens.total
            self.output_tokens += exchange.tokens.output
        if exchange.cost.total_usd is not None:
            self._cost_usd = (self._cost_usd or 0.0) + exchange.cost.total_usd

    def acp_event(self, kind: EventType, data: Mapping[str, Any], mono_ms: float) -> None:
        """Take what the agent shows."""
        if kind in ("tool_call", "tool_call_update"):
            self._tools.see(Event(seq=0, ts="", mono_ms=mono_ms, type=kind, source="acp", session_id="", data=data))
        elif kind == "usage":
            self._usage.updated(data)

    @property
    def shown_calls(self) -> int:
        """Tool calls that the agent has shown."""
        return len(self._tools.calls)

    @property
    def open_calls(self) -> int:
        """Those of them that have not ended."""
        return sum(call.closed_ms is None for call in self._tools.calls)

    @property
    def ended_calls(self) -> int:
        """Those that have."""
        return self.shown_calls - self.open_calls

    @property
    def cost_usd(self) -> float | None:
        """As priced, or as the agent says where the gateway sees nothing; None: not known."""
        return self._cost_usd if self.captured else self._usage.cost.total_usd
