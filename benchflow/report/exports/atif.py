"""ATIF 1.7, the trajectory format of Harbor: one document a trial.

Token counts are cache-inclusive there. What the totals hold beyond the steps (auxiliary, failed and subagents'
exchanges) stands in `final_metrics.extra`, so that steps and rest add up to the row.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from benchflow.contracts import TokenBreakdown
from benchflow.report.exports.facts import PLAYED_NOTE, prompt_tokens, row_facts, without_none
from benchflow.report.exports.record import Act, Call, LeftOut, Prompt, Step, TrialRecord, Turn, read_records
from benchflow.report.verdict import is_played
from benchflow.store import StoredRun

SCHEMA = "ATIF-v1.7"


def write(run: StoredRun, out: Path) -> Iterator[Path | LeftOut]:
    """Write `<trial>.json` for each trial that has a step."""
    for record in read_records(run):
        document = record if isinstance(record, LeftOut) else make_document(record)
        if isinstance(document, LeftOut):
            yield document
            continue
        path = out / f"{document['trajectory_id']}.json"
        path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
        yield path


def make_document(record: TrialRecord) -> dict[str, Any] | LeftOut:
    """Make the document of a trial; ATIF has none without a step."""
    row = record.row
    steps = [*_system(record), *(_step(step) for step in record.steps)]
    if not steps:
        return LeftOut(what=row.trial, reason=f"it has no step, and ATIF needs one ({row.error or 'nothing was said'})")
    opening = record.opening
    tools = [_tool(tool) for tool in opening.tools] if opening else []
    return without_none(
        {
            "schema_version": SCHEMA,
            "session_id": row.session_id or row.trial,
            "trajectory_id": row.trial,
            "agent": without_none(
                {
                    "name": row.agent,
                    "version": row.agent_version or "unknown",
                    "model_name": row.model,
                    "tool_definitions": tools or None,
                    "extra": {"benchflow": {"digest": row.agent_digest}},
                }
            ),
            "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
            "notes": " ".join(_notes(record)) or None,
            "final_metrics": _final_metrics(record, len(steps)),
            "extra": {"benchflow": row_facts(row)},
        }
    )


def _notes(record: TrialRecord) -> Iterator[str]:
    if is_played(record.row.upstream):
        yield PLAYED_NOTE
    if record.row.success is None:
        yield f"Unscored ({record.row.error_code}): neither a pass nor a failure."
    if record.outside:
        yield (
            f"The totals include {len(record.outside)} exchanges that are no step (auxiliary, failed, subagents'): "
            "final_metrics.extra.benchflow.outside_steps."
        )


def _system(record: TrialRecord) -> Iterator[dict[str, Any]]:
    opening = record.opening
    texts = (
        [text for message in opening.messages if message.role == "system" for text in message.texts] if opening else []
    )
    if texts:
        yield {"timestamp": record.turns[0].ts, "source": "system", "message": "\n\n".join(texts)}


def _tool(tool: Any) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": tool.kind, "function": function}


def _step(step: Step) -> dict[str, Any]:
    match step:
        case Prompt():
            return {"timestamp": step.ts, "source": "user", "message": step.text}
        case Turn():
            return _turn_step(step)
        case Act():
            said = {"message": step.text, "reasoning_content": step.thought or None}
            return without_none({"timestamp": step.ts, "source": "agent", **said, **_calls(step.calls)})


def _turn_step(turn: Turn) -> dict[str, Any]:
    exchange = turn.exchange
    cost = exchange.cost.total_usd
    return without_none(
        {
            "timestamp": exchange.ts,
            "source": "agent",
            "model_name": exchange.model_answered or exchange.model_sent or exchange.model_asked,
            "message": exchange.answer.text,
            "reasoning_content": exchange.answer.thought or None,
            **_calls(turn.calls),
            "metrics": _metrics(exchange.tokens, cost) if exchange.tokens or cost is not None else None,
            "llm_call_count": 1,
            "extra": {"benchflow": {"exchange_ids": [exchange.id], "turn": exchange.turn}},
        }
    )


def _metrics(tokens: TokenBreakdown | None, cost_usd: float | None) -> dict[str, Any]:
    counted = _counts("", tokens) if tokens else {}
    extra = {"cache_write_tokens": tokens.cache_write, "reasoning_tokens": tokens.reasoning} if tokens else None
    return without_none({**counted, "cost_usd": cost_usd, "extra": extra})


def _counts(prefix: str, tokens: TokenBreakdown) -> dict[str, int]:
    return {
        f"{prefix}prompt_tokens": prompt_tokens(tokens),
        f"{prefix}completion_tokens": tokens.output,
        f"{prefix}cached_tokens": tokens.cache_read,
    }


def _calls(calls: Sequence[Call]) -> dict[str, Any]:
    """The calls of a step, and what came of them, under ids that differ within it."""
    if not calls:
        return {}
    named = list(zip(_distinct(call.id for call in calls), calls, strict=True))
    results = [{"source_call_id": id, "content": call.output} for id, call in named if call.output is not None]
    return without_none(
        {
            "tool_calls": [_tool_call(id, call) for id, call in named],
            "observation": {"results": results} if results else None,
        }
    )


def _tool_call(id: str, call: Call) -> dict[str, Any]:
    own = {
        "title": call.title,
        "kind": call.kind,
        "status": call.status,
        "shown": call.shown,
        "ms": None if call.ended_ms is None else round(call.ended_ms - call.mono_ms, 3),
    }
    return {
        "tool_call_id": id,
        "function_name": call.name,
        "arguments": dict(call.object),
        "extra": {"benchflow": without_none(own)},
    }


def _distinct(ids: Iterable[str]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for id in ids:
        seen[id] = seen.get(id, 0) + 1
        yield id if seen[id] == 1 else f"{id}#{seen[id]}"


def _final_metrics(record: TrialRecord, steps: int) -> dict[str, Any]:
    row = record.row
    outside = [recorded.exchange for recorded in record.outside]
    tokens = sum((exchange.tokens for exchange in outside if exchange.tokens), TokenBreakdown())
    costs = [exchange.cost.total_usd for exchange in outside if exchange.cost.total_usd is not None]
    rest = {"exchanges": len(outside), **_counts("", tokens), "cost_usd": sum(costs) if costs else None}
    return without_none(
        {
            **(_counts("total_", row.tokens) if row.tokens else {}),
            "total_cost_usd": row.cost.total_usd,
            "total_steps": steps,
            "extra": {"benchflow": {"cost_source": row.cost.source, "outside_steps": rest if outside else None}},
        }
    )
