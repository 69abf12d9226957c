"""Builds traces of sessions whose every number can be reckoned by hand, and asks plugins about them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from trials import TOKENS, Asked, TryLogs

import benchflow
from benchflow.contracts import AnalysisResult, Analyzer, Collector, SessionTrace, TokenBreakdown
from benchflow.row import ProfileRow
from benchflow.scenario import load_scenario
from benchflow.trace import build_trace

SCENARIO = load_scenario(Path(benchflow.__file__).parent / "scenarios" / "explain-wrong-invoice")


@dataclass(frozen=True, kw_only=True)
class Did:
    """A tool call: from 20 ms after the beginning of its turn, for `took_ms`; None: it is never closed."""

    name: str = "shell"
    kind: str = "execute"
    given: dict[str, Any] = field(default_factory=lambda: {"command": "make"})
    status: str = "completed"
    output: str = ""
    took_ms: float | None = 30
    more: dict[str, Any] = field(default_factory=dict)
    """Further fields of its last update."""


@dataclass(frozen=True, kw_only=True)
class Took:
    """A turn: its exchange takes 10 ms, and turns begin at 100, 200, 300, ... ms."""

    calls: Sequence[Did] = ()
    text: str = ""
    thought: str = ""
    plan: Sequence[str] | None = None
    """The statuses of the entries of a plan that it announces."""
    tokens: TokenBreakdown | None = TOKENS


def read(path: str, **changes: Any) -> Did:
    """A file is read."""
    return Did(**{"name": "read_file", "kind": "read", "given": {"path": path}, **changes})


def edit(path: str, **changes: Any) -> Did:
    """A file is changed."""
    return Did(**{"name": "edit_file", "kind": "edit", "given": {"path": path, "text": "x"}, **changes})


def run(command: str, **changes: Any) -> Did:
    """A command line is run."""
    return Did(given={"command": command}, **changes)


CALLS = st.sampled_from(
    [
        *(make(path) for make in (read, edit) for path in ("a", "b")),
        *(run(command, status=status) for command in ("make", "cat a") for status in ("completed", "failed")),
        read("a", status="failed", output="No such file"),
        run("sleep 9", took_ms=None),
        run("sleep 1", took_ms=150),
    ]
)
TURNS = st.lists(
    st.builds(
        Took,
        calls=st.lists(CALLS, max_size=3),
        text=st.sampled_from(["", "I am not sure why that is so; let me look again.", "ok"]),
        thought=st.sampled_from(["", "Wait, that is strange."]),
        plan=st.sampled_from([None, ["completed", "pending"]]),
    ),
    max_size=6,
)
"""Sessions of all sorts."""


def session(folder: Path, *turns: Took, captured: bool = True) -> SessionTrace:
    """A session of one prompt, from 50 ms to 100 ms after the beginning of its last turn.

    Without `captured` the gateway saw none of it, and what was said is known from ACP alone.
    """
    logs = TryLogs(folder)
    logs.opened()
    logs.prompted(50)
    for index, turn in enumerate(turns):
        _write(logs, 100.0 * (index + 1), index, turn, captured)
    logs.answered(100.0 * (len(turns) + 1))
    return build_trace(folder)


def _write(logs: TryLogs, ms: float, index: int, turn: Took, captured: bool) -> None:
    asked = [Asked(id=_id(index, at), name=call.name, arguments=call.given) for at, call in enumerate(turn.calls)]
    if captured:
        logs.exchange(ms, text=turn.text, thought=turn.thought, calls=asked, tokens=turn.tokens)
    if turn.thought:
        logs.update(ms + 11, "agent_thought_chunk", content={"type": "text", "text": turn.thought})
    if turn.text:
        logs.said(ms + 12, turn.text)
    if turn.plan is not None:
        logs.update(ms + 13, "plan", entries=[{"content": "a step", "status": status} for status in turn.plan])
    for at, call in enumerate(turn.calls):
        begun = {"toolCallId": _id(index, at), "title": call.name, "toolName": call.name, "kind": call.kind}
        logs.update(ms + 20, "tool_call", **begun, status="pending", rawInput=call.given)
    for at, call in sorted(enumerate(turn.calls), key=lambda each: each[1].took_ms or 0):
        if call.took_ms is not None:
            output = [{"type": "content", "content": {"type": "text", "text": call.output}}]
            ended = {"toolCallId": _id(index, at), "status": call.status, "content": output, **call.more}
            logs.update(ms + 20 + call.took_ms, "tool_call_update", **ended)


def _id(turn: int, call: int) -> str:
    return f"call_{turn:03}_{call:03}"


async def collected(collector: Collector, row: ProfileRow, trace: SessionTrace | None) -> dict[str, tuple[Any, ...]]:
    """What a collector says: value, unit and source by name."""
    metrics = await collector.collect(row, SCENARIO, "baseline", trace=trace)
    assert len({metric.name for metric in metrics}) == len(metrics)
    return {metric.name: (metric.value, metric.unit, metric.source) for metric in metrics}


async def analyzed(analyzer: Analyzer, trace: SessionTrace) -> AnalysisResult:
    """What an analyzer says."""
    result = await analyzer.analyze(trace, SCENARIO, "baseline")
    assert result.analyzer == analyzer.name
    assert len({finding.name for finding in result.findings}) == len(result.findings)
    return result


def values(result: AnalysisResult, *names: str) -> list[Any]:
    """What findings hold, by name: a number or text, (numerator, denominator), items, or rows as tuples."""
    found = {finding.name: _content(finding) for finding in result.findings}
    return [found[name] for name in names]


def _content(finding: Any) -> Any:
    match finding.kind:
        case "ratio":
            return finding.numerator, finding.denominator
        case "list":
            return list(finding.items)
        case "table":
            return _tuples(finding.rows)
        case _:
            return finding.value


def _tuples(rows: Iterable[Iterable[Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows]
