"""Which way an agent went about its task: directly, in iterations, or by exploring; with the reasons."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from benchflow.analyzers.excerpts import counted
from benchflow.behaviour.calls import Call, read_calls
from benchflow.behaviour.purpose import Purpose
from benchflow.behaviour.repeats import Repeats, read_repeats
from benchflow.contracts import AnalysisResult, Finding, ListFinding, SessionTrace, StringFinding, TableFinding

if TYPE_CHECKING:
    from benchflow.scenario import Scenario

Strategy = Literal["direct", "iterative", "exploratory", "none"]

_PHASES = 50
_EXPLORING = 5
"""Looks before the first change from which on an agent explores."""
_MANY_ERRORS = 0.2
_MANY_REPEATS = 2
_PURPOSES: tuple[Purpose, ...] = ("look", "change", "run", "other")


class StrategyAnalyzer:
    """Direct, iterative or exploratory; its phases; what could have been better."""

    name = "strategy"

    async def analyze(self, trace: SessionTrace, scenario: "Scenario", mode: str) -> AnalysisResult:
        """Judge the order in which the agent looked, changed and ran."""
        calls, repeats = read_calls(trace), read_repeats(trace)
        strategy, reasons = find_strategy(calls, repeats)
        counts = Counter(call.purpose for call in calls)
        phases = [f"{purpose} x{number}" for purpose, number in _phases(calls)]
        findings: list[Finding] = [
            StringFinding(name="strategy_summary", value=strategy, source="derived"),
            ListFinding(name="strategy_reasons", items=reasons, source="derived"),
            ListFinding(name="strategy_steps", items=_cut(phases), source="derived"),
            TableFinding(
                name="calls_by_purpose",
                columns=("purpose", "calls"),
                rows=[(purpose, counts[purpose]) for purpose in _PURPOSES],
                source="derived",
            ),
            StringFinding(name="verified", value=verified(calls), source="derived"),
            ListFinding(name="optimality_notes", items=list(_notes(calls, repeats)), source="derived"),
        ]
        return AnalysisResult(analyzer=self.name, findings=findings, summary=f"{strategy}: {'; '.join(reasons)}")


def find_strategy(calls: Sequence[Call], repeats: Repeats) -> tuple[Strategy, list[str]]:
    """Classify by the purposes of the calls, the first that applies; return the reasons, too.

    `none`: no call. `iterative`: it changed something, ran something, and changed something again, or it went back
    (`backtracks`). `exploratory`: at least half of its calls look, five of them before its first change, if there is
    one. `direct`: anything else.
    """
    if not calls:
        return "none", ["no tool call"]
    purposes = [call.purpose for call in calls]
    cycles, back = _cycles(purposes), sum(repeats.backtracks)
    first_change = purposes.index("change") if "change" in purposes else len(purposes)
    looks, before = purposes.count("look"), purposes[:first_change].count("look")
    reasons = [f"{counted(cycles, 'round')} of change, run, change", f"went back {counted(back, 'time')}"]
    if cycles or back:
        return "iterative", reasons
    looking = [f"{looks} of {counted(len(calls), 'call')} look", f"{before} before the first change"]
    if before >= _EXPLORING and 2 * looks >= len(calls):
        return "exploratory", looking
    return "direct", [*reasons, *looking]


def verified(calls: Sequence[Call]) -> str:
    """Say whether something was run after the last change that did not fail: `yes`, `no`; `nothing changed`."""
    purposes = [call.purpose for call in calls if not (call.purpose == "change" and call.failure)]
    if "change" not in purposes:
        return "nothing changed"
    last = len(purposes) - 1 - purposes[::-1].index("change")
    return "yes" if "run" in purposes[last:] else "no"


def _cycles(purposes: Sequence[str]) -> int:
    """How often a change follows a run that follows a change."""
    order = [purpose for purpose, _ in groupby(filter(("change", "run").__contains__, purposes))]
    return max(0, order.count("change") - 1)


def _phases(calls: Sequence[Call]) -> Iterator[tuple[str, int]]:
    """Calls in a row with one purpose are a phase."""
    for purpose, phase in groupby(calls, key=lambda call: call.purpose):
        yield purpose, len(list(phase))


def _cut(phases: Sequence[str]) -> list[str]:
    shown = list(phases[:_PHASES])
    return [*shown, f"… {len(phases) - _PHASES} more"] if len(phases) > _PHASES else shown


def _notes(calls: Sequence[Call], repeats: Repeats) -> Iterator[str]:
    """What could have been better: over a fifth of the calls failed, two or more redundant, changes never tried."""
    failed = sum(call.failure is not None for call in calls)
    if calls and failed / len(calls) > _MANY_ERRORS:
        yield f"{failed} of {counted(len(calls), 'call')} failed"
    again = sum(repeats.redundant)
    if again >= _MANY_REPEATS:
        yield counted(again, "redundant call")
    if verified(calls) == "no":
        yield "nothing was run after the last change"
