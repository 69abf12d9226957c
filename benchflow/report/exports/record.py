"""A stored trial as exports read it: its row, and what happened in it as prompts, turns and acts on one clock."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from benchflow.contracts import Event
from benchflow.gateway.message import Exchange, ModelRequest, ToolResult, ToolUse
from benchflow.gateway.reading import plain
from benchflow.gateway.records.exchanges import RecordedExchange
from benchflow.report.trial import output_text
from benchflow.row import ProfileRow
from benchflow.store import StoredRun
from benchflow.trace import find_tool_calls
from benchflow.trajectories.nesting import can_be_written
from benchflow.trajectories.tools import ToolCall
from benchflow.trajectories.trajectory import Trajectory, later


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Something that a format cannot express, or that was not recorded."""

    what: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt as the client sent it."""

    ts: str
    mono_ms: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call: what went in, what came out."""

    id: str
    """The model's own id of it where an exchange asked for it, else the agent's."""
    name: str
    title: str
    kind: str
    status: str
    arguments: Any
    """As the agent showed it, else as the model asked for it; None: neither said."""
    output: str | None
    """None: nothing was shown of it, neither to the client nor to the model."""
    ts: str
    mono_ms: float
    ended_ms: float | None
    """None: it was never closed."""
    shown: bool
    """The agent showed it over ACP; if not, only the model's request tells of it."""
    exchange: str | None

    @property
    def object(self) -> Mapping[str, Any]:
        """The arguments as an object: `{"input": ...}` around any other value, empty where there are none."""
        if isinstance(self.arguments, dict):
            return self.arguments
        return {} if self.arguments is None else {"input": self.arguments}


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A completed main exchange with the calls that it asked for."""

    exchange: Exchange
    recorded: RecordedExchange
    calls: Sequence[Call]

    @property
    def ts(self) -> str:
        return self.exchange.ts

    @property
    def mono_ms(self) -> float:
        return self.exchange.mono_ms


@dataclass(frozen=True, kw_only=True)
class Act:
    """What the agent said or did that belongs to no turn: its own doing, or a session whose exchanges nobody saw."""

    ts: str
    mono_ms: float
    text: str = ""
    thought: str = ""
    calls: Sequence[Call] = ()


Step = Prompt | Turn | Act


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """All that is known of a trial that has ended."""

    row: ProfileRow
    steps: Sequence[Step]
    """In the order of the clock."""
    exchanges: Sequence[RecordedExchange]
    """All of them, in the order in which they began."""
    events: Sequence[Event]
    calls: Sequence[ToolCall]
    """Those that the row counts."""

    @property
    def prompts(self) -> list[Prompt]:
        return [step for step in self.steps if isinstance(step, Prompt)]

    @property
    def turns(self) -> list[Turn]:
        return [step for step in self.steps if isinstance(step, Turn)]

    @property
    def opening(self) -> ModelRequest | None:
        """The first main request, which has the system prompt and the tools; None: none was seen."""
        turns = self.turns
        return turns[0].recorded.parsed if turns else None

    @property
    def outside(self) -> list[RecordedExchange]:
        """The exchanges that are no turn: auxiliary ones, those of subagents, and those that failed."""
        turns = {turn.exchange.id for turn in self.turns}
        return [recorded for recorded in self.exchanges if recorded.id not in turns]


def read_records(run: StoredRun, trials: Iterable[str] | None = None) -> Iterator[TrialRecord | LeftOut]:
    """Read the trials with these keys, or all that the run was to have, one at a time."""
    for key in run.planned if trials is None else trials:
        trial = run.trial(key)
        if trial.row is None:
            yield LeftOut(what=key, reason="it has no row: it did not come to its end")
        elif trial.row.tries not in trial.tries:
            yield LeftOut(what=key, reason=f"its logs are gone: there is no {trial.folder / f'try-{trial.row.tries}'}")
        else:
            yield read_record(trial.row, Trajectory(trial.try_folder(trial.row.tries)))


def read_record(row: ProfileRow, trajectory: Trajectory) -> TrialRecord:
    """Read the logs of a trial's last try."""
    events = list(trajectory.events())
    found = find_tool_calls(events, trajectory.exchanges)
    origin = (events[0].ts, events[0].mono_ms) if events else ("", 0.0)
    calls = [(call, _call(call, trajectory, origin)) for call in found]
    turns = list(_turns(trajectory, calls))
    return TrialRecord(
        row=row,
        steps=sorted(
            [*_prompts(events), *turns, *(_lone_acts(calls, turns) if turns else _acts(events, calls))],
            key=lambda step: step.mono_ms,
        ),
        exchanges=trajectory.recorded,
        events=events,
        calls=found,
    )


