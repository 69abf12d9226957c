"""How many of an agent's turns brought something, how much it repeated, and how often it went back."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from benchflow.analyzers.excerpts import counted
from benchflow.behaviour.calls import Call
from benchflow.behaviour.purpose import Purpose
from benchflow.behaviour.repeats import read_repeats
from benchflow.behaviour.steps import Step, Steps, read_steps
from benchflow.contracts import AnalysisResult, Finding, NumberFinding, RatioFinding, SessionTrace

if TYPE_CHECKING:
    from benchflow.scenario import Scenario


class EfficiencyAnalyzer:
    """Productive and wasted turns, redundancy, backtracking, files."""

    name = "efficiency"

    async def analyze(self, trace: SessionTrace, scenario: "Scenario", mode: str) -> AnalysisResult:
        """Judge the turns; without captured exchanges, the steps that ACP shows stand in, with source `derived`."""
        steps = read_steps(trace)
        calls, repeats = steps.calls, read_repeats(trace)
        repeated = repeats.redundant
        productive = productive_steps(steps.steps, _identities(calls, repeated))
        total, good = len(productive), sum(productive)
        back = sum(repeats.backtracks)
        findings: list[Finding] = [
            NumberFinding(name="total_turns", value=total, unit="turns", source=steps.source),
            NumberFinding(name="productive_turns", value=good, unit="turns", source="derived"),
            NumberFinding(name="wasted_turns", value=total - good, unit="turns", source="derived"),
            RatioFinding(name="turn_efficiency", numerator=good, denominator=total, source="derived"),
            _wasted_tokens(steps, productive),
            RatioFinding(
                name="information_redundancy", numerator=sum(repeated), denominator=len(calls), source="derived"
            ),
            NumberFinding(name="backtracking_events", value=back, unit="events", source="derived"),
            NumberFinding(name="files_read", value=_files(calls, "look"), unit="files", source="derived"),
            NumberFinding(name="files_changed", value=_files(calls, "change"), unit="files", source="derived"),
        ]
        summary = (
            f"{good} of {counted(total, 'turn')} productive; {counted(sum(repeated), 'redundant call')}; "
            f"went back {counted(back, 'time')}"
        )
        return AnalysisResult(analyzer=self.name, findings=findings, summary=summary)


def productive_steps(steps: Sequence[Step], repeated: set[int]) -> list[bool]:
    """Tell of each step whether it was productive. `repeated`: the identities of redundant calls.

    With calls, it was if one of them is not redundant and did not fail; tests that ran and failed tell the agent
    something, and count as no failure here. Without calls, it was if it says something. A step is productive or wasted.
    """
    return [
        any(id(call) not in repeated and call.failure in (None, "test_failure") for call in step.calls)
        if step.calls
        else bool(step.text.strip())
        for step in steps
    ]


def _identities(calls: Iterable[Call], marked: Iterable[bool]) -> set[int]:
    return {id(call) for call, mark in zip(calls, marked, strict=True) if mark}


def _wasted_tokens(steps: Steps, productive: Sequence[bool]) -> RatioFinding:
    """The tokens of wasted turns among those of all; not known without turns."""
    metered = [(step.tokens.total, good) for step, good in zip(steps.steps, productive, strict=True) if step.tokens]
    return RatioFinding(
        name="wasted_tokens",
        numerator=sum(tokens for tokens, good in metered if not good) if metered else None,
        denominator=sum(tokens for tokens, _ in metered) if metered else None,
        source="gateway" if metered else "",
    )


def _files(calls: Iterable[Call], purpose: Purpose) -> int:
    """The different files that calls of one purpose name in their input or locations, not in a command line."""
    return len({call.path for call in calls if call.purpose == purpose and call.path and not call.failure})
