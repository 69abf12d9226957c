"""Anthropic's messages: read, changed by splices, written, and put together again from any pieces."""

import json
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from dialect_samples import Ask, MessagesSample
from hypothesis import given
from hypothesis import strategies as st
from wire import MODEL, ask, opened, post, provider, whole

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.json_text import members, read_json
from benchflow.gateway.dialects.messages import AnthropicMessages
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
from benchflow.gateway.upstreams.forward import Forward, Target, address
from benchflow.gateway.upstreams.null import Null

MESSAGES = AnthropicMessages()
PATH = "/v1/messages"


def raw(body: bytes | dict[str, Any]) -> RawRequest:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RawRequest(method="POST", path=PATH, query="beta=true", headers=(), body=content)


def assembled(*pieces: bytes) -> Assembled:
    assembler = MESSAGES.assembler()
    for piece in pieces:
        assembler.feed(piece)
    return assembler.result()


async def body_of(response: RawResponse) -> bytes:
    return b"".join([piece async for piece in response.chunks])


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("POST", "/v1/messages", Route(kind="generate", tail="/v1/messages")),
        ("POST", "/anthropic/v1/messages", Route(kind="generate", tail="/v1/messages")),
        ("POST", "/v1/messages/count_tokens", Route(kind="count_tokens", tail="/v1/messages/count_tokens")),
        ("GET", "/v1/models", Route(kind="models", tail="/v1/models")),
        ("GET", "/v1/models/claude-x", Route(kind="models", tail="/v1/models/claude-x", model="claude-x")),
        ("HEAD", "/", Route(kind="probe", tail="/")),
        ("HEAD", "/api/hello", Route(kind="probe", tail="/api/hello")),
        ("GET", "/v1/messages", None),
        ("POST", "/v1/messages/batches", None),
        ("POST", "/v1/threads/t_1/messages", None),
        ("POST", "/v1/chat/completions", None),
    ],
)
def test_path_says_what_a_request_is_for(method: str, path: str, route: Route | None) -> None:
    assert MESSAGES.route(method, path) == route


def test_request_is_read_whatever_forms_it_uses() -> None:
    text = {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    body = {
        "model": "m",
        "stream": True,
        "system": [{"type": "text", "text": "Be good."}, text],
        "messages": [
            {"role": "user", "content": ["a", image, text]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "AA=="},
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "1", "name": "f", "input": {"x": [1]}},
                    {"type": "server_tool_use", "id": "2", "name": "web_search", "input": {"query": "q"}},
                    {"type": "tool_use", "id": "3", "name": "g", "input": "oh no"},
                    "nonsense",
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "3", "content": [text, image, text], "is_error": True},
                    {"type": "tool_result", "tool_use_id": "4"},
                    text,
                ],
            },
            {"role": "system", "content": "Now be quick."},
            {"role": "odd", "content": 7},
            "nonsense",
        ],
        "tools": [
            {"name": "f", "description": "F.", "input_schema": {"type": "object"}},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
            {"type": "bash_20250124", "name": "bash"},
            {"name": ""},
            None,
        ],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "array"}}},
    }

    read = MESSAGES.read(raw(body))

    assert read.tools[-1].parameters["properties"]["command"] == {"type": "string"}
    assert read == ModelRequest(
        model="m",
        messages=(
            Message(role="system", texts=("Be good.", "b")),
            Message(role="user", texts=("a", "b")),
            Message(
                role="assistant",
                texts=("Let me see.", "nonsense"),
                tool_uses=(ToolUse(id="1", name="f", arguments={"x": [1]}), ToolUse(id="3", name="g", arguments={})),
            ),
            Message(
                role="user",
                texts=("b",),
                tool_results=(
                    ToolResult(call_id="1", text="one"),
                    ToolResult(call_id="3", text="b\nb", is_error=True),
                    ToolResult(call_id="4", text=""),
                ),
            ),
            Message(role="system", texts=("Now be quick.",)),
            Message(role="user"),
        ),
        tools=(
            ToolDefinition(name="f", description="F.", parameters={"type": "object"}),
            ToolDefinition(name="web_search", description="", parameters={}),
            read.tools[-1],
        ),
        tool_choice="f",
        stream=True,
        schema={"type": "array"},
    )


