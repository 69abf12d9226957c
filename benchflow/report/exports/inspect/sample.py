"""A trial as one of Inspect's samples. What is unscored has no score, and an error that says why."""

import math
from collections.abc import Iterator
from typing import Any

from benchflow.contracts import LimitHit, TokenBreakdown
from benchflow.gateway.message import ToolUse
from benchflow.report.exports.facts import row_facts, seconds_between, without_none
from benchflow.report.exports.inspect.events import Transcript
from benchflow.report.exports.inspect.messages import chat_messages, model_output, tool_call, usage
from benchflow.report.exports.record import Call, Prompt, TrialRecord, Turn
from benchflow.row import ProfileRow

SCORER = "verifier"
_LIMITS = {
    "timeout_s": "time",
    "max_turns": "turn",
    "max_tokens": "token",
    "max_cost_usd": "cost",
}
"""Inspect's word for a budget, by ours; another one of ours is `custom` there."""


def make_sample(record: TrialRecord, model: str) -> dict[str, Any]:
    """Make the sample of a trial. `model` is the cell's, as the log names it."""
    row = record.row
    transcript = Transcript(record, model)
    events = transcript.events()
    turns = record.turns
    score = make_score(row, turns[-1].exchange.answer.text if turns else None)
    return without_none(
        {
            "id": row.scenario_id,
            "epoch": row.iteration + 1,
            "input": "\n\n".join(prompt.text for prompt in record.prompts),
            "target": "",
            "messages": list(_messages(record)),
            "output": model_output(turns[-1].exchange, turns[-1].exchange.model_answered or model) if turns else None,
            "scores": {SCORER: score} if score else None,
            "metadata": {"benchflow": row_facts(row)},
            "store": {},
            "events": events,
            "events_data": transcript.pools,
            "model_usage": model_usage(record, model),
            "started_at": row.started_at,
            "completed_at": row.completed_at,
            "total_time": seconds_between(row.started_at, row.completed_at),
            "uuid": row.trial,
            "error": None if row.success is not None else make_error(row),
            "limit": _limit(row.limit) if row.completion_reason in ("timeout", "tool_limit") else None,
            "turn_count": row.agent_turns,
            "attachments": {},
        }
    )


def make_score(row: ProfileRow, answer: str | None) -> dict[str, Any] | None:
    """Make the score of a trial; None: it is unscored."""
    if row.score is None:
        return None
    checks = "\n".join(
        f"{'pass' if check.passed else 'FAIL'} {check.id}: {check.description}" for check in row.check_details
    )
    metadata = {"success": row.success, "checks_passed": row.checks_passed, "checks_total": row.checks_total}
    return without_none({"value": row.score, "answer": answer, "explanation": checks or None, "metadata": metadata})


def make_error(row: ProfileRow) -> dict[str, str]:
    """Say why a trial is unscored. There is no traceback: what failed was another process."""
    return {"message": f"{row.error_code}: {row.error}", "traceback": "", "traceback_ansi": ""}


def model_usage(record: TrialRecord, model: str) -> dict[str, Any]:
    """Return what each model used: together what the row says."""
    row = record.row
    if row.tokens is None:
        return {}
    by_model: dict[str, list[tuple[TokenBreakdown, float | None]]] = {}
    provider = model.rpartition("/")[0]
    for recorded in record.exchanges:
        exchange = recorded.exchange
        if exchange.tokens:
            name = exchange.model_sent or exchange.model_asked or row.model
            by_model.setdefault(f"{provider}/{name}", []).append((exchange.tokens, exchange.cost.total_usd))
    if len(by_model) > 1 and _sum(pair for used in by_model.values() for pair in used) == row.tokens:
        return {name: usage(_sum(used), _cost([cost for _, cost in used])) for name, used in by_model.items()}
    return {model: usage(row.tokens, row.cost.total_usd)}


def _sum(used: Any) -> TokenBreakdown:
    return sum((tokens for tokens, _ in used), TokenBreakdown())


def _cost(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None


def _messages(record: TrialRecord) -> Iterator[dict[str, Any]]:
    """The conversation: the last main request with its answer, or, where no exchange was seen, what ACP shows of it."""
    turns = record.turns
    if turns and (parsed := turns[-1].recorded.parsed):
        yield from chat_messages(parsed.messages)
        yield model_output(turns[-1].exchange, turns[-1].exchange.model_answered or record.row.model)["choices"][0][
            "message"
        ]
        return
    for step in record.steps:
        if isinstance(step, Prompt):
            yield {"role": "user", "content": step.text}
        elif not isinstance(step, Turn):
            yield _said(step.text, step.thought, step.calls)
            yield from (_result(call) for call in step.calls if call.output is not None)


def _said(text: str, thought: str, calls: Any) -> dict[str, Any]:
    reasoning = [{"type": "reasoning", "reasoning": thought}] if thought else []
    content = [*reasoning, {"type": "text", "text": text}] if reasoning else text
    asked = [tool_call(ToolUse(id=call.id, name=call.name, arguments=call.object)) for call in calls]
    return without_none({"role": "assistant", "content": content, "tool_calls": asked or None})


def _result(call: Call) -> dict[str, Any]:
    return {"role": "tool", "content": call.output, "tool_call_id": call.id, "function": call.name}


def _limit(limit: LimitHit | None) -> dict[str, Any] | None:
    return {"type": _LIMITS.get(limit.kind, "custom"), "limit": limit.allowed} if limit else None
