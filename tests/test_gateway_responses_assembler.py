"""OpenAI's responses put together: streamed in any pieces, cut anywhere, failed, or whole."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from responses_rig import assembled, likely, names
from wire import MODEL, sse

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.message import ToolUse


def event(name: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{name}", **more}


CREATED = event("created", response={"id": "resp_1", "model": MODEL, "status": "in_progress", "output": []})
USAGE = {"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 3}}


def test_pieces_of_every_kind_are_joined() -> None:
    found = assembled(
        sse(
            CREATED,
            event("output_item.added", output_index=0, item={"type": "reasoning", "id": "rs", "summary": []}),
            event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="Hm"),
            event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="m."),
            event("reasoning_summary_text.delta", output_index=0, summary_index=1, delta="Yes."),
            event("output_text.delta", output_index=1, content_index=0, delta="Well"),
            event("output_text.delta", output_index=1, content_index=0, delta=", "),
            event("refusal.delta", output_index=1, content_index=1, delta="no."),
            event("output_text.delta", output_index=1, content_index=0, delta=7),
            event("function_call_arguments.delta", output_index=2, delta='{"x"'),
            event("output_item.added", output_index=3, item={"type": "custom_tool_call", "name": "p", "call_id": "c"}),
            event("custom_tool_call_input.delta", output_index=3, delta="**"),
            event("custom_tool_call_input.delta", output_index=3, delta="*"),
            event("unheard_of", output_index=4),
        )
    )

    assert (found.thought, found.text) == ("Hmm.\nYes.", "Well, no.")
    assert [item["type"] for item in found.body["output"]] == [
        "reasoning",
        "message",
        "function_call",
        "custom_tool_call",
    ]
    assert found.body["output"][2]["arguments"] == '{"x"'
    assert found.tool_calls[1] == ToolUse(id="c", name="p", arguments={"input": "***"})
    assert (found.complete, found.id) == (False, "resp_1")


def test_whole_items_take_the_place_of_their_pieces() -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "Well."}]}

    found = assembled(
        sse(
            event("output_text.delta", output_index=0, content_index=0, delta="We"),
            event("output_item.done", output_index=0, item=item),
        )
    )

    assert found.body["output"] == [item]


def test_response_that_ends_without_its_output_has_that_of_its_items() -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "Well."}]}

    found = assembled(
        sse(
            CREATED,
            event("output_item.done", item=item),
            event("completed", response={"id": "resp_1", "usage": USAGE, "output": []}),
        )
    )

    assert (found.text, found.finish, found.complete, found.model) == ("Well.", "completed", True, MODEL)
    assert found.tokens == TokenBreakdown.of(input=4, output=2, cache_read=3)


@pytest.mark.parametrize(
    ("last", "finish", "complete", "error"),
    [
        (event("completed", response={"status": "completed", "output": [{}]}), "completed", True, None),
        (
            event("incomplete", response={"incomplete_details": {"reason": "max_output_tokens"}, "output": [{}]}),
            "max_output_tokens",
            True,
            None,
        ),
        (event("failed", response={"error": {"code": "server_error", "message": "no"}}), "failed", False, "no"),
        (event("failed", response={}), "failed", False, None),
        ({"type": "error", "code": "x", "message": "no", "sequence_number": 3}, "in_progress", False, "no"),
        ({"type": "error", "error": {"type": "server_error", "message": "no"}}, "in_progress", False, "no"),
        ({"error": {"message": "no"}}, "in_progress", False, "no"),
    ],
)
def test_end_of_a_stream_says_how_it_ended(
    last: dict[str, Any], finish: str, complete: bool, error: str | None
) -> None:
    found = assembled(sse(CREATED, last))

    assert (found.finish, found.complete, found.error) == (finish, complete, error)


@pytest.mark.parametrize("after", ["", "data: [DONE]\n\n", ": bye\n\n"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_stream_may_end_its_lines_in_any_way_and_have_something_after_its_end(after: str, ending: bytes) -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "Well."}]}
    stream = sse(CREATED, event("completed", response={"status": "completed", "output": [item]})) + after.encode()

    found = assembled(stream.replace(b"\n", ending))

    assert (found.text, found.complete) == ("Well.", True)


@pytest.mark.parametrize(
    ("body", "complete", "error"),
    [
        ({"status": "completed", "output": []}, True, None),
        ({"status": "incomplete", "output": []}, True, None),
        ({"status": "failed", "output": [], "error": {"message": "no"}}, False, "no"),
        ({"status": "cancelled", "output": []}, False, None),
        ({"detail": "no"}, False, "no"),
        ({"error": "no"}, False, "no"),
    ],
)
def test_whole_response_says_how_it_ended(body: dict[str, Any], complete: bool, error: str | None) -> None:
    found = assembled(json.dumps(body).encode())

    assert (found.complete, found.error) == (complete, error)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, None),
        ({}, None),
        ({"input_tokens": 7}, TokenBreakdown.of(input=7)),
        ({"input_tokens": 7, "input_tokens_details": None, "output_tokens": "3"}, TokenBreakdown.of(input=7)),
        ({"input_tokens": 7, "input_tokens_details": {"cached_tokens": 9}}, TokenBreakdown.of(cache_read=9)),
        (
            {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 3}},
            TokenBreakdown.of(input=4, cache_read=2, cache_write=3),
        ),
        (
            {"output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 4}},
            TokenBreakdown.of(output=5, reasoning=4),
        ),
    ],
)
def test_usage_is_read_as_far_as_it_makes_sense(usage: Any, tokens: TokenBreakdown | None) -> None:
    assert assembled(json.dumps({"output": [], "usage": usage}).encode()).tokens == tokens


@given(st.lists(st.dictionaries(names, likely, max_size=6), max_size=6), st.lists(st.integers(0, 3_000), max_size=6))
def test_assembler_takes_anything_however_it_is_cut(events: list[dict[str, Any]], cuts: list[int]) -> None:
    stream = sse(*events)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]

    assert assembled(*(stream[start:end] for start, end in pairwise(edges))) == assembled(stream)