@pytest.mark.parametrize(
    ("choice", "read"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any", "disable_parallel_tool_use": True}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "f"}, "f"),
        ({"type": "tool"}, None),
        ({"type": []}, None),
        ("auto", None),
        (None, None),
    ],
)
def test_choice_of_a_tool_is_read(choice: Any, read: str | None) -> None:
    assert MESSAGES.read(raw({"model": "m", "messages": [], "tool_choice": choice})).tool_choice == read


texts = st.text(st.characters(codec="utf-8"), max_size=12)
numbers = st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
keys = st.sampled_from(["model", "mod", "messages", "role", "content", "x", '"', "é"])


def spell(value: Any, random: Random) -> str:
    """The text of a value with any spaces and escapes, and members of objects that come twice."""

    def space() -> str:
        return "".join(random.choices(" \t\r\n", k=random.choice((0, 0, 0, 1, 3))))

    if isinstance(value, dict):
        pairs = [(key, spell(item, random)) for key, item in value.items()]
        if pairs and random.random() < 0.3:
            pairs.insert(0, (random.choice(pairs)[0], '["earlier", {"model": 1, "messages": []}]'))
        members = [f"{space()}{_spell_text(key, random)}{space()}:{text}" for key, text in pairs]
        text = "{" + (",".join(members) or space()) + "}"
    elif isinstance(value, list):
        text = "[" + (",".join(spell(item, random) for item in value) or space()) + "]"
    else:
        text = _spell_text(value, random) if isinstance(value, str) else json.dumps(value)
    return space() + text + space()


def _spell_text(text: str, random: Random) -> str:
    if random.random() < 0.3:
        return '"' + "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else json.dumps(c)[1:-1] for c in text) + '"'
    return json.dumps(text, ensure_ascii=random.random() < 0.5)


seeds = st.integers(0, 2**32).map(Random)
blocks = st.fixed_dictionaries({"type": st.just("text"), "text": texts}) | st.fixed_dictionaries(
    {"type": st.just("tool_result"), "tool_use_id": texts, "content": json_values}
)
contents = texts | st.lists(blocks, max_size=3)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"]), "content": contents}, optional={"x": json_values}
)
bodies = st.fixed_dictionaries(
    {"model": texts, "messages": st.lists(messages | json_values, max_size=3)},
    optional={"system": contents, "max_tokens": numbers, "": json_values},
)


@given(seeds, bodies, texts)
def test_model_is_replaced_and_every_other_byte_stays(random: Random, body: dict[str, Any], model: str) -> None:
    text = spell(body, random).encode()

    changed, change = MESSAGES.set_model(raw(text), model)

    assert json.loads(changed.body) == {**body, "model": model}
    assert (change.before, change.after, changed.changes) == (body["model"], model, (change,))
    assert _without_models(changed.body) == _without_models(text)
    assert (changed.query, changed.path) == ("beta=true", PATH)


def _without_models(text: bytes) -> bytes:
    for member in reversed([member for member in members(text) if member.name == "model"]):
        text = text[: member.start] + text[member.end :]
    return text