def _prompts(events: Iterable[Event]) -> list[Prompt]:
    return [
        Prompt(ts=event.ts, mono_ms=event.mono_ms, text=str(event.data["text"]))
        for event in events
        if event.type == "prompt_begin"
    ]


def _turns(trajectory: Trajectory, calls: Sequence[tuple[ToolCall, Call]]) -> Iterator[Turn]:
    for exchange, recorded in zip(trajectory.exchanges, trajectory.recorded, strict=True):
        if exchange.turn is None:
            continue
        own = [call for _, call in calls if call.exchange == exchange.id]
        known = {source.asked_id for source, _ in calls if source.exchange == exchange.id}
        results = trajectory.results.get(exchange.id, {})
        hidden = [_hidden(asked, exchange, results) for asked in exchange.answer.tool_calls if asked.id not in known]
        yield Turn(exchange=exchange, recorded=recorded, calls=[*own, *hidden])


def _call(call: ToolCall, trajectory: Trajectory, origin: tuple[str, float]) -> Call:
    record = call.record()
    shown = output_text(call)
    result = None if shown else trajectory.results.get(call.exchange or "", {}).get(call.asked_id)
    return Call(
        id=call.asked_id or call.id,
        name=record.name,
        title=call.title,
        kind=call.kind,
        status=call.status,
        arguments=call.raw_input,
        output=result.text if result else shown or None,
        ts=later(origin[0], call.began_ms - origin[1]),
        mono_ms=call.began_ms,
        ended_ms=call.closed_ms,
        shown=True,
        exchange=call.exchange,
    )


def _hidden(asked: ToolUse, exchange: Exchange, results: Mapping[str, ToolResult]) -> Call:
    """A call that the model asked for and the agent never showed."""
    result = results.get(asked.id)
    ended_ms = round(exchange.mono_ms + exchange.duration_ms, 3)
    return Call(
        id=asked.id,
        name=asked.name,
        title="",
        kind="other",
        status="pending" if result is None else "failed" if result.is_error else "completed",
        arguments=dict(asked.arguments),
        output=result.text if result else None,
        ts=later(exchange.ts, exchange.duration_ms),
        mono_ms=ended_ms,
        ended_ms=None,
        shown=False,
        exchange=exchange.id,
    )


def _lone_acts(calls: Iterable[tuple[ToolCall, Call]], turns: Iterable[Turn]) -> list[Act]:
    """An act for each call that no turn asked for."""
    shown = {turn.exchange.id for turn in turns}
    lone = [call for _, call in calls if call.exchange not in shown]
    return [Act(ts=call.ts, mono_ms=call.mono_ms, calls=(call,)) for call in lone]


@dataclass
class _Draft:
    """An act that still grows."""

    ts: str
    mono_ms: float
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def act(self) -> Act:
        text, thought = "".join(self.texts), "".join(self.thoughts)
        return Act(ts=self.ts, mono_ms=self.mono_ms, text=text, thought=thought, calls=self.calls)


def _acts(events: Iterable[Event], calls: Sequence[tuple[ToolCall, Call]]) -> list[Act]:
    """The acts of a session without turns: what is said after a tool call, or a prompt, begins a new one."""
    waiting = deque(sorted((call for _, call in calls), key=lambda call: call.mono_ms))
    acts: list[_Draft] = []
    begins = True
    for event in events:
        while waiting and waiting[0].mono_ms <= event.mono_ms:
            call = waiting.popleft()
            if begins:
                acts.append(_Draft(call.ts, call.mono_ms))
            acts[-1].calls.append(call)
            begins = False
        if event.type == "prompt_begin":
            begins = True
        if event.type not in ("agent_message", "agent_thought"):
            continue
        if begins or acts[-1].calls:
            acts.append(_Draft(event.ts, event.mono_ms))
            begins = False
        pieces = acts[-1].texts if event.type == "agent_message" else acts[-1].thoughts
        pieces.append(str(event.data.get("text", "")))
    return [draft.act() for draft in acts]


def request_object(recorded: RecordedExchange) -> dict[str, Any] | None:
    """Return the body of an exchange's request as it was sent; None: it is no JSON object that could be written."""
    try:
        value = orjson.loads(plain(recorded.request).body)
    except ValueError:
        return None
    return value if isinstance(value, dict) and can_be_written(value) else None
