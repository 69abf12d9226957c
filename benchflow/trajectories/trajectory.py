"""A try's logs as one stream of events: ACP frames and model exchanges, joined on the run's clock.

Reads files that were cut by a kill or are still being written, and keeps no more of the frames in memory than a line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchflow.contracts import Event, EventSource, EventType
from benchflow.gateway.message import Exchange, ToolResult
from benchflow.gateway.records.exchanges import RecordedExchange, read_exchanges
from benchflow.session.projection import Projection
from benchflow.store import ACP_LOG, EXCHANGE_LOG, SESSION_LOG
from benchflow.trajectories.nesting import cut_deep, may_be_deep

_TOOL_UPDATE = re.compile(rb'"sessionUpdate"\s*:\s*"tool_call')
_TOOL_EVENT = re.compile(rb'"type":"tool_call')
_BLOCK = 1 << 20
_OVERLAP = 64
"""Longer than what is searched for, so that it is found where two blocks meet."""


class Moment(NamedTuple):
    """An event before it has a number. There are as many as frames, and a named tuple is the cheapest value."""

    mono_ms: float
    ts: str
    type: EventType
    source: EventSource
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Trajectory:
    """The logs in one try's folder. Missing files are empty ones."""

    folder: Path

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """The model exchanges in the order in which they began."""
        return [recorded.exchange for recorded in self.recorded]

    @cached_property
    def recorded(self) -> list[RecordedExchange]:
        """The same exchanges, with their bodies within reach."""
        path = self.folder / EXCHANGE_LOG
        found = read_exchanges(path) if path.exists() else ()
        return sorted(found, key=lambda recorded: recorded.line["mono_ms"])

    @cached_property
    def results(self) -> dict[str, dict[str, ToolResult]]:
        """What the tool calls of each turn gave back to the model, by the turn's exchange and the model's id of a call.

        Read from the request of the next turn.
        """
        turns = [recorded for recorded in self.recorded if recorded.line["turn"] is not None]
        return {
            asking.id: {result.call_id: result for result in _new_results(after)} for asking, after in pairwise(turns)
        }

    @cached_property
    def shows_tools(self) -> bool:
        """Whether the agent sent any tool update at all, or its provider told of one."""
        logs = ((self.folder / ACP_LOG, _TOOL_UPDATE), (self.folder / SESSION_LOG, _TOOL_EVENT))
        return any(path.exists() and _holds(path, pattern) for path, pattern in logs)

    @cached_property
    def session_id(self) -> str:
        """ACP's id of the session, or its provider's; empty where there was none."""
        frames = (entry.get("frame") for entry in read_entries(self.folder / ACP_LOG))
        own = (entry["session_id"] for entry in read_entries(self.folder / SESSION_LOG))
        return next((found for frame in frames if (found := _session_id(frame))), next(own, ""))

    def events(self) -> Iterator[Event]:
        """Yield all events in the order of the clock, numbered from 0."""
        session_id = self.session_id
        for seq, moment in enumerate(self._moments()):
            yield Event(
                seq=seq,
                ts=moment.ts,
                mono_ms=moment.mono_ms,
                type=moment.type,
                source=moment.source,
                session_id=session_id,
                data=moment.data,
            )

    def _moments(self) -> Iterator[Moment]:
        """Join the frames, in the order of their log, with all else, which is little."""
        others = [moment for exchange in self.exchanges for moment in exchange_moments(exchange)]
        if any(exchange.answer.tool_calls for exchange in self.exchanges) and not self.shows_tools:
            others += derived_moments(self.exchanges, self.results)
        others += session_moments(self.folder / SESSION_LOG)
        others.sort(key=lambda moment: moment.mono_ms)
        others.reverse()
        for moment in frame_moments(self.folder / ACP_LOG):
            while others and others[-1].mono_ms < moment.mono_ms:
                yield others.pop()
            yield moment
        yield from reversed(others)


def read_entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of an ACP log; a line that was cut is left out."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                entry = orjson.loads(line)
            except ValueError:
                continue
            yield cut_deep(entry) if may_be_deep(line) else entry


def frame_moments(path: Path) -> Iterator[Moment]:
    """Yield what the frames of an ACP log mean, in order."""
    projection = Projection()
    for entry in read_entries(path):
        if moment := entry_moment(entry, projection):
            yield moment


def entry_moment(entry: Mapping[str, Any], projection: Projection) -> Moment | None:
    """Return what an entry of an ACP log means; None: nothing new."""
    if "limit" in entry:
        return Moment(entry["mono_ms"], entry["ts"], "limit", "harness", entry["limit"])
    frame = entry.get("frame")
    event = projection.read(entry["dir"], frame) if frame is not None else None
    return event and Moment(entry["mono_ms"], entry["ts"], event[0], "acp", event[1])


