"""The trace of a session: the typed value that plugins read, made of a try's logs; and those logs as events.jsonl.

The data of an event, beside `seq ts mono_ms type source session_id`:

    prompt_begin                                   index, text
    prompt_end                                     index, stop_reason, and `usage` or `error` where there is one
    turn_begin                                     turn, exchange
    turn_end                                       turn, exchange, tokens, cost_usd, duration_ms, text, thought,
                                                   tool_calls [{id, name, arguments}], finish
    user_message, agent_message, agent_thought     text, and `content` where it is not plain text
    tool_call, tool_call_update                    id, and what was sent of title, kind, status, name, raw_input,
                                                   raw_output, content, locations
    permission                                     tool_call_id, title, kind, options, outcome, option_id
    plan                                           entries
    usage                                          used, size, cost
    limit                                          kind, allowed, used, phase, counter; from `harness`, that it ended
                                                   the work; from `gateway`, with `exchange`, that it is about that one
    notice, error                                  text, message
    unknown                                        kind, update
"""

from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path

import orjson

from benchflow.contracts import Event, SessionTrace, TokenBreakdown, ToolCallRecord, TraceSummary, Turn
from benchflow.gateway.message import Exchange
from benchflow.trajectories.cutting import until_limit
from benchflow.trajectories.match import AskedCall, match_calls
from benchflow.trajectories.tools import ToolCall, ToolLedger, breakdown
from benchflow.trajectories.trajectory import Trajectory

EVENT_LOG = "events.jsonl"
_WRITE_BYTES = 1 << 16


def build_trace(folder: Path) -> SessionTrace:
    """Make the trace of the try whose logs are in `folder`. Logs that were cut give a trace of what is there.

    All events are in it; turns and tool calls are those up to the limit, where a budget ended the work.
    """
    trajectory = Trajectory(folder)
    events = list(trajectory.events())
    worked = list(until_limit(events))
    ended_ms = events[len(worked)].mono_ms if len(worked) < len(events) else inf
    tools = breakdown(find_tool_calls(worked, trajectory.exchanges))
    exchanges = [exchange for exchange in trajectory.exchanges if exchange.mono_ms + exchange.duration_ms <= ended_ms]
    turns = make_turns(exchanges, tools.records)
    return SessionTrace(
        session_id=trajectory.session_id,
        events=events,
        turns=turns,
        tool_calls=tools,
        summary=TraceSummary(
            total_turns=len(turns),
            total_tool_calls=tools.total,
            total_tokens=_total_tokens(trajectory.exchanges),
            total_duration_ms=_duration_ms(events),
        ),
    )


def write_events(folder: Path, events: Iterable[Event] | None = None) -> None:
    """Write events.jsonl: `events`, or what the logs in `folder` give, however many. It can be written again."""
    with (folder / EVENT_LOG).open("wb", buffering=_WRITE_BYTES) as file:
        file.writelines(map(encode_event, Trajectory(folder).events() if events is None else events))


def export_trace(folder: Path) -> SessionTrace:
    """Make the trace of a try, and write its events.jsonl in the same pass."""
    trace = build_trace(folder)
    write_events(folder, trace.events)
    return trace


def encode_event(event: Event) -> bytes:
    """Write an event as one line of JSON, its data beside the rest."""
    head = {
        "seq": event.seq,
        "ts": event.ts,
        "mono_ms": event.mono_ms,
        "type": event.type,
        "source": event.source,
        "session_id": event.session_id,
    }
    # An agent's keys never hide our own.
    return orjson.dumps({**head, **event.data, **head}, option=orjson.OPT_APPEND_NEWLINE)


def find_tool_calls(events: Iterable[Event], exchanges: Sequence[Exchange]) -> list[ToolCall]:
    """Return a session's tool calls in order, each with the exchange that asked for it where the gateway saw one."""
    ledger = ToolLedger()
    for event in events:
        ledger.see(event)
    asked = [
        AskedCall(
            exchange=exchange.id,
            began_ms=exchange.mono_ms,
            id=call.id,
            name=call.name,
            arguments=call.arguments,
        )
        for exchange in exchanges
        if exchange.role != "auxiliary"
        for call in exchange.answer.tool_calls
    ]
    return match_calls(ledger.calls, asked)


def make_turns(exchanges: Iterable[Exchange], records: Sequence[ToolCallRecord]) -> list[Turn]:
    """Make the turns: one for each completed main exchange, with the tool calls that it asked for."""
    of_exchange: dict[str | None, list[ToolCallRecord]] = {}
    for record in records:
        of_exchange.setdefault(record.exchange, []).append(record)
    return [
        Turn(
            index=exchange.turn,
            exchange=exchange.id,
            started_ms=exchange.mono_ms,
            duration_ms=exchange.latency_ms,
            text=exchange.answer.text,
            thought=exchange.answer.thought,
            tool_calls=of_exchange.get(exchange.id, []),
            tokens=exchange.tokens,
            ttft_ms=exchange.ttft_ms and round(max(0.0, exchange.ttft_ms - exchange.held_ms), 3),
            cost_usd=exchange.cost.total_usd,
        )
        for exchange in exchanges
        if exchange.turn is not None
    ]


def _total_tokens(exchanges: Iterable[Exchange]) -> int | None:
    metered = [exchange.tokens for exchange in exchanges if exchange.tokens]
    return sum(metered, TokenBreakdown()).total if metered else None


def _duration_ms(events: Sequence[Event]) -> float:
    """From the first prompt to the last prompt's end, or to the last event where a prompt never ended."""
    begins = [event.mono_ms for event in events if event.type == "prompt_begin"]
    ends = [event.mono_ms for event in events if event.type == "prompt_end"]
    if not begins:
        return 0.0
    last = ends[-1] if len(ends) == len(begins) else events[-1].mono_ms
    return round(last - begins[0], 3)
