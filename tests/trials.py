"""Writes the logs of a try as a session and a gateway write them, with times of the test's own."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from benchflow.clock import iso
from benchflow.contracts import CostBreakdown, TokenBreakdown
from benchflow.gateway.message import Assembled, Exchange, RawRequest, Role
from benchflow.gateway.records.bodies import BodyStore, store_compressed
from benchflow.gateway.records.exchanges import Recorded, write_line
from benchflow.redact import Redactor

TOKENS = TokenBreakdown.of(input=100, output=10)
"""What an exchange uses, where a test does not say."""

_EPOCH_NS = 1_795_000_000_000_000_000


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A tool call in a model's answer, and the result that the agent sends back with its next request."""

    id: str = "call_abcdef"
    name: str = "shell"
    arguments: dict[str, Any] = field(default_factory=lambda: {"command": "ls"})
    result: str = "file.txt"


class TryLogs:
    """Appends to the logs in one folder, at the milliseconds that it is told."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._frames = 0
        self._exchanges = 0
        self._turns = 0
        self._bodies = BodyStore(Redactor([]))
        self._messages: list[dict[str, Any]] = [{"role": "user", "content": "do it"}]

    def sent(self, ms: float, frame: dict[str, Any]) -> None:
        """A frame from the client to the agent."""
        self._frame(ms, "out", frame)

    def received(self, ms: float, frame: dict[str, Any]) -> None:
        """A frame from the agent."""
        self._frame(ms, "in", frame)

    def opened(self, session_id: str = "s-1") -> None:
        """Initialize and open a session."""
        self.sent(0, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
        self.received(1, {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}})
        self.sent(2, {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}})
        self.received(3, {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": session_id}})

    def prompted(self, ms: float, text: str = "do it", id: int = 2) -> None:
        """Send a prompt."""
        params = {"sessionId": "s-1", "prompt": [{"type": "text", "text": text}]}
        self.sent(ms, {"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params})

    def answered(self, ms: float, stop_reason: str = "end_turn", id: int = 2) -> None:
        """End the prompt."""
        self.received(ms, {"jsonrpc": "2.0", "id": id, "result": {"stopReason": stop_reason}})

    def update(self, ms: float, update: str, /, **fields: Any) -> None:
        """A `session/update`."""
        params = {"sessionId": "s-1", "update": {"sessionUpdate": update, **fields}}
        self.received(ms, {"jsonrpc": "2.0", "method": "session/update", "params": params})

    def said(self, ms: float, text: str) -> None:
        """A piece of the agent's message."""
        self.update(ms, "agent_message_chunk", content={"type": "text", "text": text})

    def permission(self, ms: float, id: int = 100, outcome: str = "allow", **call: Any) -> None:
        """A permission request and its answer."""
        options = [{"optionId": "allow", "kind": "allow_once", "name": "Allow"}]
        params = {"sessionId": "s-1", "toolCall": call, "options": options}
        self.received(ms, {"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params})
        result = {"outcome": {"outcome": "selected", "optionId": outcome}}
        self.sent(ms + 1, {"jsonrpc": "2.0", "id": id, "result": result})

    def limited(self, ms: float, **hit: Any) -> None:
        """A budget ends the session's work."""
        entry = {"seq": self._frames, "ts": iso(_EPOCH_NS + round(ms * 1e6)), "mono_ms": ms, "dir": "own", "limit": hit}
        self._frames += 1
        self._append("acp.ndjson", orjson.dumps(entry) + b"\n")

    def exchange(
        self,
        ms: float,
        duration_ms: float = 10,
        *,
        text: str = "",
        thought: str = "",
        calls: Sequence[Asked] = (),
        role: Role = "main",
        status: int = 200,
        tokens: TokenBreakdown | None = TOKENS,
        asked: Mapping[str, Any] | None = None,
    ) -> str:
        """One model exchange; a main one goes on with the conversation. Returns its id. `asked` adds to the request."""
        seq, self._exchanges = self._exchanges, self._exchanges + 1
        turn = self._turns if role == "main" and status < 400 else None
        self._turns += turn is not None
        request = RawRequest(
            method="POST",
            path="/v1/chat/completions",
            query="",
            headers=(("content-type", "application/json"),),
            body=orjson.dumps({"model": "gpt-x", "messages": self._messages, "tools": [], **(asked or {})}),
        )
        exchange = Exchange(
            id=f"x-{seq}",
            seq=seq,
            kind="generate",
            path=request.path,
            ts=iso(_EPOCH_NS + round(ms * 1e6)),
            mono_ms=ms,
            duration_ms=duration_ms,
            ttft_ms=1.0,
            role=role,
            role_reason="as the test says",
            turn=turn,
            origin="upstream",
            status=status,
            end="complete",
            model_asked="gpt-x",
            model_sent="gpt-x",
            model_answered="gpt-x",
            answer=Assembled(body=None, error="overloaded" if status >= 400 else None),
            tokens=tokens,
            cost=CostBreakdown(total_usd=0.001),
        )
        message = _message(text, thought, calls)
        finish = "tool_calls" if calls else "stop"
        answer = {"model": "gpt-x", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
        self._write_exchange(exchange, request, answer if status < 400 else {"error": {"message": "overloaded"}})
        if turn is not None:
            self._messages.append(message)
            self._messages += [{"role": "tool", "tool_call_id": call.id, "content": call.result} for call in calls]
        return exchange.id

    def _write_exchange(self, exchange: Exchange, request: RawRequest, body: Any) -> None:
        raw = orjson.dumps(body)
        line = write_line(
            exchange,
            trial="t",
            attempt=1,
            upstream="script",
            dialect="openai-completions",
            request=request,
            received=Recorded(
                headers=request.headers,
                stored=self._bodies.store(exchange.seq, request.body),
                size=len(request.body),
                sha256=hashlib.sha256(request.body).hexdigest(),
            ),
            sha256_forwarded=None,
            response=Recorded(
                headers=(("content-type", "application/json"),),
                stored=store_compressed(raw),
                size=len(raw),
                sha256=hashlib.sha256(raw).hexdigest(),
            ),
            body=body,
        )
        self._append("llm.jsonl", line)

    def _frame(self, ms: float, direction: str, frame: dict[str, Any]) -> None:
        ts = iso(_EPOCH_NS + round(ms * 1e6))
        entry = {"seq": self._frames, "ts": ts, "mono_ms": ms, "dir": direction, "frame": frame}
        self._frames += 1
        self._append("acp.ndjson", orjson.dumps(entry) + b"\n")

    def _append(self, name: str, line: bytes) -> None:
        with (self.folder / name).open("ab") as file:
            file.write(line)


def _message(text: str, thought: str, calls: Sequence[Asked]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": orjson.dumps(call.arguments).decode()},
            }
            for call in calls
        ]
    return message


def two_turns(folder: Path) -> TryLogs:
    """The logs of a plain session: a shell call, then the answer."""
    logs = TryLogs(folder)
    logs.opened()
    logs.prompted(10)
    logs.exchange(20, thought="I look.", text="Let me see.", calls=[Asked()])
    logs.said(31, "Let me ")
    logs.said(32, "see.")
    logs.update(33, "tool_call", toolCallId="call_abcdef", title="ls", kind="execute", rawInput={"command": "ls"})
    output = [{"type": "content", "content": {"type": "text", "text": "file.txt"}}]
    logs.update(40, "tool_call_update", toolCallId="call_abcdef", status="completed", content=output)
    logs.exchange(50, text="There is file.txt.")
    logs.said(61, "There is file.txt.")
    logs.answered(70)
    return logs
