"""OpenAI's responses: read, changed by splices, written, and put together again from any pieces."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from responses_rig import RESPONSES, assembled, json_values, likely, names, texts
from wire import MODEL, PROMPT, ask, opened, post

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.json_text import members
from benchflow.gateway.message import (
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
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer


def raw(body: bytes | dict[str, Any], path: str = "/v1/responses") -> RawRequest:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RawRequest(method="POST", path=path, query="", headers=(), body=content)


def read(**members: Any) -> ModelRequest:
    return RESPONSES.read(raw({"model": MODEL, "input": [], **members}))


async def events_of(response: RawResponse) -> list[dict[str, Any]]:
    content = b"".join([piece async for piece in response.chunks]).decode()
    events = []
    for block in content.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("POST", "/v1/responses", Route(kind="generate", tail="/responses")),
        ("POST", "/responses", Route(kind="generate", tail="/responses")),
        ("POST", "/v1/responses/compact", Route(kind="generate", tail="/responses/compact")),
        ("POST", "/v1/responses/input_tokens", Route(kind="count_tokens", tail="/responses/input_tokens")),
        ("GET", "/v1/models", Route(kind="models", tail="/models")),
        ("GET", "/v1/models/gpt-4.1", Route(kind="models", tail="/models/gpt-4.1", model="gpt-4.1")),
        ("HEAD", "/", Route(kind="probe", tail="/")),
        ("GET", "/v1/responses", None),
        ("GET", "/v1/responses/resp_1", None),
        ("POST", "/v1/responses/resp_1/cancel", None),
        ("POST", "/v1/chat/completions", None),
    ],
)
def test_path_says_what_a_request_is_for(method: str, path: str, route: Route | None) -> None:
    assert RESPONSES.route(method, path) == route


def test_history_is_read_whatever_items_it_has() -> None:
    items = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be good."}]},
        {"role": "system", "content": "And kind."},
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image"}, "b", 7]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"type": "item_reference", "id": "msg_7"},
        {"type": "compaction", "encrypted_content": "xyz"},
        "nonsense",
        {"role": "odd", "content": 7},
    ]

    assert read(instructions="Be brief.", input=items).messages == (
        Message(role="system", texts=("Be brief.",)),
        Message(role="system", texts=("Be good.",)),
        Message(role="system", texts=("And kind.",)),
        Message(role="user", texts=("a", "b")),
        Message(role="assistant"),
        Message(role="assistant"),
        Message(role="assistant", texts=("No.",)),
        Message(role="assistant"),
        Message(role="system"),
        Message(role="user"),
    )


@pytest.mark.parametrize(
    ("call", "use"),
    [
        (
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"x": [1]}'},
            ToolUse(id="1", name="f", arguments={"x": [1]}),
        ),
        (
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": "oh no"},
            ToolUse(id="1", name="f", arguments={}),
        ),
        (
            {"type": "function_call", "call_id": "1", "namespace": "crm", "name": "find", "arguments": "{}"},
            ToolUse(id="1", name="crm.find", arguments={}),
        ),
        (
            {"type": "custom_tool_call", "call_id": "1", "namespace": "functions", "name": "patch", "input": "***"},
            ToolUse(id="1", name="patch", arguments={"input": "***"}),
        ),
        (
            {"type": "local_shell_call", "id": "1", "action": {"type": "exec", "command": ["ls"], "user": None}},
            ToolUse(id="1", name="local_shell", arguments={"type": "exec", "command": ["ls"]}),
        ),
        (
            {"type": "shell_call", "id": "x", "call_id": "1", "action": {"commands": ["ls"]}},
            ToolUse(id="1", name="shell", arguments={"commands": ["ls"]}),
        ),
        (
            {"type": "apply_patch_call", "call_id": "1", "operation": {"type": "delete_file", "path": "a"}},
            ToolUse(id="1", name="apply_patch", arguments={"type": "delete_file", "path": "a"}),
        ),
        (
            {"type": "tool_search_call", "call_id": "1", "execution": "client", "arguments": {"query": "x"}},
            ToolUse(id="1", name="tool_search", arguments={"query": "x"}),
        ),
    ],
)
def test_call_of_every_kind_is_the_agents_to_run(call: dict[str, Any], use: ToolUse) -> None:
    message = Message(role="assistant", tool_uses=(use,))

    assert read(input=[call]).messages == (message,)
    assert assembled(json.dumps({"object": "response", "output": [call]}).encode()).tool_calls == (use,)


@pytest.mark.parametrize(
    ("item", "result"),
    [
        ({"type": "function_call_output", "call_id": "1", "output": "one"}, ToolResult(call_id="1", text="one")),
        (
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "one"}, {}]},
            ToolResult(call_id="1", text="one"),
        ),
        (
            {"type": "function_call_output", "call_id": "1", "output": {"content": "one", "success": False}},
            ToolResult(call_id="1", text="one"),
        ),
        ({"type": "custom_tool_call_output", "call_id": "1", "output": None}, ToolResult(call_id="1", text="")),
        ({"type": "local_shell_call_output", "id": "1", "output": "one"}, ToolResult(call_id="1", text="one")),
        (
            {"type": "shell_call_output", "call_id": "1", "output": [{"stdout": "one", "stderr": "two"}]},
            ToolResult(call_id="1", text="one\ntwo"),
        ),
        (
            {"type": "apply_patch_call_output", "call_id": "1", "status": "failed", "output": "no"},
            ToolResult(call_id="1", text="no", is_error=True),
        ),
    ],
)
def test_result_of_every_kind_of_call_is_read(item: dict[str, Any], result: ToolResult) -> None:
    assert read(input=[item]).messages == (Message(role="tool", tool_results=(result,)),)


def test_tools_are_offered_in_lists_in_namespaces_and_in_the_conversation() -> None:
    function = {"type": "function", "name": "find", "description": "F.", "parameters": {"type": "object"}}
    tools = [
        function,
        {"type": "custom", "name": "patch", "format": {"type": "grammar", "definition": "start: x"}},
        {"type": "namespace", "name": "crm", "tools": [function, {"type": "custom", "name": "note"}, 7]},
        {"type": "local_shell"},
        {"type": "shell"},
        {"type": "web_search", "filters": {}},
        {"type": "mcp", "server_label": "wiki"},
        {"type": "function"},
        None,
    ]
    added = [
        {"type": "namespace", "name": "functions", "tools": [{"type": "function", "name": "late"}]},
    ]
    items = [{"type": "additional_tools", "tools": added}, {"type": "tool_search_output", "tools": [function]}]

    found = read(tools=tools, input=items).tools

    assert [(tool.name, tool.kind, tool.namespace) for tool in found] == [
        ("find", "function", None),
        ("patch", "custom", None),
        ("crm.find", "function", "crm"),
        ("crm.note", "custom", "crm"),
        ("local_shell", "local_shell", None),
        ("shell", "shell", None),
        ("web_search", "web_search", None),
        ("mcp.wiki", "mcp", None),
        ("late", "function", None),
        ("find", "function", None),
    ]
    assert found[0] == ToolDefinition(name="find", description="F.", parameters={"type": "object"})
    assert found[1].parameters["properties"] == {"input": {"type": "string", "description": "start: x"}}


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        (None, None),
        ("auto", "auto"),
        ("required", "required"),
        ({"type": "function", "name": "f"}, "f"),
        ({"type": "function", "name": "f", "namespace": "crm"}, "crm.f"),
        ({"type": "custom", "name": "patch"}, "patch"),
        ({"type": "web_search_preview"}, "web_search_preview"),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}, "auto"),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}, "f"),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "shell"}, {"type": "mcp"}]}, "required"),
        ({"type": "function"}, "auto"),
        (7, None),
    ],
)
def test_choice_of_tools_is_read_in_every_form(choice: Any, name: str | None) -> None:
    assert read(tool_choice=choice).tool_choice == name


def test_form_of_the_answer_is_read() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}

    assert read(text={"format": {"type": "json_schema", "name": "t", "schema": schema}}).schema == schema
    assert read(text={"format": {"type": "json_object"}}).schema == {"type": "object"}
    assert read(text={"format": {"type": "text"}, "verbosity": "low"}).schema is None


def test_input_may_be_one_text() -> None:
    assert read(input="Hello").messages == (Message(role="user", texts=("Hello",)),)


def test_request_that_goes_on_with_a_kept_conversation_needs_no_input() -> None:
    body = {"model": MODEL, "previous_response_id": "resp_1", "tools": [{"type": "function", "name": "f"}]}

    request = RESPONSES.read(raw(body))

    assert (request.continues, request.messages, request.tools[0].name) == ("resp_1", (), "f")


@pytest.mark.parametrize(
    ("path", "items", "compacts"),
    [
        ("/v1/responses/compact", [{"role": "user", "content": "a"}], True),
        ("/v1/responses", [{"role": "user", "content": "a"}, {"type": "compaction_trigger"}], True),
        ("/v1/responses", [{"type": "compaction_trigger"}, {"role": "user", "content": "a"}], False),
        ("/v1/responses", [], False),
    ],
)
def test_request_for_a_shorter_conversation_is_told_apart(path: str, items: list[Any], compacts: bool) -> None:
    assert RESPONSES.read(raw({"model": MODEL, "input": items}, path)).compacts is compacts


spaces = st.text(" \t\r\n", max_size=3)


@given(st.lists(st.dictionaries(names, likely, max_size=5), max_size=4), likely, likely)
def test_request_with_anything_in_it_is_read(items: list[Any], tools: Any, choice: Any) -> None:
    request = read(input=items, tools=tools, tool_choice=choice, text=choice)

    assert len(list(request.messages)) == len(items)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, list[Any] | str | None]:
    """A request with odd spaces, escapes and other members, and what its input is."""
    given_input = draw(st.none() | texts | st.lists(st.dictionaries(names, json_values, max_size=3), max_size=3))
    pairs = [(name, value) for name, value in draw(st.lists(st.tuples(texts, json_values), max_size=3))]
    pairs = [(name, value) for name, value in pairs if name != "input"]
    pairs.insert(draw(st.integers(0, len(pairs))), ("input", given_input))
    parts = []
    for name, value in pairs:
        key = '"\\u0069nput"' if name == "input" and draw(st.booleans()) else json.dumps(name)
        text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 0, 2])))
        parts.append(f"{draw(spaces)}{key}{draw(spaces)}:{draw(spaces)}{text}{draw(spaces)}")
    return f"{draw(spaces)}{{{','.join(parts)}}}{draw(spaces)}".encode(), given_input


@given(bodies(), texts)
def test_text_is_added_at_the_end_of_any_input_and_every_other_byte_stays(
    pair: tuple[bytes, list[Any] | str | None], text: str
) -> None:
    before, given_input = pair
    item = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}

    changed, change = RESPONSES.append_text(raw(before), text)

    said = (
        [{"type": "message", "role": "user", "content": given_input}] if isinstance(given_input, str) else given_input
    )
    assert json.loads(changed.body)["input"] == [*(said or []), item]
    place = next(member for member in members(before) if member.name == "input")
    assert changed.body.startswith(before[: place.start])
    assert changed.body.endswith(before[place.end :])
    if given_input:
        assert before[place.start : place.end].rstrip(b"]") in changed.body
    assert (change.kind, change.path, change.after) == ("wrap_up", "body.input", text)


def test_text_is_added_to_the_input_that_counts() -> None:
    changed, _ = RESPONSES.append_text(raw(b'{"input": [], "input": "Hello"}'), "Be quick.")

    assert RESPONSES.read(changed).messages == (
        Message(role="user", texts=("Hello",)),
        Message(role="system", texts=("Be quick.",)),
    )


def test_text_is_added_where_there_is_no_input() -> None:
    changed, _ = RESPONSES.append_text(raw(b'{"previous_response_id": "resp_1"}'), "Be quick.")

    request = RESPONSES.read(changed)
    assert (request.continues, request.messages) == ("resp_1", (Message(role="system", texts=("Be quick.",)),))


TOOLS = [
    {"type": "function", "name": "f.g"},
    {"type": "custom", "name": "patch"},
    {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "find"}]},
    {"type": "local_shell"},
    {"type": "shell"},
    {"type": "apply_patch"},
    {"type": "tool_search", "execution": "client"},
]
ANSWER = ModelAnswer(
    text="Let me see. é",
    tool_calls=(
        ToolUse(id="a", name="f.g", arguments={"x": "1\n"}),
        ToolUse(id="b", name="patch", arguments={"input": "*** Begin Patch\n"}),
        ToolUse(id="c", name="crm.find", arguments={}),
        ToolUse(id="d", name="local_shell", arguments={"type": "exec", "env": {}, "command": ["ls"]}),
        ToolUse(id="e", name="shell", arguments={"commands": ["ls"]}),
        ToolUse(id="f", name="apply_patch", arguments={"type": "delete_file", "path": "a"}),
        ToolUse(id="g", name="tool_search", arguments={"query": "x"}),
        ToolUse(id="h", name="unheard_of", arguments={"y": None}),
    ),
    tokens=TokenBreakdown.of(input=10, output=4, reasoning=1, cache_read=3),
)


@pytest.mark.parametrize("stream", [True, False])
async def test_calls_are_written_in_the_form_of_their_tools_and_read_back(stream: bool) -> None:
    response = RESPONSES.write(ANSWER, read(tools=TOOLS, stream=stream))
    found = assembled(*[piece async for piece in response.chunks])

    assert [(item["type"], item.get("name"), item.get("namespace")) for item in found.body["output"]] == [
        ("message", None, None),
        ("function_call", "f.g", None),
        ("custom_tool_call", "patch", None),
        ("function_call", "find", "crm"),
        ("local_shell_call", None, None),
        ("shell_call", None, None),
        ("apply_patch_call", None, None),
        ("tool_search_call", None, None),
        ("function_call", "unheard_of", None),
    ]
    assert (found.text, found.tool_calls, found.tokens) == (ANSWER.text, ANSWER.tool_calls, ANSWER.tokens)
    assert (found.finish, found.complete, found.error, found.model) == ("completed", True, None, MODEL)
    assert found.id == found.body["id"]


async def test_events_are_numbered_and_lead_up_to_the_response() -> None:
    events = await events_of(RESPONSES.write(ANSWER, read(tools=TOOLS, stream=True)))

    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"].removeprefix("response.") for event in events][:12] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["output"] == done
    assert [item["status"] for item in done] == ["completed"] * len(done)


@pytest.mark.parametrize("cut", range(1, 18))
async def test_stream_that_is_cut_is_put_together_from_its_pieces(cut: int) -> None:
    response = RESPONSES.write(ANSWER, read(tools=TOOLS, stream=True))
    pieces = [piece async for piece in response.chunks]

    found = assembled(*pieces[:cut])

    assert (found.complete, found.tokens, found.model) == (False, None, MODEL)
    assert found.text == (ANSWER.text if cut > 4 else "")
    assert found.tool_calls[:1] == (ANSWER.tool_calls[:1] if cut > 9 else found.tool_calls[:1])


async def test_compaction_keeps_what_the_user_said() -> None:
    request = RESPONSES.read(raw({"model": MODEL, "input": "Repair it."}, "/v1/responses/compact"))

    found = assembled(*[piece async for piece in RESPONSES.write(ModelAnswer(text="Halfway."), request).chunks])

    users, compaction = found.body["output"]
    assert (users["role"], users["content"][0]["text"]) == ("user", "Repair it.")
    assert (compaction["type"], compaction["encrypted_content"]) == ("compaction", "Halfway.")
    assert (found.body["object"], found.complete) == ("response.compaction", True)


async def test_compaction_that_is_asked_for_as_an_answer_is_one() -> None:
    request = read(input=[{"role": "user", "content": "a"}, {"type": "compaction_trigger"}], stream=True)

    events = await events_of(RESPONSES.write(ModelAnswer(text="Halfway."), request))

    assert [item["type"] for item in events[-1]["response"]["output"]] == ["compaction"]


async def test_gateway_follows_a_conversation_that_the_server_keeps(tmp_path: Path) -> None:
    tools = [{"type": "function", "name": "bash", "parameters": {"type": "object"}}]
    result = {"type": "function_call_output", "call_id": "a", "output": "ok"}
    asked = ScriptedAnswer(tool_calls=(ToolUse(id="a", name="bash", arguments={}),))

    async with opened(Script([asked, ScriptedAnswer(text="Done.")]), tmp_path) as gate:
        first = await ask(gate.port, post(raw({"model": MODEL, "input": PROMPT, "tools": tools}).body, "/v1/responses"))
        for known in (json.loads(first.body)["id"], "resp_0"):
            further = {"model": MODEL, "input": [result], "tools": tools, "previous_response_id": known}
            await ask(gate.port, post(raw(further).body, "/v1/responses"))

    assert [(entry.line["role"], entry.line["dialect"]) for entry in gate.log()] == [
        ("main", "openai-responses"),
        ("main", "openai-responses"),
        ("subagent", "openai-responses"),
    ]


async def test_websocket_is_refused_and_http_goes_on(tmp_path: Path) -> None:
    upgrade = b"GET /v1/responses HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

    async with opened(Script([ScriptedAnswer(text="Done.")]), tmp_path) as gate:
        refused = await ask(gate.port, upgrade)
        answered = await ask(gate.port, post(raw({"model": MODEL, "input": PROMPT}).body, "/v1/responses"))

    assert (refused.status, answered.status) == (426, 200)