@given(seeds, bodies, texts)
def test_text_is_added_to_the_last_message_of_the_user(random: Random, body: dict[str, Any], text: str) -> None:
    before = spell(body, random).encode()

    changed, change = MESSAGES.append_text(raw(before), text)

    *earlier, last = body["messages"] or [None]
    block = {"type": "text", "text": text}
    if isinstance(last, dict) and last.get("role") in ("user", "system"):
        content = last["content"]
        own = content if isinstance(content, list) else [{"type": "text", "text": content}]
        expected = [*earlier, {**last, "content": [*own, block]}]
    else:
        expected = [*body["messages"], {"role": "user", "content": [block]}]
    assert json.loads(changed.body) == {**body, "messages": expected}
    assert (change.kind, change.after, changed.changes) == ("wrap_up", text, (change,))
    array = [member for member in members(before) if member.name == "messages"][-1]
    assert changed.body.startswith(before[: array.start])
    assert changed.body.endswith(before[array.end - 1 :])
    inside = iter(changed.body[array.start : array.end + len(changed.body) - len(before)])
    assert all(byte in inside for byte in before[array.start : array.end])
    assert len(changed.body) - len(before) <= len(json.dumps(text, ensure_ascii=False).encode()) + 60


@pytest.mark.parametrize("body", [b"{}", b'{"messages": {}}', b"[]", b'{"messages": [1'])
def test_text_cannot_be_added_where_there_is_no_conversation(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        MESSAGES.append_text(raw(body), "x")


@given(json_values | st.dictionaries(keys, json_values))
def test_any_json_is_read_or_is_a_value_error(value: Any) -> None:
    try:
        request = MESSAGES.read(raw(json.dumps(value).encode()))
    except ValueError:
        return
    assert list(request.messages) is not None


@given(
    st.fixed_dictionaries(
        {"messages": st.lists(messages | json_values)},
        optional={
            "tools": json_values,
            "tool_choice": json_values,
            "system": json_values,
            "output_config": json_values,
        },
    )
)
def test_odd_members_hide_no_request(body: dict[str, Any]) -> None:
    assert len(MESSAGES.read(raw(body)).messages) >= sum(isinstance(item, dict) for item in body["messages"])


REQUEST = ModelRequest(model=MODEL, messages=(), tools=(), tool_choice=None, stream=True)
calls = st.builds(
    ToolUse, id=texts, name=texts, arguments=st.dictionaries(texts, st.recursive(st.none() | texts, st.lists))
)
answers = st.builds(
    ModelAnswer,
    text=texts,
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    tokens=st.builds(
        TokenBreakdown.of,
        input=st.integers(0, 2**40),
        output=st.integers(0, 2**40),
        cache_read=st.integers(0, 2**40),
        cache_write=st.integers(0, 2**40),
    ),
)


@given(answers, st.lists(st.integers(0, 3_000), max_size=8))
async def test_what_is_written_is_read_back_however_it_is_cut(answer: ModelAnswer, cuts: list[int]) -> None:
    stream = await body_of(MESSAGES.write(answer, REQUEST))
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]

    read = assembled(*(stream[start:end] for start, end in pairwise(edges)))

    assert (read.text, read.tool_calls, read.tokens) == (answer.text, answer.tool_calls, answer.tokens)
    assert (read.finish, read.complete) == ("tool_use" if answer.tool_calls else "end_turn", True)
    assert read.body["type"] == "message"


async def test_written_stream_is_made_of_the_events_that_clients_wait_for() -> None:
    answer = ModelAnswer(text="Hi", tool_calls=(ToolUse(id="a", name="f", arguments={"x": 1}),))

    stream = await body_of(MESSAGES.write(answer, REQUEST))

    written = [(event.splitlines()[0], json.loads(event.splitlines()[1][6:])) for event in stream.split(b"\n\n")[:-1]]
    assert [name for name, data in written] == [b"event: " + data["type"].encode() for _, data in written]
    assert [(data["type"], data.get("index")) for _, data in written] == [
        ("message_start", None),
        ("ping", None),
        ("content_block_start", 0),
        ("content_block_delta", 0),
        ("content_block_stop", 0),
        ("content_block_start", 1),
        ("content_block_delta", 1),
        ("content_block_stop", 1),
        ("message_delta", None),
        ("message_stop", None),
    ]
    assert written[5][1]["content_block"] == {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    assert written[6][1]["delta"] == {"type": "input_json_delta", "partial_json": '{"x":1}'}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (502, "api_error"),
        (529, "overloaded_error"),
    ],
)
async def test_refusal_has_the_type_of_its_status(status: int, kind: str) -> None:
    body = read_json(await body_of(MESSAGES.refuse(raw(b""), status, "no")))

    assert body == {"type": "error", "error": {"type": kind, "message": "no"}}


