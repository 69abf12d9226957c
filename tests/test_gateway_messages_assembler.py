"""Anthropic's messages, put together again from any pieces, whatever their server makes of the format."""

from itertools import pairwise
from typing import Any

import pytest
from dialect_samples import MessagesSample
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import sse

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.messages_assembler import MessagesAssembler
from benchflow.gateway.message import Assembled, ToolUse

texts = st.text(st.characters(codec="utf-8"), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**40), 10**40) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def assembled(*pieces: bytes) -> Assembled:
    assembler = MessagesAssembler()
    for piece in pieces:
        assembler.feed(piece)
    return assembler.result()


STREAM = MessagesSample.stream


@given(st.lists(st.integers(0, len(STREAM)), max_size=12), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_stream_may_be_split_anywhere_and_end_its_lines_in_any_way(cuts: list[int], ending: bytes) -> None:
    stream = STREAM.replace(b"\n", ending)
    edges = [0, *sorted(cuts), len(stream)]

    read = assembled(*(stream[start:end] for start, end in pairwise(edges)))

    assert read == assembled(MessagesSample.whole)


def test_blocks_of_every_kind_grow_from_their_pieces() -> None:
    def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    cited = [{"type": "char_location", "cited_text": "x"}, {"type": "char_location", "cited_text": "y"}]
    thought = [{"type": "thinking_delta", "thinking": word} for word in ("Hm", "m.")]
    signed = {"type": "signature_delta", "signature": "c2ln"}
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", '{"x"', ": [1]", "}")]
    stream = sse(
        {"type": "message_start", "message": {"model": "m", "content": [], "usage": {"input_tokens": 7}}},
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, *thought, signed),
        {"type": "ping"},
        *block(1, {"type": "redacted_thinking", "data": "AA=="}),
        *block(
            2,
            {"type": "text", "text": ""},
            *({"type": "citations_delta", "citation": citation} for citation in cited),
            {"type": "text_delta", "text": "So"},
        ),
        *block(3, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, *pieces),
        *block(4, {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]}),
        *block(5, {"type": "text", "text": " be"}, {"type": "text_delta", "text": " it."}),
        *block(6, {"type": "tool_use", "id": "a", "name": "f", "input": {}}, *pieces),
        *block(7, {"type": "tool_use", "id": "b", "name": "g", "input": {}}, {"type": "input_json_delta"}),
        *block(8, {"type": "tool_use", "id": "c", "name": "h", "input": {}}, pieces[1]),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    )

    read = assembled(stream)

    assert read.body["content"] == [
        {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "AA=="},
        {"type": "text", "text": "So", "citations": cited},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"x": [1]}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]},
        {"type": "text", "text": " be it."},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": [1]}},
        {"type": "tool_use", "id": "b", "name": "g", "input": {}},
        {"type": "tool_use", "id": "c", "name": "h", "input": '{"x"'},
    ]
    assert (read.text, read.thought, read.complete) == ("So be it.", "Hmm.", True)
    assert read.tool_calls == (
        ToolUse(id="a", name="f", arguments={"x": [1]}),
        ToolUse(id="b", name="g", arguments={}),
        ToolUse(id="c", name="h", arguments={}),
    )
    assert read.tokens == TokenBreakdown.of(input=7, output=3)


@pytest.mark.parametrize(
    ("started", "ended", "tokens"),
    [
        (
            {"input_tokens": 7, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1},
            {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}},
            TokenBreakdown.of(input=7, output=9, reasoning=4, cache_read=5, cache_write=2),
        ),
        ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 7, "output_tokens": 9}, (7, 9)),
        ({"input_tokens": 7, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 9}, (7, 9)),
        ({"input_tokens": 7, "output_tokens": 1}, {"input_tokens": None, "output_tokens": 9}, (7, 9)),
        ({"input_tokens": 7}, None, (7, 0)),
        (None, {"output_tokens": 9}, (0, 9)),
        ({"input_tokens": -7, "output_tokens": "x"}, None, (0, 0)),
        ({}, {}, None),
        (None, "x", None),
    ],
)
def test_usage_is_what_was_told_at_last_unless_it_is_less(started: Any, ended: Any, tokens: Any) -> None:
    stream = sse(
        {"type": "message_start", "message": {"usage": started}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": ended},
    )
    if isinstance(tokens, tuple):
        tokens = TokenBreakdown.of(input=tokens[0], output=tokens[1])

    assert assembled(stream).tokens == tokens


def test_stream_with_an_error_in_it_is_not_complete() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    for place in (0, STREAM.index(b"event: message_delta"), len(STREAM)):
        read = assembled(STREAM[:place] + b"event: error\n" + sse(error) + STREAM[place:])

        assert (read.complete, read.error) == (False, "Overloaded")


def test_comments_and_pings_change_nothing() -> None:
    pinged = STREAM.replace(b"event: content", b': keep-alive\n\nevent: ping\ndata: {"type": "ping"}\n\nevent: content')

    assert assembled(pinged) == assembled(STREAM)
    assert assembled(b': keep-alive\n\ndata: {"type": "ping"}\n\n').complete is False


events = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "error", "odd"]
)
parts = st.dictionaries(
    st.sampled_from(["message", "index", "content_block", "delta", "usage", "error", "content", "text", "citation"]),
    json_values | st.dictionaries(st.sampled_from(["type", "text", "usage", "content", "input_tokens"]), json_values),
)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.builds(lambda kind, part: {"type": kind, **part}, events, parts), max_size=8))
def test_assembler_takes_any_events(stream: list[dict[str, Any]]) -> None:
    read = assembled(sse(*stream))

    assert read.body is not None or not stream


@given(st.binary(max_size=300) | st.lists(st.sampled_from(STREAM.splitlines(keepends=True))).map(b"".join))
def test_assembler_never_raises(stream: bytes) -> None:
    assembled(stream)
    assembled(b"{" + stream)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"type": "error", "error": {"type": "api_error", "message": "no"}, "request_id": "r"}', "no"),
        (b'{"error": "no"}', "no"),
        (b'{"detail": "no"}', "no"),
        (b'{"message": "no"}', "no"),
        (b"<html>no</html>", "not JSON: <html>no</html>"),
        (b"[1]", "not JSON: [1]"),
        (b'{"type": "message", "content": []}', None),
    ],
)
def test_error_is_found_in_every_form(body: bytes, error: str | None) -> None:
    assert assembled(body).error == error
