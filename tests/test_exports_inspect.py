from pathlib import Path
from typing import Any

import pytest
from exporting import OPEN, export, left_out, make_run, read, validate

MODEL = "oracle/gpt-x"


@pytest.fixture
def log(tmp_path: Path) -> dict[str, Any]:
    (path,) = export(make_run(tmp_path), "inspect", tmp_path / "out").files
    return read(path)


def test_the_log_is_valid_in_inspects_schema(log: dict[str, Any]) -> None:
    validate("inspect-0.3.285", log)


def test_a_repetition_is_an_epoch_and_an_unscored_trial_has_an_error_and_no_score(log: dict[str, Any]) -> None:
    assert [
        (sample["epoch"], "scores" in sample, sample.get("error", {}).get("message")) for sample in log["samples"]
    ] == [
        (1, True, None),
        (2, True, None),
        (3, True, None),
        (4, False, "upstream: the last model request failed at the upstream: status 503"),
        (6, False, "launch: it does not start"),
    ]
    assert log["status"] == "cancelled"
    assert log["results"]["scores"][0]["scored_samples"] == 3
    assert log["results"]["scores"][0]["metrics"]["mean"]["value"] == (1.0 + 1.0 + 0.25) / 3


def test_usage_scores_and_cost_are_those_of_the_rows(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (path,) = export(run, "inspect", tmp_path / "out").files
    log = read(path)

    totals = dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), 0)
    for row, sample in zip(run.rows, log["samples"], strict=True):
        assert sample.get("scores", {}).get("verifier", {}).get("value") == row.score
        if row.tokens is None:
            assert sample["model_usage"] == {}
            continue
        usage = sample["model_usage"][MODEL]
        assert usage["input_tokens"] == row.tokens.input
        assert usage["input_tokens_cache_read"] == row.tokens.cache_read
        assert usage["input_tokens_cache_write"] == row.tokens.cache_write
        assert usage["total_tokens"] == row.tokens.total
        assert usage["total_cost"] == row.cost.total_usd
        said = [event["output"].get("usage") for event in sample["events"] if event["event"] == "model"]
        assert sum(one["total_tokens"] for one in said if one) == row.tokens.total
        for name in totals:
            totals[name] += usage[name]
    assert {name: log["stats"]["model_usage"][MODEL][name] for name in totals} == totals


def test_events_stand_in_the_order_of_the_clock_with_their_request_and_response(log: dict[str, Any]) -> None:
    sample = log["samples"][0]

    assert [(event["event"], event.get("role"), event.get("function")) for event in sample["events"]] == [
        ("model", "auxiliary", None),
        ("model", None, None),
        ("model", None, None),
        ("tool", None, "peek"),
        ("tool", None, "shell"),
        ("model", None, None),
    ]
    failed, main = sample["events"][1], sample["events"][2]
    assert failed["error"].startswith("main model request: status 503")
    assert failed["output"]["choices"] == []
    assert main["output"]["choices"][0]["stop_reason"] == "tool_calls"
    assert main["call"]["request"]["model"] == "gpt-x"
    assert main["call"]["response"]["choices"][0]["message"]["content"] == "Let me see."


def test_a_message_that_is_sent_again_with_every_request_stands_once(log: dict[str, Any]) -> None:
    sample = log["samples"][0]
    pool = sample["events_data"]["messages"]

    last = [pool[place] for first, end in sample["events"][-1]["input_refs"] for place in range(first, end)]
    assert [message["role"] for message in last] == ["user", "assistant", "tool", "tool"]
    assert len(pool) == 4
    assert [message["role"] for message in sample["messages"]] == ["user", "assistant", "tool", "tool", "assistant"]


def test_a_budget_that_ended_a_trial_is_its_limit(log: dict[str, Any]) -> None:
    assert [sample.get("limit") for sample in log["samples"]] == [
        None,
        None,
        {"type": "time", "limit": 5.0},
        None,
        None,
    ]


def test_a_trial_that_never_ended_is_left_out(tmp_path: Path) -> None:
    exported = export(make_run(tmp_path), "inspect", tmp_path / "out")

    assert left_out(exported) == {OPEN: ["it has no row: it did not come to its end"]}
