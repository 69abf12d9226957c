"""The steps of a trace: what an agent said and thought, and the calls that came of it.

Where the gateway saw the model's answers, a step is a turn. Where it saw none, steps are derived from the ACP events.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchflow.behaviour.calls import Call, read_calls
from benchflow.behaviour.once import once_per_trace
from benchflow.contracts import Event, SessionTrace, TokenBreakdown


@dataclass(frozen=True, kw_only=True)
class Step:
    """One turn, or what stands for one."""

    thought: str
    text: str
    plans: int
    """How often it announced or changed its plan."""
    calls: Sequence[Call]
    tokens: TokenBreakdown | None = None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """All steps of a session, and where they are from."""

    steps: Sequence[Step]
    calls: Sequence[Call]
    """All calls, in the order in which they began. Each is in exactly one step."""
    source: str
    """`gateway`: they are turns; `derived`: from ACP events."""


@once_per_trace
def read_steps(trace: SessionTrace) -> Steps:
    """Return a session's steps: its turns, or without any, those that its ACP events show.

    A call that no turn asked for (a subagent's, or the agent's own doing), and a plan, belong to the last turn that had
    begun. A derived step begins with each prompt, with the first word or thought after a call, and with each call that
    begins when all before it have ended: calls that overlap are one step, as they are of one answer.
    """
    calls = read_calls(trace)
    if trace.turns:
        return Steps(steps=_turns(trace, calls), calls=calls, source="gateway")
    return Steps(steps=_derived(trace.events, calls), calls=calls, source="derived")


@dataclass
class _Draft:
    """A step that still grows."""

    thoughts: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    plans: int = 0
    calls: list[Call] = field(default_factory=list)
    open_until_ms: float = 0.0

    def step(self, tokens: TokenBreakdown | None = None) -> Step:
        return Step(
            thought="".join(self.thoughts),
            text="".join(self.texts),
            plans=self.plans,
            calls=self.calls,
            tokens=tokens,
        )

    @property
    def is_empty(self) -> bool:
        return not (self.thoughts or self.texts or self.plans or self.calls)


def _turns(trace: SessionTrace, calls: Sequence[Call]) -> list[Step]:
    drafts = [_Draft(thoughts=[turn.thought], texts=[turn.text]) for turn in trace.turns]
    of_exchange = {turn.exchange: draft for turn, draft in zip(trace.turns, drafts, strict=True)}
    starts = [turn.started_ms for turn in trace.turns]

    def at(mono_ms: float | None) -> _Draft:
        return drafts[-1] if mono_ms is None else drafts[max(0, bisect_right(starts, mono_ms) - 1)]

    for call in calls:
        asking = of_exchange.get(call.record.exchange or "")
        (asking or at(call.began_ms)).calls.append(call)
    for event in trace.events:
        if event.type == "plan":
            at(event.mono_ms).plans += 1
    return [draft.step(turn.tokens) for turn, draft in zip(trace.turns, drafts, strict=True)]


def _derived(events: Sequence[Event], calls: Sequence[Call]) -> list[Step]:
    drafts = [_Draft()]
    waiting = list(reversed(calls))
    for event in events:
        while waiting and waiting[-1].began_ms is not None and waiting[-1].began_ms <= event.mono_ms:
            if event.mono_ms == waiting[-1].began_ms and not event.type.startswith(("tool_call", "permission")):
                break  # what was said at the same moment was said before
            _add_call(drafts, waiting.pop())
        _add_event(drafts, event)
    for call in reversed(waiting):
        _add_call(drafts, call)
    return [draft.step() for draft in drafts if not draft.is_empty]


def _add_call(drafts: list[_Draft], call: Call) -> None:
    began_ms = call.began_ms or 0.0
    if drafts[-1].calls and drafts[-1].open_until_ms <= began_ms:
        drafts.append(_Draft())
    drafts[-1].calls.append(call)
    drafts[-1].open_until_ms = max(drafts[-1].open_until_ms, call.ended_ms or began_ms)


def _add_event(drafts: list[_Draft], event: Event) -> None:
    if event.type == "prompt_begin":
        drafts.append(_Draft())
    elif event.type in ("agent_message", "agent_thought", "plan"):
        if drafts[-1].calls:
            drafts.append(_Draft())
        match event.type:
            case "agent_message":
                drafts[-1].texts.append(str(event.data.get("text", "")))
            case "agent_thought":
                drafts[-1].thoughts.append(str(event.data.get("text", "")))
            case _:
                drafts[-1].plans += 1
