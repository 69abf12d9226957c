from pathlib import Path
from typing import Any

import pytest
from exporting import OPEN, export, left_out, make_run, read, validate

TRIAL = "fix-mini-baseline-0-00000000"
AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def check_rules(document: dict[str, Any]) -> None:
    """What Harbor's models demand beyond their schema."""
    for number, step in enumerate(document["steps"], start=1):
        assert step["step_id"] == number
        assert step["source"] == "agent" or not set(AGENT_ONLY) & set(step)
        calls = [call["tool_call_id"] for call in step.get("tool_calls", ())]
        assert len(set(calls)) == len(calls)
        assert {result["source_call_id"] for result in step.get("observation", {}).get("results", ())} <= set(calls)


@pytest.fixture
def documents(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: read(path) for path in export(make_run(tmp_path), "atif", tmp_path / "out").files}


def test_every_document_is_valid_in_harbors_schema(documents: dict[str, dict[str, Any]]) -> None:
    assert len(documents) == 4
    for document in documents.values():
        validate("atif-harbor-0.25.0", document)
        check_rules(document)


def test_a_turn_is_one_step_with_its_calls_and_what_came_of_them(documents: dict[str, dict[str, Any]]) -> None:
    document = documents[TRIAL]

    assert [(step["source"], step["message"]) for step in document["steps"]] == [
        ("user", "do it"),
        ("agent", "Let me see."),
        ("agent", "Done."),
    ]
    step = document["steps"][1]
    assert step["reasoning_content"] == "I look."
    assert [
        (call["function_name"], call["arguments"], call["extra"]["benchflow"]["shown"]) for call in step["tool_calls"]
    ] == [
        ("shell", {"command": "ls"}, True),
        ("peek", {"command": "ls"}, False),
    ]
    assert step["observation"]["results"] == [
        {"source_call_id": "call_abcdef", "content": "file.txt"},
        {"source_call_id": "call_hidden", "content": "file.txt"},
    ]
    assert step["metrics"] == {
        "prompt_tokens": 1_050,
        "completion_tokens": 10,
        "cached_tokens": 900,
        "cost_usd": 0.001,
        "extra": {"cache_write_tokens": 50, "reasoning_tokens": 4},
    }


def test_steps_and_what_is_no_step_add_up_to_the_row(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    documents = {path.stem: read(path) for path in export(run, "atif", tmp_path / "out").files}

    for row in run.rows:
        if (document := documents.get(row.trial)) is None or row.tokens is None:
            continue
        final = document["final_metrics"]
        rest = final["extra"]["benchflow"]["outside_steps"] or {}
        for name, expected in (
            ("prompt_tokens", row.tokens.total - row.tokens.output),
            ("completion_tokens", row.tokens.output),
            ("cached_tokens", row.tokens.cache_read),
        ):
            steps = [step["metrics"][name] for step in document["steps"] if "metrics" in step]
            assert sum(steps) + rest.get(name, 0) == expected == final[f"total_{name}"]
        assert final["total_cost_usd"] == row.cost.total_usd
        assert document["extra"]["benchflow"]["reward"] == row.score


def test_a_session_of_which_only_acp_tells_has_steps_without_metrics(documents: dict[str, dict[str, Any]]) -> None:
    steps = documents["fix-mini-baseline-2-00000002"]["steps"]

    assert [(step["source"], step["message"], step.get("reasoning_content")) for step in steps] == [
        ("user", "do it", None),
        ("agent", "I list.", "Hm."),
        ("agent", "Still at it", None),
    ]
    assert steps[1]["tool_calls"][0]["arguments"] == {"input": "ls -l"}
    assert not any("metrics" in step for step in steps)


def test_what_is_unscored_says_so_and_has_no_reward(documents: dict[str, dict[str, Any]]) -> None:
    document = documents["fix-mini-baseline-3-00000003"]

    own = document["extra"]["benchflow"]
    assert (own["reward"], own["success"], own["scored"], own["error_code"]) == (None, None, False, "upstream")
    assert "Unscored (upstream)" in document["notes"]
    assert "total_prompt_tokens" not in document["final_metrics"]


def test_a_trial_without_a_step_and_one_without_a_row_are_left_out_and_why_is_said(tmp_path: Path) -> None:
    exported = export(make_run(tmp_path), "atif", tmp_path / "out")

    assert left_out(exported) == {
        "fix-mini-baseline-5-00000005": ["it has no step, and ATIF needs one (it does not start)"],
        OPEN: ["it has no row: it did not come to its end"],
    }
