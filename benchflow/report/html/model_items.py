"""Model exchanges on the timeline: what was asked of which model, what came back, and what the gateway did to it."""

from collections.abc import Iterator
from dataclasses import replace

from benchflow.gateway.message import Exchange
from benchflow.gateway.records.exchanges import RecordedExchange
from benchflow.report import numbers
from benchflow.report.html.items import Item, State, brief, make_facts, took
from benchflow.report.html.passages import Passage, argument_passages, make_passage
from benchflow.report.text import one_line
from benchflow.trajectories.trajectory import describe_failure

_ROUTINE = ("credentials", "hop_headers")
"""Changes that every request has."""


def model_item(recorded: RecordedExchange, exchange: Exchange) -> Item:
    """Make the item of one exchange."""
    answer = exchange.answer
    tools = ", ".join(call.name for call in answer.tool_calls)
    said = answer.text.strip() or (f"asks for {tools}" if tools else answer.thought)
    failed = exchange.kind == "generate" and not exchange.succeeded
    return Item(
        kind="model",
        role=exchange.role,
        at=exchange.mono_ms,
        ms=exchange.duration_ms,
        ms_text=numbers.duration(exchange.duration_ms),
        wait=exchange.ttft_ms or 0,
        held=exchange.held_ms,
        title=_title(exchange),
        brief=brief(describe_failure(exchange) if failed else said),
        state=_state(exchange, failed),
        facts=make_facts(_facts(exchange)),
        passages=tuple(_passages(recorded, exchange)),
    )


def _title(exchange: Exchange) -> str:
    if exchange.turn is not None:
        return f"Turn {exchange.turn + 1}"
    if exchange.kind != "generate":
        return f"Request {one_line(exchange.path, 60)}"
    return {"main": "Model request", "auxiliary": "Auxiliary request", "subagent": "Subagent's request"}[exchange.role]


def _state(exchange: Exchange, failed: bool) -> State | None:
    if failed:
        return "bad"
    return "odd" if exchange.fault or len(exchange.attempts) > 1 else None


def _facts(exchange: Exchange) -> Iterator[tuple[str, str | None]]:
    tokens = exchange.tokens
    yield "tokens", numbers.in_out(tokens) if exchange.kind == "generate" else None
    yield "from cache", numbers.count(tokens.cache_read) if tokens and tokens.cache_read else None
    yield "reasoning", numbers.count(tokens.reasoning) if tokens and tokens.reasoning else None
    yield "cost", None if exchange.cost.total_usd is None else numbers.cost(exchange.cost.total_usd)
    yield "first byte", took(exchange.ttft_ms)
    yield "held", numbers.duration(exchange.held_ms) if exchange.held_ms else None
    yield "model", _models(exchange)
    yield "role", f"{exchange.role}: {exchange.role_reason}"
    yield "status", f"{exchange.status or 'none'}, {exchange.end}{', by the gateway' * (exchange.origin == 'gateway')}"
    yield "finish", exchange.answer.finish
    yield "fault played", f"{exchange.fault.kind} ({exchange.fault.value:g})" if exchange.fault else None
    yield "exchange", exchange.id


def _models(exchange: Exchange) -> str | None:
    """The model's name, and where it was not the same all the way, where it changed."""
    stations = (exchange.model_asked, exchange.model_sent, exchange.model_answered)
    names = list(dict.fromkeys(name for name in stations if name))
    return " → ".join(names) or None


def _passages(recorded: RecordedExchange, exchange: Exchange) -> Iterator[Passage]:
    answer = exchange.answer
    if answer.error:
        yield make_passage("error", answer.error)
    if exchange.role != "main" and (asked := _last_asked(recorded)):
        yield make_passage("asked", asked, "prose")
    if answer.thought:
        yield make_passage("thought", answer.thought, "prose")
    if answer.text:
        yield make_passage("answer", answer.text, "prose")
    for call in answer.tool_calls:
        for passage in argument_passages(call.arguments) or [make_passage("", "")]:
            yield replace(passage, label=f"asks for {one_line(call.name, 60)} {passage.label}".rstrip())
    for number, attempt in enumerate(exchange.attempts, start=1):
        told = attempt.error or f"status {attempt.status}"
        waited = f"held {numbers.duration(attempt.waited_ms)}, then {numbers.duration(attempt.duration_ms)}"
        yield make_passage(f"sending {number} of {len(exchange.attempts)}", f"{told} ({waited})")
    for change in exchange.changes:
        if change.kind not in _ROUTINE:
            yield make_passage(f"changed: {change.kind}, {change.path}", f"{change.before} → {change.after}")


def _last_asked(recorded: RecordedExchange) -> str:
    """The last text of the request, which says what an auxiliary one was for."""
    parsed = recorded.parsed
    messages = parsed.messages if parsed else ()
    return "\n".join(messages[-1].texts) if messages else ""
