"""Which tools an agent uses in which order, what it repeats, and what it tries again."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from benchflow.analyzers.excerpts import counted, excerpt
from benchflow.behaviour.calls import Call, call_source, read_calls
from benchflow.behaviour.repeats import read_repeats
from benchflow.contracts import AnalysisResult, Finding, ListFinding, NumberFinding, SessionTrace, TableFinding

if TYPE_CHECKING:
    from benchflow.scenario import Scenario

_SEQUENCE = 200
_ROWS = 20
_INPUT_LENGTH = 60


class ToolPatternAnalyzer:
    """Tool sequence, bigrams, redundant and retried calls."""

    name = "tool-pattern"

    async def analyze(self, trace: SessionTrace, scenario: "Scenario", mode: str) -> AnalysisResult:
        """Count tools, pairs of tools, and repeats. Tables have their twenty most frequent rows."""
        calls = read_calls(trace)
        source = call_source(calls)
        tools = [call.tool for call in calls]
        repeats = read_repeats(trace)
        again, tried = _marked(calls, repeats.redundant), _marked(calls, repeats.retried)
        findings: list[Finding] = [
            ListFinding(name="tool_sequence", items=_cut(tools), source=source),
            NumberFinding(name="unique_tools_used", value=len(set(tools)), unit="tools", source=source),
            _bigrams(tools),
            NumberFinding(name="redundant_call_count", value=len(again), unit="calls", source="derived"),
            _redundant(again),
            NumberFinding(name="retried_call_count", value=len(tried), unit="calls", source="derived"),
            TableFinding(
                name="failed_then_retried",
                columns=("tool", "occurrences"),
                rows=Counter(call.tool for call in tried).most_common(_ROWS),
                source="derived",
            ),
        ]
        summary = (
            f"{counted(len(calls), 'call')} of {counted(len(set(tools)), 'tool')}; {len(again)} redundant, "
            f"{len(tried)} retried"
        )
        return AnalysisResult(analyzer=self.name, findings=findings, summary=summary)


def _marked(calls: Iterable[Call], marks: Iterable[bool]) -> list[Call]:
    return [call for call, mark in zip(calls, marks, strict=True) if mark]


def _bigrams(tools: Sequence[str]) -> TableFinding:
    """How often one tool directly follows another."""
    pairs = Counter(pairwise(tools)).most_common(_ROWS)
    return TableFinding(
        name="tool_call_patterns",
        columns=("pattern", "count"),
        rows=[(f"{first} -> {second}", number) for (first, second), number in pairs],
        source="derived",
    )


def _redundant(calls: Iterable[Call]) -> TableFinding:
    """The calls that were redundant, each with its tool, the beginning of its input, and how often it was."""
    counts = Counter(call.key for call in calls)
    first = {call.key: call for call in reversed(list(calls))}
    return TableFinding(
        name="redundant_calls",
        columns=("tool", "input", "count"),
        rows=[(first[key].tool, _input(first[key]), number) for key, number in counts.most_common(_ROWS)],
        source="derived",
    )


def _input(call: Call) -> str:
    return excerpt(call.command or call.path or str(call.given), _INPUT_LENGTH)


def _cut(tools: Sequence[str]) -> list[str]:
    shown = list(tools[:_SEQUENCE])
    return [*shown, f"… {len(tools) - _SEQUENCE} more"] if len(tools) > _SEQUENCE else shown
