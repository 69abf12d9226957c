"""Makes pages of stored runs, and reads back what is in them, as the page's own code does."""

import base64
import gzip
import re
from pathlib import Path
from typing import Any

import orjson
from stored import make_row, make_unscored, try_folder, write_run
from trials import TryLogs, two_turns

from benchflow.contracts.verdict import ScorerCheckResult
from benchflow.report.html import write_html
from benchflow.report.profile.making import make_comparison, make_profile
from benchflow.store import StoredRun

PASSED = "fix-mini-baseline-0-00000001"
FAILED = "fix-mini-baseline-1-00000002"
BROKEN = "mend-mini-baseline-0-00000003"
STARTED = "mend-mini-baseline-1-00000004"


def small_run(runs: Path, run_id: str = "20261121-101010-mini-ab12") -> Path:
    """Write a run with a passed, a failed, an unscored and an unfinished trial; the first three have logs."""
    missed = ScorerCheckResult(id="tests-pass", description="the tests pass", passed=False, actual="2 of 3 failed")
    rows = [
        make_row(trial=PASSED, run_id=run_id),
        make_row(
            trial=FAILED,
            run_id=run_id,
            iteration=1,
            success=False,
            score=0.25,
            checks_passed=2,
            check_details=(missed,),
        ),
        make_unscored(trial=BROKEN, run_id=run_id, scenario_id="mend"),
    ]
    folder = write_run(runs, *rows, run_id=run_id, unfinished=(STARTED,))
    for row in rows:
        two_turns(try_folder(folder, row.trial))
    return folder


def long_run(runs: Path, messages: int) -> Path:
    """Write a run of one trial that has so many tool calls, each with its number."""
    folder = write_run(runs, make_row(trial=PASSED))
    logs = TryLogs(try_folder(folder, PASSED))
    logs.opened()
    logs.prompted(10)
    for number in range(messages):
        call = {"toolCallId": f"call-{number}", "title": f"call number {number}", "kind": "read"}
        logs.update(20 + number, "tool_call", **call, status="completed", rawInput={"number": number})
    logs.answered(30 + messages)
    return folder


def make_page(path: Path, *folders: Path, **options: Any) -> Path:
    """Write the page of one run, or of two against each other."""
    runs = [StoredRun(folder) for folder in folders]
    rows = [run.rows for run in runs]
    figures = make_profile(rows[0]) if len(rows) == 1 else make_comparison(rows[0], rows[1])
    write_html(path, figures, runs, **options)
    return path


def read_document(path: Path) -> dict[str, Any]:
    """Return what the page shows before a trial is opened."""
    return orjson.loads(_block(path, "document"))


def read_details(path: Path) -> dict[str, Any]:
    """Return what the page has of its trials, by id."""
    ids = orjson.loads(_block(path, "places"))
    return {
        id: orjson.loads(gzip.decompress(base64.b64decode(_block(path, f"trial-{place}"))))
        for place, id in enumerate(ids)
    }


def _block(path: Path, id: str) -> str:
    found = re.search(rf'<script type="[a-z/]+" id="{id}">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found, id
    return found[1]
