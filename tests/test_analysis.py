"""All built-in collectors and analyzers together: on whatever agents send, on long sessions, and on a real one."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
from command_line import open_shell
from stored import make_row
from trials import TryLogs
from worked import SCENARIO, Did, Took, read, run, session

from benchflow.behaviour.calls import Call
from benchflow.contracts import (
    AnalysisResult,
    Analyzer,
    Collector,
    CustomMetric,
    ListFinding,
    SessionTrace,
    ToolCallRecord,
)
from benchflow.plugins import BUILT_IN, load
from benchflow.report.analysis import analysis_lines
from benchflow.row import ANALYSES
from benchflow.runner.observing import observe
from benchflow.trace import build_trace


async def everything(trace: SessionTrace) -> dict[str, Any]:
    """What all of them say, as a row holds it."""
    collectors: list[Collector] = [load("collector", name) for name in BUILT_IN["collector"]]
    analyzers: list[Analyzer] = [load("analyzer", name) for name in BUILT_IN["analyzer"]]
    row = make_row(tool_calls=trace.tool_calls)
    found: dict[str, Any] = {}
    for collector in collectors:
        for metric in await collector.collect(row, SCENARIO, "baseline", trace=trace):
            assert metric.name not in found
            assert (metric.value is None) == (metric.source == "")
            found[metric.name] = metric.value
    found[ANALYSES] = {analyzer.name: await analyzer.analyze(trace, SCENARIO, "baseline") for analyzer in analyzers}
    orjson.dumps(found)
    return found


async def test_an_empty_session_is_analyzed(tmp_path: Path) -> None:
    found = await everything(build_trace(tmp_path))

    assert [line.summary for line in analysis_lines(found)] == [
        "no tool call to plan; 0 signs of confusion",
        "none: no tool call",
        "0 of 0 turns productive; 0 redundant calls; went back 0 times",
        "0 calls of 0 tools; 0 redundant, 0 retried",
        "no errors",
    ]


async def test_what_agents_send_in_place_of_what_belongs_there_does_no_harm(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.prompted(10)
    logs.update(30, "tool_call", toolCallId=5, title=["x"], kind={"a": 1}, status=3, content="text", rawInput=7)
    logs.update(31, "tool_call_update", rawInput={"command": {"x": 1}}, rawOutput={"metadata": 5}, locations="here")
    logs.update(32, "tool_call_update", toolCallId=None, status="cancelled", content=[5, None], locations=[None, 5])
    logs.update(33, "plan", entries=["x", None, {"status": 5}])
    logs.update(34, "plan", entries="x")
    logs.update(35, "agent_message_chunk", content=5)
    logs.update(36, "tool_call", toolCallId="big", kind="edit", status="failed", rawInput={"path": 1e300, "x": None})

    found = await everything(build_trace(tmp_path))

    assert found["tool_calls.total"] == 3
    assert found["tool_calls.failed"] == 2


async def test_a_session_of_ten_thousand_events_is_read_in_one_pass(tmp_path: Path) -> None:
    """Every call is the same, in one turn: what compares each with each would take minutes."""
    calls = [Did(given={"command": "make"}, status="failed")] * 3_000
    trace = session(tmp_path, Took(calls=calls), captured=False)
    assert len(trace.events) > 6_000

    found = await everything(trace)

    assert (found["tool_calls.retried"], found["tool_calls.unique"]) == (2_999, 1)
    assert analysis_lines(found)[-1].summary == "3000 errors (other 3000); then give_up 3000; 1 cascade"


def test_a_call_whose_input_is_no_ordinary_json_is_like_itself() -> None:
    record = ToolCallRecord(id="1", name="x", kind="edit", status="completed", ms=None)

    keys = {Call(record=record, given={"size": size}).key for size in (1 << 70, 1 << 70, 1 << 71)}

    assert len(keys) == 2


async def test_what_was_read_of_one_trace_is_not_taken_for_another(tmp_path: Path) -> None:
    first = await everything(session(tmp_path / "first", Took(calls=[run("make")])))
    second = await everything(session(tmp_path / "second", Took(calls=[read("a"), read("b")])))

    assert (first["tool_calls.unique"], second["tool_calls.unique"]) == (1, 2)


def test_a_run_has_metrics_and_analyses_in_its_rows_and_shows_them(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)

    row = shell.row("mini", "--sandbox", "process", "--upstream", "oracle")
    shown = shell.run("show", "last", "1").stdout

    found = row["extensions"]
    assert found["measured"]["tool_calls.total"] == {
        "value": row["tool_calls"]["total"],
        "unit": "calls",
        "source": "acp",
    }
    assert found["measured"]["tokens.total"] == {"value": row["tokens"]["total"], "unit": "tokens", "source": "gateway"}
    said = {"summary": "2 of 2 turns productive; 0 redundant calls; went back 0 times"}
    assert found["analyses"]["efficiency"] == said
    [result] = tmp_path.glob("runs/*/trials/*/try-1/result.json")
    whole = orjson.loads(result.read_bytes())["extensions"]["analyses"]["efficiency"]
    assert whole["summary"] == said["summary"]
    assert "total_turns" in [finding["name"] for finding in whole["findings"]]
    assert f"  efficiency: {said['summary']}\n" in shown


class Odd:
    """A collector and an analyzer at once, whose values are these."""

    id = name = "odd"

    def __init__(self, *values: Any) -> None:
        self._values = values

    async def collect(self, *_: Any, **__: Any) -> list[CustomMetric]:
        return [CustomMetric(name=f"odd.{place}", value=value) for place, value in enumerate(self._values)]

    async def analyze(self, *_: Any, **__: Any) -> AnalysisResult:
        findings = [ListFinding(name="values", items=self._values)]
        return AnalysisResult(analyzer="odd", findings=findings, summary="Odd.")


async def test_what_no_row_could_hold_is_an_error_of_its_plugin(tmp_path: Path) -> None:
    trace = session(tmp_path)
    odd = Odd(1, {"a", "b"})

    row = await observe(make_row(), SCENARIO, trace, collectors=[odd], analyzers=[])
    other = await observe(make_row(), SCENARIO, trace, collectors=[], analyzers=[odd])

    complaint = "TypeError: it cannot be written as JSON: Type is not JSON serializable: set"
    assert row.extensions == {"plugin_errors": {"odd": complaint}}
    assert other.extensions == {"plugin_errors": {"odd": complaint}}


async def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    odd = Odd(np.float64(0.5), np.int64(3))
    row = await observe(make_row(), SCENARIO, session(tmp_path), collectors=[odd], analyzers=[])

    metrics = orjson.loads(row.to_json())["extensions"]["metrics"]

    assert [metric["value"] for metric in metrics.values()] == [0.5, 3]
