"""What upstream keeps of a session: `acp_trajectory.jsonl`, one merged event a line, and `llm_trajectory.jsonl`."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchflow.contracts import Event
from benchflow.gateway.message import Headers
from benchflow.gateway.records.exchanges import RecordedExchange
from benchflow.report.exports.facts import without_none
from benchflow.report.exports.record import TrialRecord, request_object
from benchflow.trajectories.tools import ToolCall
from benchflow.trajectories.trajectory import later

_TEXTS = ("agent_message", "agent_thought")
_SKILL_NAMES = {"skill", "invoke_skill", "activate_skill"}


def acp_lines(record: TrialRecord) -> list[dict[str, Any]]:
    """Return the session's events as upstream has them: chunks joined, a call once, in its final state."""
    waiting = deque(sorted(record.calls, key=lambda call: call.began_ms))
    lines: list[dict[str, Any]] = []
    for event in record.events:
        while waiting and waiting[0].began_ms <= event.mono_ms:
            lines.append(_tool_line(waiting.popleft()))
        line = _text_line(event)
        if line is None:
            continue
        if lines and lines[-1]["type"] == line["type"] and line["type"] in _TEXTS:
            lines[-1]["text"].append(line["text"])
        else:
            lines.append({**line, "text": [line["text"]]})
    for line in lines:
        if "text" in line:
            line["text"] = "".join(line["text"])
    lines += [_tool_line(call) for call in waiting]
    return [*lines, *_timeout_line(record)]


def _text_line(event: Event) -> dict[str, Any] | None:
    if event.type == "prompt_begin":
        return {"type": "user_message", "text": str(event.data["text"])}
    if event.type in _TEXTS and event.data.get("text"):
        return {"type": event.type, "text": str(event.data["text"])}
    return None


def _tool_line(call: ToolCall) -> dict[str, Any]:
    line = {
        "type": "tool_call",
        "tool_call_id": call.id,
        "kind": call.kind,
        "title": call.title or call.name,
        "status": call.status,
        "content": list(call.content),
    }
    raw = {"raw_input": call.raw_input, "raw_output": call.raw_output}
    return {**line, **without_none(raw)}


def _timeout_line(record: TrialRecord) -> Iterator[dict[str, Any]]:
    row = record.row
    if row.completion_reason == "timeout" and row.limit:
        pending = [call.id for call in record.calls if call.status in ("pending", "in_progress")]
        yield {
            "type": "agent_timeout",
            "reason": "wall_clock_timeout",
            "timeout_sec": row.limit.allowed,
            "pending_tool_call_ids": pending,
            "terminal_trajectory_complete": not pending,
        }


def summarize(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Count the lines as `result.json` has them in `trajectory_summary`."""
    types = Counter(line["type"] for line in lines)
    statuses = Counter(line["status"] for line in lines if line["type"] == "tool_call")
    named = ("tool_call", "user_message", "agent_message", "agent_thought")
    return {
        "steps": len(lines),
        **{f"{name}_steps": types[name] for name in named},
        "other_steps": len(lines) - sum(types[name] for name in named),
        "event_type_counts": dict(types),
        "tool_call_status_counts": dict(statuses),
    }


def count_skills(lines: Iterable[Mapping[str, Any]]) -> int:
    """Count the calls that are named as invocations of a skill."""
    return sum(
        line["type"] == "tool_call" and bool({line["kind"], line["title"].lower().replace("-", "_")} & _SKILL_NAMES)
        for line in lines
    )


def llm_lines(record: TrialRecord) -> Iterator[dict[str, Any] | str]:
    """Yield the exchanges as upstream has them, and a text for each that it has no words for."""
    for recorded in record.exchanges:
        line = recorded.line
        response = line["response"]
        if line["kind"] != "generate":
            continue
        if line["status"] is None or response is None:
            yield f"exchange {recorded.id}: no response came ({line['end']}); a line of llm_trajectory.jsonl has one"
            continue
        request = request_object(recorded)
        if request is None:
            yield f"exchange {recorded.id}: the body of its request is no JSON object"
            continue
        yield _llm_line(recorded, request)


def _llm_line(recorded: RecordedExchange, request: dict[str, Any]) -> dict[str, Any]:
    line = recorded.line
    response = line["response"]
    own = {"id": recorded.id, "role": line["role"], "turn": line["turn"], "end": line["end"], "error": line["error"]}
    body = response["body"]
    return {
        "request": {
            "timestamp": line["ts"],
            "method": line["method"],
            "path": line["path"],
            "headers": _headers(line["request"]["headers"]),
            "body": request,
        },
        "response": {
            "timestamp": later(line["ts"], line["duration_ms"]),
            "status_code": line["status"],
            "headers": _headers(response["headers"]),
            "body": body if isinstance(body, dict) else {},
        },
        "duration_ms": line["duration_ms"],
        "metadata": {"call_purpose": "helper" if line["role"] == "auxiliary" else "agent", "benchflow": own},
    }


def _headers(pairs: Headers) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined
