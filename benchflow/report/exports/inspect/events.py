"""A trial's exchanges and tool calls as Inspect's events, in the order of the clock.

A conversation is sent whole with every request. Its messages, and those in the requests' bodies, stand once in the
sample's pools, so that a log grows with what is new.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchflow.gateway.message import Exchange
from benchflow.gateway.records.exchanges import RecordedExchange
from benchflow.report.exports.facts import without_none
from benchflow.report.exports.inspect.messages import (
    Pool,
    chat_messages,
    model_output,
    tool_choice,
    tool_infos,
)
from benchflow.report.exports.record import Call, Prompt, TrialRecord, request_object
from benchflow.trajectories.trajectory import describe_failure, later

LARGEST_CALL = 4_000_000
"""A request or a response of more bytes than this is left out of its event, which says so."""
_CONVERSATIONS = ("messages", "input", "contents")
"""Where the dialects have the conversation in a request's body."""


@dataclass(frozen=True)
class Transcript:
    """The events of one trial, and the pools that they refer to."""

    record: TrialRecord
    model: str
    messages: Pool = field(default_factory=Pool)
    calls: Pool = field(default_factory=Pool)

    def events(self) -> list[dict[str, Any]]:
        """Return the events; the pools are whole afterwards."""
        timed = [*self._model_events(), *self._tool_events()]
        timed.sort(key=lambda event: event["working_start"])
        return timed

    @property
    def pools(self) -> dict[str, Any]:
        """Return what the events refer to."""
        return {"messages": self.messages.values, "calls": self.calls.values}

    @property
    def _origin_ms(self) -> float:
        begins = [step.mono_ms for step in self.record.steps] + [line.line["mono_ms"] for line in self.record.exchanges]
        return min(begins, default=0.0)

    def _since(self, mono_ms: float) -> float:
        return round((mono_ms - self._origin_ms) / 1000, 6)

    def _model_events(self) -> Iterator[dict[str, Any]]:
        for recorded in self.record.exchanges:
            exchange = recorded.exchange
            if exchange.kind == "generate":
                yield self._model_event(recorded, exchange)

    def _model_event(self, recorded: RecordedExchange, exchange: Exchange) -> dict[str, Any]:
        parsed = recorded.parsed
        call, note = self._call(recorded, exchange)
        said = exchange.model_answered or exchange.model_sent or exchange.model_asked or self.model
        own = {
            "exchange": exchange.id,
            "role": exchange.role,
            "role_reason": exchange.role_reason,
            "turn": exchange.turn,
            "call_left_out": note,
        }
        return without_none(
            {
                "event": "model",
                "uuid": exchange.id,
                "timestamp": exchange.ts,
                "working_start": self._since(exchange.mono_ms),
                "model": self.model,
                "role": None if exchange.role == "main" else exchange.role,
                "input": [],
                "input_refs": self.messages.refer(chat_messages(parsed.messages) if parsed else ()),
                "tools": tool_infos(parsed.tools) if parsed else [],
                "tool_choice": tool_choice(parsed.tool_choice if parsed else None),
                "config": {},
                "output": model_output(exchange, said),
                "retries": len(exchange.attempts) - 1 if len(exchange.attempts) > 1 else None,
                "error": None if exchange.succeeded else describe_failure(exchange),
                "call": call,
                "completed": later(exchange.ts, exchange.duration_ms),
                "working_time": round(exchange.latency_ms / 1000, 6),
                "metadata": {"benchflow": without_none(own)},
            }
        )

    def _call(self, recorded: RecordedExchange, exchange: Exchange) -> tuple[dict[str, Any] | None, str | None]:
        """The bodies of an exchange as they were on the wire; or why they are not there."""
        response = recorded.line["response"]
        size = max(recorded.line["request"]["bytes"], response["bytes"] if response else 0)
        if size > LARGEST_CALL:
            return None, f"{size} bytes, more than {LARGEST_CALL}"
        request = request_object(recorded)
        if request is None:
            return None, "the request's body is no JSON object"
        body = response["body"] if response else None
        return {
            **self._pooled(request),
            "response": body if isinstance(body, dict) else None,
            "error": not exchange.succeeded,
            "time": round(exchange.duration_ms / 1000, 6),
        }, None

    def _pooled(self, request: dict[str, Any]) -> dict[str, Any]:
        key = next((key for key in _CONVERSATIONS if isinstance(request.get(key), list) and request[key]), None)
        if key is None:
            return {"request": request}
        rest = {name: value for name, value in request.items() if name != key}
        return {"request": rest, "call_refs": self.calls.refer(request[key]), "call_key": key}

    def _tool_events(self) -> Iterator[dict[str, Any]]:
        for step in self.record.steps:
            for call in () if isinstance(step, Prompt) else step.calls:
                yield self._tool_event(call)

    def _tool_event(self, call: Call) -> dict[str, Any]:
        took_ms = None if call.ended_ms is None else call.ended_ms - call.mono_ms
        failed = call.status == "failed"
        own = {"title": call.title, "kind": call.kind, "status": call.status, "shown": call.shown}
        return without_none(
            {
                "event": "tool",
                "timestamp": call.ts,
                "working_start": self._since(call.mono_ms),
                "type": "function",
                "id": call.id,
                "function": call.name,
                "arguments": dict(call.object),
                "result": call.output or "",
                "error": {"type": "unknown", "message": call.output or "failed"} if failed else None,
                "failed": failed or None,
                "completed": None if took_ms is None else later(call.ts, took_ms),
                "working_time": None if took_ms is None else round(took_ms / 1000, 6),
                "metadata": {"benchflow": {**own, "exchange": call.exchange}},
            }
        )
