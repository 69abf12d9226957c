"""A stored run with everything that exports tell apart, and strict readers of what they write."""

import json
from pathlib import Path
from typing import Any

import jsonschema
from stored import make_row, make_unscored, try_folder, write_run
from trials import Asked, TryLogs

from benchflow.contracts import (
    CostBreakdown,
    LimitHit,
    ScorerCheckResult,
    TimingBreakdown,
    TokenBreakdown,
    ToolCallBreakdown,
)
from benchflow.report.exports.export import Exported, Format, export_run
from benchflow.row import ProfileRow
from benchflow.store import StoredRun
from benchflow.trace import build_trace
from benchflow.trajectories.trajectory import Trajectory

FORMATS = Path(__file__).parent / "data" / "formats"
CACHED = TokenBreakdown.of(input=100, output=10, reasoning=4, cache_read=900, cache_write=50)
OPEN = "fix-mini-baseline-4-00000004"
CHECKS = (
    ScorerCheckResult(
        id="tests", description="the tests pass", passed=True, actual="exit code 0", expected="exit code 0"
    ),
    ScorerCheckResult(id="untouched", description="tests.py: unchanged", passed=False, weight=0.0),
)


def passed(folder: Path) -> None:
    """Two turns, a title that the agent had made, and a request that failed before its repetition came through."""
    logs = TryLogs(folder)
    logs.opened()
    logs.prompted(10)
    logs.exchange(12, text="A title", role="auxiliary")
    logs.exchange(15, status=503, tokens=None)
    logs.exchange(
        20, thought="I look.", text="Let me see.", calls=[Asked(), Asked(id="call_hidden", name="peek")], tokens=CACHED
    )
    logs.said(31, "Let me ")
    logs.said(32, "see.")
    logs.update(33, "tool_call", toolCallId="call_abcdef", title="ls", kind="execute", rawInput={"command": "ls"})
    content = [{"type": "content", "content": {"type": "text", "text": "file.txt"}}]
    logs.update(40, "tool_call_update", toolCallId="call_abcdef", status="completed", content=content)
    logs.exchange(50, text="Done.", tokens=CACHED)
    logs.said(61, "Done.")
    logs.answered(70)


def without_exchanges(folder: Path) -> None:
    """A session of which only ACP tells."""
    logs = TryLogs(folder)
    logs.opened()
    logs.prompted(10)
    logs.update(20, "agent_thought_chunk", content={"type": "text", "text": "Hm."})
    logs.said(21, "I list.")
    logs.update(22, "tool_call", toolCallId="t-1", title="ls", kind="execute", rawInput="ls -l")
    logs.said(30, "Still at it")
    logs.answered(40)


def broken(folder: Path) -> None:
    """The upstream fails, and that is all."""
    logs = TryLogs(folder)
    logs.opened()
    logs.prompted(10)
    logs.exchange(20, status=503, tokens=None)
    logs.answered(40)


def silent(folder: Path) -> None:
    """The agent never got so far as a prompt."""
    TryLogs(folder).opened()


def make_run(tmp_path: Path) -> StoredRun:
    """Five trials: a pass, a guard that failed, a timeout, two that are unscored; and one that never ended."""
    plain = ToolCallBreakdown()
    rows = [
        _row(0, scenario_id="fix", check_details=CHECKS[:1], checks_passed=1, checks_total=1),
        _row(1, success=False, score=1.0, check_details=CHECKS, checks_passed=1, checks_total=2),
        _row(
            2,
            success=False,
            score=0.25,
            check_details=CHECKS,
            tokens=None,
            cost=CostBreakdown(total_usd=None),
            completion_reason="timeout",
            limit=LimitHit(kind="timeout_s", allowed=5.0, used=5.2, phase="hard", counter="wall_clock"),
        ),
        _row(3, make=make_unscored, tool_calls=plain, tokens=None),
        _row(5, make=make_unscored, tool_calls=plain, error_code="launch", error="it does not start", tokens=None),
    ]
    folder = write_run(tmp_path / "runs", *rows, unfinished=(OPEN,))
    for row, write in zip(rows, (passed, passed, without_exchanges, broken, silent), strict=True):
        write(try_folder(folder, row.trial))
    lines = [_measured(row, try_folder(folder, row.trial)).to_json() + b"\n" for row in rows]
    (folder / "rows.jsonl").write_bytes(b"".join(lines))
    return StoredRun(folder)


def _row(iteration: int, make: Any = make_row, **changes: Any) -> ProfileRow:
    segments = {"workspace": 3.25, "session": 20.5, "prompt": 60.0, "score": 7.125}
    return make(
        **{
            "trial": f"fix-mini-baseline-{iteration}-{iteration:08d}",
            "tries": 1,
            "iteration": iteration,
            "timing": TimingBreakdown(wall_ms=60.0, segments=segments),
            **changes,
        }
    )


def _measured(row: ProfileRow, folder: Path) -> ProfileRow:
    """The row with what a run would have measured of these logs."""
    from dataclasses import replace

    exchanges = Trajectory(folder).exchanges
    tokens = [exchange.tokens for exchange in exchanges if exchange.tokens]
    costs = [exchange.cost.total_usd or 0.0 for exchange in exchanges if exchange.tokens]
    trace = build_trace(folder)
    return replace(
        row,
        tokens=sum(tokens, TokenBreakdown()) if tokens else None,
        cost=CostBreakdown(total_usd=sum(costs) if costs else None, source="as the test says"),
        tool_calls=trace.tool_calls,
        agent_turns=trace.summary.total_turns,
    )


def export(run: StoredRun, format: Format, out: Path) -> Exported:
    """Export, and see that what it says it wrote is what is there."""
    exported = export_run(run, format, out)
    assert sorted(exported.files) == sorted(path for path in out.rglob("*") if path.is_file())
    return exported


def left_out(exported: Exported) -> dict[str, list[str]]:
    """What was left out and why, by what it was."""
    found: dict[str, list[str]] = {}
    for entry in exported.left_out:
        found.setdefault(entry.what, []).append(entry.reason)
    return found


def validate(name: str, value: Any) -> None:
    """Hold a value against the schema that was derived from the release of another project."""
    schema = json.loads((FORMATS / f"{name}.json").read_text())["schema"]
    jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]
