"""Writes folders of runs as BenchFlow leaves them, for tests of what reads them."""

from pathlib import Path
from typing import Any

import orjson

from benchflow.contracts import CostBreakdown, ExchangeCounts, TimingBreakdown, TokenBreakdown, ToolCallBreakdown
from benchflow.row import ProfileRow

RUN_ID = "20261121-101010-mini-ab12"


def make_row(**changes: Any) -> ProfileRow:
    """A passed trial under the oracle, but for `changes`."""
    values: dict[str, Any] = {
        "run_id": RUN_ID,
        "trial": "fix-mini-baseline-0-1a2b3c4d",
        "tries": 1,
        "agent": "mini",
        "agent_version": "0.1.0",
        "agent_digest": "digest",
        "model": "gpt-x",
        "model_served": "gpt-x",
        "upstream": "oracle",
        "mode": "baseline",
        "scenario_id": "fix",
        "scenario_digest": "digest",
        "iteration": 0,
        "started_at": "2026-11-21T10:10:10.000000Z",
        "completed_at": "2026-11-21T10:10:12.000000Z",
        "tokens": TokenBreakdown.of(input=12_345, output=678),
        "timing": TimingBreakdown(wall_ms=1_234.5),
        "tool_calls": ToolCallBreakdown(total=3),
        "cost": CostBreakdown(total_usd=0.0123),
        "exchanges": ExchangeCounts(main=4),
        "success": True,
        "score": 1.0,
        "checks_passed": 3,
        "checks_total": 3,
        "check_details": (),
        "output_valid": True,
        "provider": "acp",
        "session_id": "s-1",
        "agent_turns": 4,
        "completion_reason": "stop",
        "stop_reason": "end_turn",
        "wrapped_up": False,
        "limit": None,
        "tier": "unmeasured",
        "isolation": "bubblewrap",
        "error": None,
        "error_code": None,
        "benchflow_version": "0.1.0",
    }
    return ProfileRow(**{**values, **changes})


def make_unscored(**changes: Any) -> ProfileRow:
    """A trial that its upstream broke."""
    broken = {
        "success": None,
        "score": None,
        "checks_passed": 0,
        "completion_reason": "error",
        "error_code": "upstream",
        "error": "the last model request failed at the upstream: status 503",
        "cost": CostBreakdown(total_usd=None),
        "tokens": None,
    }
    return make_row(**{**broken, **changes})


def write_run(runs: Path, *rows: ProfileRow, run_id: str = RUN_ID, unfinished: tuple[str, ...] = ()) -> Path:
    """Write a run with these rows, and trials that were started and have none; return its folder."""
    folder = runs / run_id
    (folder / "trials").mkdir(parents=True)
    (folder / "run.json").write_bytes(orjson.dumps({"run_id": run_id}))
    (folder / "rows.jsonl").write_bytes(b"".join(row.to_json() + b"\n" for row in rows))
    lines = [entry(row.trial, state) for row in rows for state in ("started", "ended")]
    lines += [entry(key, "started") for key in unfinished]
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    for row in rows:
        write_json(try_folder(folder, row.trial) / "result.json", row)
    for key in unfinished:
        try_folder(folder, key)
    return folder


def entry(trial: str, state: str, attempt: int = 1) -> bytes:
    """A line of a journal."""
    return orjson.dumps({"trial": trial, "try": attempt, "state": state, "ts": "2026-11-21T10:10:10.000000Z"}) + b"\n"


def try_folder(run: Path, key: str, attempt: int = 1) -> Path:
    """Make and return the folder of a try."""
    folder = run / "trials" / key / f"try-{attempt}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_json(path: Path, value: Any) -> None:
    """Write one JSON value and a newline."""
    path.write_bytes(orjson.dumps(value) + b"\n")
