from pathlib import Path
from typing import Any

import jsonschema
import pytest
from exporting import FORMATS, OPEN, export, left_out, make_run, read, read_lines

UPSTREAM = read(FORMATS / "upstream-0.7.11.json")
PASSED, GUARDED, TIMEOUT, UNSCORED, DEAD = (f"fix__0000000{number}" for number in (0, 1, 2, 3, 5))


@pytest.fixture
def job(tmp_path: Path) -> Path:
    export(make_run(tmp_path), "upstream", tmp_path / "out")
    (folder,) = (tmp_path / "out").iterdir()
    return folder


def keys(value: Any, shape: Any) -> None:
    """See that a value has the keys that upstream writes, at every level that it names."""
    if isinstance(shape, dict) and isinstance(value, dict):
        assert set(shape) <= set(value), set(shape) - set(value)
        for name, inner in shape.items():
            keys(value[name], inner)


def test_a_rollout_has_the_files_and_keys_that_upstream_writes(job: Path) -> None:
    for name, shape in UPSTREAM["files"].items():
        path = job / PASSED / name
        value = read_lines(path) if name.endswith(".jsonl") else read(path)
        for one, its in zip(value, shape, strict=False) if isinstance(value, list) else [(value, shape)]:
            keys(one, its)
    assert (job / PASSED / "verifier" / "reward.txt").read_text() == "1.0\n"
    assert "PASS tests: the tests pass" in (job / PASSED / "verifier" / "test-stdout.txt").read_text()


def test_exchanges_are_lines_of_upstreams_own_model(job: Path) -> None:
    lines = read_lines(job / PASSED / "trajectory" / "llm_trajectory.jsonl")

    for line in lines:
        jsonschema.validate(line, UPSTREAM["llm_trajectory.jsonl"])
    assert [(line["response"]["status_code"], line["metadata"]["call_purpose"]) for line in lines] == [
        (200, "helper"),
        (503, "agent"),
        (200, "agent"),
        (200, "agent"),
    ]


def test_the_session_is_told_in_merged_lines(job: Path) -> None:
    assert read_lines(job / PASSED / "trajectory" / "acp_trajectory.jsonl") == [
        {"type": "user_message", "text": "do it"},
        {"type": "agent_message", "text": "Let me see."},
        {
            "type": "tool_call",
            "tool_call_id": "call_abcdef",
            "kind": "execute",
            "title": "ls",
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "file.txt"}}],
            "raw_input": {"command": "ls"},
        },
        {"type": "agent_message", "text": "Done."},
    ]


def test_a_timeout_ends_the_session_and_is_scored_all_the_same(job: Path) -> None:
    result = read(job / TIMEOUT / "result.json")

    assert read_lines(job / TIMEOUT / "trajectory" / "acp_trajectory.jsonl")[-1] == {
        "type": "agent_timeout",
        "reason": "wall_clock_timeout",
        "timeout_sec": 5.0,
        "pending_tool_call_ids": ["t-1"],
        "terminal_trajectory_complete": False,
    }
    assert (result["error_category"], result["rewards"]["reward"]) == ("timeout", 0.25)


def test_a_score_that_upstream_would_take_for_a_pass_becomes_the_verdict_and_that_is_said(tmp_path: Path) -> None:
    exported = export(make_run(tmp_path), "upstream", tmp_path / "out")

    rewards = read(next((tmp_path / "out").glob(f"*/{GUARDED}/result.json")))["rewards"]
    assert (rewards["reward"], rewards["score"]) == (0.0, 1.0)
    assert "its reward is the verdict (0.0)" in left_out(exported)["fix-mini-baseline-1-00000001"][0]


def test_what_is_unscored_has_no_reward_anywhere(job: Path) -> None:
    for name, category in ((UNSCORED, "api_error"), (DEAD, "pipe_closed")):
        result = read(job / name / "result.json")
        assert (result["rewards"], result["error_category"]) == (None, category)
        assert not (job / name / "rewards.jsonl").exists()
        assert not (job / name / "trainer" / "verifiers.jsonl").exists()
        assert list((job / name / "verifier").iterdir()) == []


def test_results_and_summary_say_what_the_rows_say(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    export(run, "upstream", tmp_path / "out")
    (job,) = (tmp_path / "out").iterdir()

    for row in run.rows:
        result = read(job / f"fix__{row.trial[-8:]}" / "result.json")
        used = result["agent_result"]
        expected = (
            (row.tokens.total - row.tokens.output, row.tokens.output, row.tokens.cache_read)
            if row.tokens
            else (None,) * 3
        )
        assert (used["n_input_tokens"], used["n_output_tokens"], used["n_cache_read_tokens"]) == expected
        assert (used["cost_usd"], used["n_tool_calls"]) == (row.cost.total_usd, row.tool_calls.total)
        assert (result["rewards"] or {}).get("score") == row.score
    summary = read(job / "summary.json")
    assert {name: summary[name] for name in ("total", "passed", "failed", "errored", "score_excl_errors_ratio")} == {
        "total": 5,
        "passed": 1,
        "failed": 2,
        "errored": 2,
        "score_excl_errors_ratio": 1 / 3,
    }


def test_what_upstream_has_and_we_do_not_is_said_once(tmp_path: Path) -> None:
    said = left_out(export(make_run(tmp_path), "upstream", tmp_path / "out"))

    assert len(said["results.jsonl"]) == len(said["verifier/ctrf.json"]) == 1
    assert said[OPEN] == ["it has no row: it did not come to its end"]
