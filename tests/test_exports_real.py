"""Exports held against the other projects' own released models and readers, installed from PyPI.

Run by hand: `pytest -m real tests/test_exports_real.py`. It installs some hundred megabytes, once a release.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from exporting import make_run

from benchflow.installing.runtimes import find_python
from benchflow.installing.versions import Constraint
from benchflow.machine.home import Home
from benchflow.report.exports.export import Format, export_run

pytestmark = pytest.mark.real

RELEASES = {"atif": "harbor==0.25.0", "inspect": "inspect-ai==0.3.285", "upstream": "benchflow==0.7.11"}

READ_ATIF = """
import json, pathlib, sys
from harbor.models.trajectories import Trajectory
found = {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    trajectory = Trajectory.model_validate_json(path.read_text())
    final = trajectory.final_metrics
    found[trajectory.trajectory_id] = [len(trajectory.steps), final.total_prompt_tokens, final.total_cost_usd]
print(json.dumps(found))
"""
READ_INSPECT = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log
found = {}
for info in list_eval_logs(sys.argv[1]):
    log = read_eval_log(info)
    for sample in log.samples:
        value = sample.scores["verifier"].value if sample.scores else None
        usage = next(iter(sample.model_usage.values()), None)
        inputs = [len(event.input) for event in sample.events if event.event == "model"]
        bodies = [len(event.call.request["messages"]) for event in sample.events if event.event == "model"]
        assert inputs == bodies, (inputs, bodies)
        found[sample.uuid] = [value, usage and usage.input_tokens, usage and usage.total_cost, sample.error is not None]
print(json.dumps(found))
"""
READ_UPSTREAM = """
import json, pathlib, sys
from benchflow.metrics import collect_metrics
from benchflow.trajectories.types import LLMExchange, Trajectory
from benchflow._utils.result_paths import iter_task_result_paths
from benchflow._utils.scoring import classify_score_outcome
from benchflow._utils.result_metadata import trajectory_summary_from_events
root = pathlib.Path(sys.argv[1])
found = {}
for path in iter_task_result_paths(root):
    result = json.loads(path.read_text())
    folder = path.parent / "trajectory"
    said = (folder / "llm_trajectory.jsonl").read_text().splitlines()
    exchanges = [LLMExchange.model_validate_json(line) for line in said]
    lines = [json.loads(line) for line in (folder / "acp_trajectory.jsonl").read_text().splitlines()]
    summary = trajectory_summary_from_events(
        lines, partial_trajectory=result["partial_trajectory"], trajectory_source=result["trajectory_source"]
    )
    assert summary == result["trajectory_summary"], (summary, result["trajectory_summary"])
    trajectory = Trajectory(session_id="s", exchanges=exchanges)
    assert len(exchanges) == len(trajectory.exchanges)
    found[result["benchflow"]["trial"]] = [classify_score_outcome(result), result["agent_result"]["n_input_tokens"]]
metrics = collect_metrics(root)
assert metrics.total == 1
print(json.dumps(found))
"""


@cache
def python_with(release: str) -> Path:
    """Install a release into an environment of its own, below the user's home of BenchFlow; return its interpreter.

    A release may ask for a newer certifi than the index serves; nothing here needs the newest.
    """
    folder = Home.find(os.environ).cache / "releases" / release.replace("==", "-")
    python = folder / "bin" / "python"
    if python.exists():
        return python
    base = find_python(Constraint.parse(">=3.12"), os.environ)
    assert base is not None, "these releases need Python 3.12"
    uv = str(Path(sys.executable).with_name("uv"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    override = folder.parent / "override.txt"
    override.write_text("certifi>=2025.1\n")
    subprocess.run([uv, "venv", "-q", "--python", str(base.path), str(folder)], check=True)
    install = [uv, "pip", "install", "-q", "--python", str(python), "--override", str(override), release]
    subprocess.run(install, check=True)
    return python


def read_with(format: Format, code: str, tmp_path: Path) -> tuple[Any, dict[str, Any]]:
    """Export the run with everything in it, and read it with the other project's release."""
    run = make_run(tmp_path)
    export_run(run, format, tmp_path / "out")
    words = [str(python_with(RELEASES[format])), "-c", code, str(tmp_path / "out")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    return run.rows, json.loads(ended.stdout.splitlines()[-1])


def test_harbors_models_take_the_trajectories(tmp_path: Path) -> None:
    rows, found = read_with("atif", READ_ATIF, tmp_path)

    for row in rows[:4]:
        prompt = row.tokens.total - row.tokens.output if row.tokens else None
        assert found[row.trial][1:] == [prompt, row.cost.total_usd]


def test_inspect_reads_the_log(tmp_path: Path) -> None:
    rows, found = read_with("inspect", READ_INSPECT, tmp_path)

    assert found == {
        row.trial: [row.score, row.tokens and row.tokens.input, row.cost.total_usd, row.success is None] for row in rows
    }


def test_upstream_reads_the_rollouts(tmp_path: Path) -> None:
    rows, found = read_with("upstream", READ_UPSTREAM, tmp_path)

    outcomes = {True: "passed", False: "failed", None: "errored"}
    assert found == {
        row.trial: [outcomes[row.success], row.tokens.total - row.tokens.output if row.tokens else None] for row in rows
    }
