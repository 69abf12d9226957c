"""OpenAI's chat completions: read, changed by splices, written, and put together again from any pieces."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire import MODEL, STREAM, USAGE, chunk, sse

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.chat import Chat
from benchflow.gateway.dialects.json_text import members, read_json
from benchflow.gateway.dialects.sse import event_data
from benchflow.gateway.message import (
    Assembled,
    Message,
    ModelAnswer,
    ModelRequest,
    RawRequest,
    RawResponse,
    Route,
    ToolDefinition,
    ToolResult,
    ToolUse,
)

CHAT = Chat()


def raw(body: bytes | dict[str, Any]) -> RawRequest:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RawRequest(method="POST", path="/v1/chat/completions", query="", headers=(), body=content)


def assembled(*pieces: bytes) -> Assembled:
    assembler = CHAT.assembler()
    for piece in pieces:
        assembler.feed(piece)
    return assembler.result()


async def body_of(response: RawResponse) -> bytes:
    return b"".join([piece async for piece in response.chunks])


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("POST", "/v1/chat/completions", Route(kind="generate", tail="/chat/completions")),
        ("POST", "/openai/deployments/x/chat/completions", Route(kind="generate", tail="/chat/completions")),
        ("POST", "/chat/completions", Route(kind="generate", tail="/chat/completions")),
        ("GET", "/v1/models", Route(kind="models", tail="/models")),
        ("GET", "/v1/models/gpt-4.1", Route(kind="models", tail="/models/gpt-4.1", model="gpt-4.1")),
        ("HEAD", "/", Route(kind="probe", tail="/")),
        ("GET", "/v1/", Route(kind="probe", tail="/")),
        ("GET", "/v1/chat/completions", None),
        ("POST", "/v1/responses", None),
        ("POST", "/v1/models", None),
    ],
)
def test_path_says_what_a_request_is_for(method: str, path: str, route: Route | None) -> None:
    assert CHAT.route(method, path) == route


def test_request_is_read_whatever_forms_it_uses() -> None:
    body = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "Be good."}]},
            {"role": "user", "content": ["a", {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": [1]}'}},
                    {"id": "2", "type": "function", "function": {"name": "g", "arguments": "oh no"}},
                    "nonsense",
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "one"}]},
            {"role": "tool", "tool_call_id": "2", "content": None},
            {"role": "odd", "content": 7},
            "nonsense",
        ],
        "tools": [
            {"type": "function", "function": {"name": "f", "description": "F.", "parameters": {"type": "object"}}},
            {"type": "custom", "custom": {"name": "patch"}},
            {"type": "function", "function": {}},
            None,
        ],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "array"}}},
    }

    assert CHAT.read(raw(body)) == ModelRequest(
        model="m",
        messages=(
            Message(role="system", texts=("Be good.",)),
            Message(role="user", texts=("a", "b")),
            Message(
                role="assistant",
                tool_uses=(
                    ToolUse(id="1", name="f", arguments={"x": [1]}),
                    ToolUse(id="2", name="g", arguments={}),
                ),
            ),
            Message(role="tool", tool_results=(ToolResult(call_id="1", text="one"),)),
            Message(role="tool", tool_results=(ToolResult(call_id="2", text=""),)),
            Message(role="user"),
        ),
        tools=(
            ToolDefinition(name="f", description="F.", parameters={"type": "object"}),
            ToolDefinition(name="patch", description="", parameters={}),
        ),
        tool_choice="f",
        stream=True,
        include_usage=True,
        schema={"type": "array"},
    )


def test_lone_surrogates_do_not_hide_a_request() -> None:
    body = b'{"model": "m", "messages": [{"role": "user", "content": "a \\ud83d b"}]}'

    assert CHAT.read(raw(body)).messages == (Message(role="user", texts=("a ? b",)),)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"7", b'{"model": "m"}', b'{"messages": {}}', b"[" * 100_000, b"\xff"]
)
def test_what_is_no_request_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        CHAT.read(raw(body))


texts = st.text(st.characters(codec="utf-8"), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
spaces = st.text(" \t\r\n", max_size=3)


@st.composite
def json_objects(draw: st.DrawFn, keys: st.SearchStrategy[str]) -> tuple[bytes, list[tuple[str, Any]]]:
    """The text of an object with any spaces and escapes, and its members in order; keys may repeat."""
    found = draw(st.lists(st.tuples(keys, json_values), max_size=6))
    parts = []
    for key, value in found:
        name = json.dumps(key, ensure_ascii=draw(st.booleans()))
        text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 0, 2])))
        parts.append(f"{draw(spaces)}{name}{draw(spaces)}:{draw(spaces)}{text}{draw(spaces)}")
    return f"{draw(spaces)}{{{','.join(parts) or draw(spaces)}}}{draw(spaces)}".encode(), found


@given(json_objects(texts))
def test_members_of_any_object_are_found_where_they_stand(pair: tuple[bytes, list[tuple[str, Any]]]) -> None:
    text, expected = pair

    found = [(member.name, json.loads(text[member.start : member.end])) for member in members(text)]

    assert found == expected


@given(json_objects(st.sampled_from(["model", "mod", "messages", "x"])), texts)
def test_model_is_replaced_and_every_other_byte_stays(pair: tuple[bytes, list[tuple[str, Any]]], model: str) -> None:
    text, found = pair
    changed, change = CHAT.set_model(raw(text), model)

    spans = [member for member in members(text) if member.name == "model"]
    rest = text
    for member in reversed(spans):
        rest = rest[: member.start] + rest[member.end :]
    again = changed.body
    for member in reversed([member for member in members(again) if member.name == "model"]):
        assert json.loads(again[member.start : member.end]) == model
        again = again[: member.start] + again[member.end :]
    if spans:
        assert again == rest
    else:
        assert read_json(changed.body) == {**dict(found), "model": model}
        assert changed.body.endswith(text[text.index(b"{") + 1 :])
    assert (change.before, change.after) == (dict(found).get("model"), model)
    assert changed.changes == (change,)


@given(
    st.lists(json_values, max_size=3),
    texts,
    spaces,
)
def test_text_is_added_at_the_end_of_the_conversation(messages: list[Any], text: str, space: str) -> None:
    inside = json.dumps(messages)[1:-1]
    before = f'{{"a": [], "messages"{space}:{space}[{space}{inside}{space}], "z": {{"messages": [1]}}}}'.encode()

    changed, change = CHAT.append_text(raw(before), text)

    assert json.loads(changed.body) == {
        "a": [],
        "messages": [*messages, {"role": "system", "content": text}],
        "z": {"messages": [1]},
    }
    assert (change.kind, change.after) == ("wrap_up", text)


ANSWER = ModelAnswer(
    text="Let me see. é",
    tool_calls=(
        ToolUse(id="a", name="f", arguments={"x": "1\n"}),
        ToolUse(id="b", name="g", arguments={}),
    ),
    tokens=TokenBreakdown.of(input=10, output=4, reasoning=1, cache_read=3),
)


@pytest.mark.parametrize("stream", [True, False])
async def test_what_is_written_is_read_back(stream: bool) -> None:
    request = ModelRequest(model=MODEL, messages=(), tools=(), tool_choice=None, stream=stream)
    read = assembled(await body_of(CHAT.write(ANSWER, request)))

    assert (read.text, read.tool_calls, read.tokens) == (ANSWER.text, ANSWER.tool_calls, ANSWER.tokens)
    assert (read.finish, read.complete, read.error, read.model) == ("tool_calls", True, None, MODEL)


async def test_usage_is_streamed_only_where_it_is_asked_for() -> None:
    request = ModelRequest(model=MODEL, messages=(), tools=(), tool_choice=None, stream=True, include_usage=False)

    assert assembled(await body_of(CHAT.write(ANSWER, request))).tokens is None


async def test_refusal_has_the_form_of_the_providers_own() -> None:
    response = CHAT.refuse(raw(b""), 413, "too large")

    assert (response.status, response.origin, response.reason) == (413, "gateway", "Request Entity Too Large")
    assert assembled(await body_of(response)).error == "too large"


@given(st.lists(st.integers(0, len(STREAM)), max_size=12), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_stream_may_be_split_anywhere_and_end_its_lines_in_any_way(cuts: list[int], ending: bytes) -> None:
    stream = STREAM.replace(b"\n", ending)
    edges = [0, *sorted(cuts), len(stream)]

    read = assembled(*(stream[start:end] for start, end in pairwise(edges)))

    assert read == Assembled(
        body={
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
            "usage": USAGE,
        },
        model=MODEL,
        text="Hello",
        finish="stop",
        tokens=TokenBreakdown.of(input=60, output=20, reasoning=5, cache_read=40),
        complete=True,
    )


@given(
    st.binary(max_size=300)
    | st.lists(
        st.sampled_from(
            [
                b"data: ",
                b"{}",
                b"[DONE]",
                b"\n",
                b'{"choices":',
                b"[{}]}",
                b"null",
                b'{"error":1}',
                b'{"choices":[{"delta":{"tool_calls":[{"function":{}}]}}]}',
            ]
        )
    ).map(b"".join)
)
def test_assembler_never_raises(stream: bytes) -> None:
    assembled(stream)


def test_comments_other_fields_and_data_over_several_lines() -> None:
    stream = b"\xef\xbb\xbfdata: first\n\n: hi\n\nevent: x\nid: 7\ndata: {\ndata:  1}\n\ndata\n\nretry: 3\n\ndata:x"

    assert list(event_data(stream)) == [b"first", b"{\n 1}", b"", b"x"]


def test_calls_come_in_pieces_of_every_shape() -> None:
    def call(**delta: Any) -> dict[str, Any]:
        return chunk({"tool_calls": [delta]})

    read = assembled(
        sse(
            chunk({"reasoning_content": "Hm"}),
            chunk({"reasoning_content": "m."}),
            call(index=0, id="a", type="function", function={"name": "f", "arguments": ""}),
            call(index=1, id="b", type="function", function={"name": "g", "arguments": '{"y"'}),
            call(index=0, function={"arguments": '{"x": '}),
            call(index=1, function={"name": "", "arguments": ": 2}"}),
            call(index=0, function={"arguments": "1}"}),
            call(id="c", function={"name": "h", "arguments": {"z": 3}}),
            call(function={"arguments": ""}),
            chunk(finish="tool_calls"),
        )
    )

    assert read.thought == "Hmm."
    assert read.tool_calls == (
        ToolUse(id="a", name="f", arguments={"x": 1}),
        ToolUse(id="b", name="g", arguments={"y": 2}),
        ToolUse(id="c", name="h", arguments={"z": 3}),
    )
    assert (read.complete, read.finish) == (True, "tool_calls")


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": 7}, TokenBreakdown.of(input=7)),
        ({"prompt_tokens": 7, "completion_tokens": "3"}, TokenBreakdown.of(input=7)),
        ({"prompt_tokens": 7, "prompt_tokens_details": None}, TokenBreakdown.of(input=7)),
        ({"prompt_tokens": 7, "prompt_cache_hit_tokens": 5}, TokenBreakdown.of(input=2, cache_read=5)),
        ({"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 9}}, TokenBreakdown.of(cache_read=9)),
        ({"prompt_tokens": -7, "completion_tokens": 1}, TokenBreakdown.of(output=1)),
    ],
)
def test_usage_is_read_as_far_as_it_makes_sense(usage: Any, tokens: TokenBreakdown | None) -> None:
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}

    assert assembled(json.dumps(body).encode()).tokens == tokens


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"error": {"message": "no"}}', "no"),
        (b'{"error": {"code": 7}}', '{"code":7}'),
        (b'{"error": "no"}', "no"),
        (b'{"detail": "no"}', "no"),
        (b'{"message": "no"}', "no"),
        (b"<html>no</html>", "not JSON: <html>no</html>"),
        (b"[1]", "not JSON: [1]"),
        (b'{"choices": []}', None),
    ],
)
def test_error_is_found_in_every_form(body: bytes, error: str | None) -> None:
    assert assembled(body).error == error


def test_arguments_that_are_nested_too_deeply_are_left_out() -> None:
    deep = '{"a":' * 400 + "1" + "}" * 400
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": deep}}

    read = assembled(sse(chunk({"tool_calls": [call]}), chunk(finish="tool_calls")))

    assert read.tool_calls == (ToolUse(id="a", name="f", arguments={}),)
    assert read.complete
