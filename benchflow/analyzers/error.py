"""What went wrong in a session, how the agent went on after it, and where errors came in a row."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from benchflow.analyzers.excerpts import counted, excerpt
from benchflow.behaviour.calls import Call
from benchflow.behaviour.failures import FailureType, classify
from benchflow.behaviour.steps import Step, read_steps
from benchflow.contracts import (
    AnalysisResult,
    Event,
    Finding,
    ListFinding,
    NumberFinding,
    RatioFinding,
    SessionTrace,
    TableFinding,
)

if TYPE_CHECKING:
    from benchflow.scenario import Scenario

Recovery = Literal["retry", "adjusted", "alternative", "tool_followup", "give_up"]

_Rows = Sequence[tuple[str, int]]

_MESSAGES, _MESSAGE_LENGTH = 10, 160
_CASCADE = 2


@dataclass(frozen=True, kw_only=True)
class _Trouble:
    """An error that is no tool call's: a model request that failed, a prompt or a request of ours that did."""

    type: FailureType
    message: str
    mono_ms: float


class ErrorAnalyzer:
    """Error types, recovery, cascades."""

    name = "error"

    async def analyze(self, trace: SessionTrace, scenario: "Scenario", mode: str) -> AnalysisResult:
        """Judge the calls that failed, and the errors that the trace has beside them."""
        steps = read_steps(trace)
        troubles = list(_troubles(trace.events))
        failed = [call for call in steps.calls if call.failure]
        types = _count([*(call.failure or "" for call in failed), *(trouble.type for trouble in troubles)])
        recovery = _count([*recoveries(steps.steps), *_followups(troubles, trace, steps.calls)])
        runs = cascades(steps.calls)
        wasted = sum(_is_wasted(step) for step in steps.steps)
        number = len(failed) + len(troubles)
        findings: list[Finding] = [
            NumberFinding(name="errors_encountered", value=number, unit="errors", source="derived"),
            TableFinding(name="error_types", columns=("type", "count"), rows=types, source="derived"),
            TableFinding(name="recovery_patterns", columns=("pattern", "count"), rows=recovery, source="derived"),
            RatioFinding(
                name="recovered", numerator=count_recovered(steps.calls), denominator=len(failed), source="derived"
            ),
            NumberFinding(name="error_cascades", value=len(runs), unit="cascades", source="derived"),
            NumberFinding(name="longest_cascade", value=max(runs, default=0), unit="errors", source="derived"),
            NumberFinding(name="wasted_turns_from_errors", value=wasted, unit="turns", source="derived"),
            ListFinding(name="error_messages", items=_messages(failed, troubles), source="derived"),
        ]
        return AnalysisResult(analyzer=self.name, findings=findings, summary=_summary(number, types, recovery, runs))


def _count(names: Iterable[str]) -> _Rows:
    """How often each occurs, the most frequent first."""
    return Counter(names).most_common()


def recoveries(steps: Sequence[Step]) -> Iterator[Recovery]:
    """Say of each call that failed how the agent went on, by the calls of the next step that has any.

    `retry`: one has its name and input. `adjusted`: one is of the same tool, with another input. `alternative`: there
    are only calls of other tools. `give_up`: no step with calls follows.
    """
    acting = [step for step in steps if step.calls]
    for index, step in enumerate(acting):
        after = acting[index + 1].calls if index + 1 < len(acting) else ()
        keys = {call.key for call in after if call.key is not None}
        tools = {call.tool for call in after}
        for call in step.calls:
            if call.failure:
                yield _recovery(call, keys, tools)


def _recovery(call: Call, keys: set[bytes], tools: set[str]) -> Recovery:
    if not tools:
        return "give_up"
    if call.key in keys:
        return "retry"
    return "adjusted" if call.tool in tools else "alternative"


def count_recovered(calls: Sequence[Call]) -> int:
    """Count the calls that failed and after which a call of the same tool did not."""
    number = 0
    succeeds_later: set[str] = set()
    for call in reversed(calls):
        if call.failure:
            number += call.tool in succeeds_later
        else:
            succeeds_later.add(call.tool)
    return number


def cascades(calls: Iterable[Call]) -> list[int]:
    """Return the lengths of the cascades: two or more calls in a row that failed."""
    runs = [(failed, len(list(run))) for failed, run in groupby(calls, key=lambda call: call.failure is not None)]
    return [length for failed, length in runs if failed and length >= _CASCADE]


def _troubles(events: Iterable[Event]) -> Iterator[_Trouble]:
    for event in events:
        if event.type not in ("error", "prompt_end"):
            continue
        message = event.data.get("message" if event.type == "error" else "error")
        if event.type == "error" or message:
            yield _Trouble(type=classify(str(message)), message=str(message), mono_ms=event.mono_ms)


def _followups(troubles: Iterable[_Trouble], trace: SessionTrace, calls: Iterable[Call]) -> Iterator[Recovery]:
    """An error that is no call's is got past if a turn begins after it (`retry`), or a call (`tool_followup`)."""
    last_turn_ms = max((turn.started_ms for turn in trace.turns), default=0.0)
    last_call_ms = max((call.began_ms for call in calls if call.began_ms is not None), default=0.0)
    for trouble in troubles:
        if last_turn_ms > trouble.mono_ms:
            yield "retry"
        else:
            yield "tool_followup" if last_call_ms > trouble.mono_ms else "give_up"


def _is_wasted(step: Step) -> bool:
    """All of its calls failed; tests that ran and failed are no waste."""
    return bool(step.calls) and all(call.failure not in (None, "test_failure") for call in step.calls)


def _messages(failed: Sequence[Call], troubles: Sequence[_Trouble]) -> list[str]:
    """The first ten, tools' before others: the tool, the type, and the end of what came out."""
    said = [f"{call.tool}: {call.failure}: {_last_line(call.output)}" for call in failed[:_MESSAGES]]
    said += [f"{trouble.type}: {trouble.message[: 2 * _MESSAGE_LENGTH]}" for trouble in troubles[:_MESSAGES]]
    return [excerpt(message, _MESSAGE_LENGTH) for message in said[:_MESSAGES]]


def _last_line(output: str) -> str:
    """The last line that says something but a bare exit status."""
    lines = [line.strip() for line in output[-2_000:].splitlines()]
    said = [line for line in lines if line and not line.strip("[]").lower().startswith("exit")]
    return said[-1] if said else "no output"


def _summary(number: int, types: _Rows, recovery: _Rows, runs: Sequence[int]) -> str:
    if not number:
        return "no errors"
    kinds = ", ".join(f"{name} {count}" for name, count in types)
    answers = ", ".join(f"{name} {count}" for name, count in recovery)
    return f"{counted(number, 'error')} ({kinds}); then {answers}; {counted(len(runs), 'cascade')}"