def test_base_url_may_have_the_version_or_not() -> None:
    for base in ("https://a.example", "https://a.example/", "https://a.example/v1", "https://a.example/v1/"):
        assert address(base, "/v1/messages") == "https://a.example/v1/messages"
    assert address("https://a.example/v1", "/chat/completions") == "https://a.example/v1/chat/completions"
    assert address("https://a.example/v1beta", "/v1/messages") == "https://a.example/v1beta/v1/messages"


SAMPLE = MessagesSample()
BODY = SAMPLE.body(Ask(stream=False))


async def test_request_reaches_the_provider_as_it_was_but_for_the_key(tmp_path: Path) -> None:
    answer = whole(SAMPLE.whole, headers=("Content-Type: application/json", "request-id: req_1"))
    async with provider(answer) as behind:
        url = f"http://127.0.0.1:{behind.port}/anthropic"
        upstream = Forward(Target(name="local", base_urls={"anthropic-messages": url}, key="sk-real-key-0001"))
        headers = ("Host: gateway", "anthropic-beta: a,b", "Authorization: Bearer trial", "X-Api-Key: trial")
        async with opened(upstream, tmp_path) as gateway:
            got = await ask(gateway.port, post(BODY, "/v1/messages?beta=true", headers))

    asked = behind.asked[0]
    assert asked.head.startswith(b"POST /anthropic/v1/messages?beta=true HTTP/1.1\r\n")
    assert (asked.named(b"x-api-key"), asked.named(b"authorization")) == ([b"X-Api-Key: sk-real-key-0001"], [])
    assert (asked.body, asked.named(b"anthropic-beta")) == (BODY, [b"anthropic-beta: a,b"])
    assert (got.status, got.body) == (200, SAMPLE.whole)
    assert b"request-id: req_1" in got.headers


async def test_tokens_are_counted_and_probes_answered_without_a_model(tmp_path: Path) -> None:
    async with opened(Null(), tmp_path) as gateway:
        counted = await ask(gateway.port, post(BODY, "/v1/messages/count_tokens?beta=true"))
        probed = await ask(gateway.port, b"HEAD / HTTP/1.1\r\n\r\n", head=True)
        listed = await ask(gateway.port, b"GET /v1/models HTTP/1.1\r\nx-api-key: trial\r\n\r\n")
        batches = await ask(gateway.port, post(b"{}", "/v1/messages/batches"))

    assert (counted.status, json.loads(counted.body)) == (200, {"input_tokens": -(-len(BODY) // 4)})
    assert (probed.status, listed.status, batches.status) == (200, 200, 404)
    assert [model["type"] for model in json.loads(listed.body)["data"]] == ["model"]
    assert [exchange.kind for exchange in gateway.tap.exchanges] == ["count_tokens", "probe", "models", "other"]


async def test_model_of_a_main_request_is_enforced_and_of_no_other(tmp_path: Path) -> None:
    async with opened(Null(), tmp_path) as gateway:
        main = await ask(gateway.port, post(SAMPLE.body(Ask(model="other", stream=False)), PATH))
        aside = await ask(gateway.port, post(SAMPLE.body(Ask(model="other", stream=False, tools={})), PATH))

    assert [json.loads(answer.body)["model"] for answer in (main, aside)] == [MODEL, "other"]
    assert [(e.role, e.model_asked, e.model_sent) for e in gateway.tap.exchanges] == [
        ("main", "other", MODEL),
        ("auxiliary", "other", "other"),
    ]