def session_moments(path: Path) -> Iterator[Moment]:
    """Yield the events of a session without ACP."""
    for entry in read_entries(path):
        yield Moment(entry["mono_ms"], entry["ts"], entry["type"], entry["source"], entry["data"])


def exchange_moments(exchange: Exchange) -> list[Moment]:
    """Return what an exchange means: a completed main one is a turn, a failed one is an error, others are silent.

    Where a budget had a word in it, it says so first.
    """
    if exchange.limit:
        data = {**vars(exchange.limit), "exchange": exchange.id}
        limit = Moment(exchange.mono_ms, exchange.ts, "limit", "gateway", data)
        return [limit, *([] if exchange.stopped else _own_moments(exchange))]
    return _own_moments(exchange)


def _own_moments(exchange: Exchange) -> list[Moment]:
    ended_ms = round(exchange.mono_ms + exchange.duration_ms, 3)
    ended_ts = later(exchange.ts, exchange.duration_ms)
    if exchange.turn is not None:
        begin = {"turn": exchange.turn, "exchange": exchange.id}
        return [
            Moment(exchange.mono_ms, exchange.ts, "turn_begin", "gateway", begin),
            Moment(ended_ms, ended_ts, "turn_end", "gateway", _turn_end(exchange)),
        ]
    if exchange.succeeded or exchange.kind != "generate":
        return []
    data = {"message": describe_failure(exchange), "exchange": exchange.id, "role": exchange.role}
    return [Moment(ended_ms, ended_ts, "error", "gateway", data)]


def derived_moments(exchanges: Sequence[Exchange], results: Mapping[str, Mapping[str, ToolResult]]) -> list[Moment]:
    """Return the tool calls of an agent that shows none over ACP, from what the model asked for and got back.

    A call begins where the turn that asked for it ends, and ends where the next turn brings its result to the model.
    """
    turns = [exchange for exchange in exchanges if exchange.turn is not None]
    moments: list[Moment] = []
    for asking, after in zip_longest(turns, turns[1:]):
        ended_ms = round(asking.mono_ms + asking.duration_ms, 3)
        ended_ts = later(asking.ts, asking.duration_ms)
        for call in asking.answer.tool_calls:
            data = {"id": call.id, "title": call.name, "name": call.name, "raw_input": call.arguments}
            moments.append(Moment(ended_ms, ended_ts, "tool_call", "derived", {**data, "status": "pending"}))
        if after is not None:
            moments.extend(
                Moment(after.mono_ms, after.ts, "tool_call_update", "derived", _result_data(result))
                for result in results.get(asking.id, {}).values()
            )
    return moments


def _new_results(recorded: RecordedExchange) -> list[ToolResult]:
    """The tool results at the end of a request's conversation, after all that the model has said so far."""
    results: list[ToolResult] = []
    for message in reversed(recorded.parsed.messages if recorded.parsed else ()):
        if message.role == "assistant":
            break
        results[:0] = message.tool_results
    return results


def _result_data(result: ToolResult) -> dict[str, Any]:
    return {
        "id": result.call_id,
        "status": "failed" if result.is_error else "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": result.text}}],
    }


def describe_failure(exchange: Exchange) -> str:
    """Say how an exchange that did not succeed ended."""
    status = f"status {exchange.status}" if exchange.status is not None else "no answer"
    said = f": {exchange.answer.error}" if exchange.answer.error else ""
    return f"{exchange.role} model request: {status}, {exchange.end}{said}"


def later(ts: str, ms: float) -> str:
    """Return the wall time that is `ms` after `ts`, in the same form."""
    moment = datetime.fromisoformat(ts) + timedelta(milliseconds=ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _turn_end(exchange: Exchange) -> dict[str, Any]:
    answer = exchange.answer
    return {
        "turn": exchange.turn,
        "exchange": exchange.id,
        "tokens": vars(exchange.tokens).copy() if exchange.tokens else None,
        "cost_usd": exchange.cost.total_usd,
        "duration_ms": exchange.latency_ms,
        "text": answer.text,
        "thought": answer.thought,
        "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in answer.tool_calls],
        "finish": answer.finish,
    }


def _session_id(frame: Any) -> str | None:
    """The session id in a frame: a prompt's, an update's, or that of the response that made the session."""
    for part in (frame.get("params"), frame.get("result")) if isinstance(frame, dict) else ():
        found = part.get("sessionId") if isinstance(part, dict) else None
        if isinstance(found, str):
            return found
    return None


def _holds(path: Path, pattern: re.Pattern[bytes]) -> bool:
    before = b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            if pattern.search(before + block):
                return True
            before = block[-_OVERLAP:]
    return False
