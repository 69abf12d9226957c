"""Requests for Google's generateContent: read in all their forms, changed in the path and by splices."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchflow.gateway.dialects.google import Google
from benchflow.gateway.message import (
    Message,
    ModelRequest,
    RawRequest,
    Route,
    ToolDefinition,
    ToolResult,
    ToolUse,
)

GOOGLE = Google()
PATH = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"


def raw(body: Any, path: str = PATH, query: str = "alt=sse") -> RawRequest:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RawRequest(method="POST", path=path, query=query, headers=(), body=content)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


@pytest.mark.parametrize(
    ("path", "model", "stream", "tail"),
    [
        ("/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro", False, None),
        ("/v1/models/gemini-2.5-pro:streamGenerateContent", "gemini-2.5-pro", True, None),
        ("/v1beta/models%2Fgemini-2.5-pro:generateContent", "gemini-2.5-pro", False, None),
        ("/v1beta/models/gemini%202%3Apro%3AgenerateContent", "gemini 2:pro", False, None),
        ("/v1beta/models/org/qwen3:8b:generateContent", "org/qwen3:8b", False, None),
        ("/v1beta/tunedModels/mine-7:generateContent", "tunedModels/mine-7", False, None),
        ("/some/base/v1beta/models/m:generateContent", "m", False, "/v1beta/models/m:generateContent"),
        ("/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent", "m", False, None),
        ("/models/m:generateContent", "m", False, None),
    ],
)
def test_path_names_the_model_and_the_method(path: str, model: str, stream: bool, tail: str | None) -> None:
    assert GOOGLE.route("POST", path) == Route(kind="generate", tail=tail or path, model=model, stream=stream)


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        (
            "POST",
            "/v1beta/models/m:countTokens",
            Route(kind="count_tokens", tail="/v1beta/models/m:countTokens", model="m"),
        ),
        ("GET", "/v1beta/models", Route(kind="models", tail="/v1beta/models", own=True)),
        ("GET", "/v1beta/models/m", Route(kind="models", tail="/v1beta/models/m", model="m", own=True)),
        ("GET", "/v1/models/m", Route(kind="models", tail="/v1/models/m", model="m")),
        ("HEAD", "/", Route(kind="probe", tail="/")),
        ("GET", "/v1beta", Route(kind="probe", tail="/")),
        ("POST", "/v1beta/models/m:embedContent", None),
        ("POST", "/v1beta/models/:generateContent", None),
        ("POST", "/v1/chat/completions", None),
        ("GET", "/v1beta/models/m:generateContent", None),
        ("DELETE", "/v1beta/models", None),
        ("GET", "/v1beta/files", None),
    ],
)
def test_path_says_what_else_a_request_is_for(method: str, path: str, route: Route | None) -> None:
    assert GOOGLE.route(method, path) == route


PARAMETERS = {"type": "OBJECT", "properties": {"x": {"type": "STRING"}}}
CAMEL = {
    "systemInstruction": {"role": "user", "parts": [{"text": "Be good."}, {"text": "Be quick."}]},
    "contents": [
        {"parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}, {"text": "b"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True},
                {"text": "Let me see."},
                {"functionCall": {"id": "1", "name": "f", "args": {"x": [1]}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "g"}},
                7,
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "1", "name": "f", "response": {"output": "one"}}},
                {"functionResponse": {"name": "g", "response": {"error": "no such file"}}},
            ],
        },
        "nonsense",
    ],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "f", "description": "F.", "parameters": PARAMETERS},
                {"name": "g", "parametersJsonSchema": {"type": "object"}},
                {"description": "nameless"},
                None,
            ]
        },
        {"googleSearch": {}},
        None,
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    "generationConfig": {"responseMimeType": "application/json", "responseSchema": {"type": "ARRAY"}},
}
SNAKE = {
    "system_instruction": {"parts": [{"text": "Be good."}, {"text": "Be quick."}]},
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "a"}, {"inline_data": {"mime_type": "image/png", "data": "AA=="}}, {"text": "b"}],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True},
                {"text": "Let me see."},
                {"function_call": {"id": "1", "name": "f", "args": {"x": [1]}}, "thought_signature": "c2ln"},
                {"function_call": {"name": "g", "args": None}},
            ],
        },
        {
            "role": "function",
            "parts": [
                {"function_response": {"id": "1", "name": "f", "response": {"output": "one"}}},
                {"function_response": {"name": "g", "response": {"error": "no such file"}}},
            ],
        },
    ],
    "tools": [
        {
            "function_declarations": [
                {"name": "f", "description": "F.", "parameters": PARAMETERS},
                {"name": "g", "parameters_json_schema": {"type": "object"}},
            ]
        }
    ],
    "tool_config": {"function_calling_config": {"mode": "ANY"}},
    "generation_config": {"response_mime_type": "application/json", "response_schema": {"type": "ARRAY"}},
}


@pytest.mark.parametrize("body", [CAMEL, SNAKE], ids=["camel case", "snake case"])
def test_request_is_read_whatever_forms_it_uses(body: dict[str, Any]) -> None:
    assert GOOGLE.read(raw(body)) == ModelRequest(
        model="gemini-2.5-pro",
        messages=(
            Message(role="system", texts=("Be good.", "Be quick.")),
            Message(role="user", texts=("a", "b")),
            Message(
                role="assistant",
                texts=("Let me see.",),
                tool_uses=(
                    ToolUse(id="1", name="f", arguments={"x": [1]}),
                    ToolUse(id="call_1_3", name="g", arguments={}),
                ),
            ),
            Message(
                role="tool",
                tool_results=(
                    ToolResult(call_id="1", text="one"),
                    ToolResult(call_id="call_1_3", text="no such file", is_error=True),
                ),
            ),
        ),
        tools=(
            ToolDefinition(name="f", description="F.", parameters=PARAMETERS),
            ToolDefinition(name="g", description="", parameters={"type": "object"}),
        ),
        tool_choice="required",
        stream=True,
        schema={"type": "ARRAY"},
    )


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ({"contents": {"role": "user", "parts": {"text": "a"}}}, [("user", ("a",))]),
        ({"contents": [user("a")], "systemInstruction": "Be good."}, [("system", ("Be good.",)), ("user", ("a",))]),
        (
            {"contents": [user("a")], "systemInstruction": {"text": "Be good."}},
            [("system", ("Be good.",)), ("user", ("a",))],
        ),
        (
            {"contents": [user("a")], "systemInstruction": ["A.", {"text": "B."}]},
            [("system", ("A.", "B.")), ("user", ("a",))],
        ),
        ({"contents": [], "systemInstruction": {"parts": []}}, []),
        ({"contents": [{"role": "model"}]}, [("assistant", ())]),
    ],
)
def test_one_thing_may_stand_where_a_list_could(body: Any, texts: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(message.role, message.texts) for message in GOOGLE.read(raw(body)).messages] == texts


def test_lone_surrogates_do_not_hide_a_request() -> None:
    body = b'{"contents": [{"parts": [{"text": "a \\ud83d b"}]}]}'

    assert GOOGLE.read(raw(body)).messages == (Message(role="user", texts=("a ? b",)),)


def test_calls_and_results_without_ids_belong_together_by_name_and_order() -> None:
    def turn(*names: str) -> dict[str, Any]:
        return {"role": "model", "parts": [{"functionCall": {"name": name}} for name in names]}

    def results(*names: str) -> dict[str, Any]:
        return {"parts": [{"functionResponse": {"name": name, "response": {"n": at}}} for at, name in enumerate(names)]}

    contents = [turn("f", "g", "f"), results("g", "f", "f"), turn("f"), user("Stop."), turn("f"), results("f", "h")]
    messages = GOOGLE.read(raw({"contents": contents})).messages

    uses = [use.id for message in messages for use in message.tool_uses]
    answered = [result.call_id for message in messages for result in message.tool_results]
    assert len(set(uses)) == 5
    assert answered == [uses[1], uses[0], uses[2], uses[4], "h"]


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"output": "one"}, "one"),
        ({"anything": "one"}, "one"),
        ({"output": "one", "exitCode": 0}, "one"),
        ({"result": {"a": 1}}, '{"result":{"a":1}}'),
        ({"output": "one", "error": "two"}, '{"output":"one","error":"two"}'),
        ({}, "{}"),
        (None, ""),
        ("one", '"one"'),
    ],
)
def test_what_a_function_returned_is_told_as_text(response: Any, text: str) -> None:
    body = {"contents": [{"parts": [{"functionResponse": {"name": "f", "response": response}}]}]}

    assert GOOGLE.read(raw(body)).messages[0].tool_results[0].text == text


@pytest.mark.parametrize(
    ("calling", "choice", "tools"),
    [
        (None, None, ["f", "g"]),
        ({}, None, ["f", "g"]),
        ({"mode": "AUTO"}, "auto", ["f", "g"]),
        ({"mode": "VALIDATED"}, "auto", ["f", "g"]),
        ({"mode": "VALIDATED", "allowedFunctionNames": ["g"]}, "auto", ["g"]),
        ({"mode": "NONE"}, "none", ["f", "g"]),
        ({"mode": "ANY"}, "required", ["f", "g"]),
        ({"mode": "ANY", "allowedFunctionNames": ["g"]}, "g", ["g"]),
        ({"mode": "ANY", "allowed_function_names": ["f", "g"]}, "required", ["f", "g"]),
        ({"mode": "NEW"}, None, ["f", "g"]),
        ({"mode": []}, None, ["f", "g"]),
        (7, None, ["f", "g"]),
    ],
)
def test_request_says_which_functions_may_be_called(calling: Any, choice: str | None, tools: list[str]) -> None:
    declared = {"functionDeclarations": [{"name": "f"}, {"name": "g"}]}
    body = {"contents": [], "tools": declared, "toolConfig": {"functionCallingConfig": calling}}

    request = GOOGLE.read(raw(body))

    assert (request.tool_choice, [tool.name for tool in request.tools]) == (choice, tools)


@pytest.mark.parametrize(
    ("config", "schema"),
    [
        ({}, None),
        ({"responseMimeType": "text/plain"}, None),
        ({"responseMimeType": "application/json"}, {"type": "object"}),
        ({"response_json_schema": {"type": "array"}}, {"type": "array"}),
        ({"responseJsonSchema": {"type": "array"}, "responseSchema": {"type": "OBJECT"}}, {"type": "array"}),
        ([], None),
    ],
)
def test_schema_of_the_answer_is_found(config: Any, schema: Any) -> None:
    assert GOOGLE.read(raw({"contents": [], "generationConfig": config})).schema == schema


@pytest.mark.parametrize(
    ("query", "form"), [("alt=sse", "events"), ("key=x&alt=sse", "events"), ("", "array"), ("alt=json", "array")]
)
def test_query_says_how_a_stream_is_wanted(query: str, form: str) -> None:
    assert GOOGLE.read(raw({"contents": []}, query=query)).stream_form == form


texts = st.text(st.characters(codec="utf-8"), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
spaces = st.text(" \t\r\n", max_size=3)
words = st.sampled_from(
    [
        "contents",
        "parts",
        "role",
        "text",
        "functionCall",
        "function_response",
        "name",
        "id",
        "args",
        "response",
        "tools",
        "systemInstruction",
        "functionDeclarations",
        "toolConfig",
        "functionCallingConfig",
        "mode",
        "thought",
        "model",
    ]
)
requests_of_a_kind = st.recursive(
    st.none() | st.booleans() | st.integers() | texts | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(words, requests_of_a_kind, max_size=6) | requests_of_a_kind)
def test_odd_request_is_read_to_its_end_or_is_a_value_error(body: Any) -> None:
    try:
        request = GOOGLE.read(raw(body))
    except ValueError:
        assert not isinstance(body, dict) or not isinstance(body.get("contents"), list | dict)
    else:
        assert len(list(request.messages)) == len(request.messages)


def test_results_that_are_nested_too_deeply_are_no_crash() -> None:
    deep = '{"a":' * 400 + "1" + "}" * 400
    body = f'{{"contents": [{{"parts": [{{"functionResponse": {{"name": "f", "response": {deep}}}}}]}}]}}'

    assert GOOGLE.read(raw(body.encode())).messages[0].tool_results[0].text == "nested too deeply to be shown"


segments = st.text("abz-._~ /:%é", min_size=1, max_size=8).filter(lambda text: text.strip("/") == text != "models")


@given(
    before=st.sampled_from(["", "/base", "/a%20b"]),
    version=st.sampled_from(["/v1beta", "/v1", "/v1alpha", "/v1beta1"]),
    collection=st.sampled_from(["/models/", "/models%2F", "/publishers/google/models/"]),
    old=st.sampled_from(["gemini-2.5-pro", "a%2Fb", "qwen3:8b", "org/m"]),
    verb=st.sampled_from([":generateContent", ":streamGenerateContent", ":countTokens", "%3AgenerateContent"]),
    new=segments,
)
def test_model_is_replaced_and_every_other_byte_stays(
    before: str, version: str, collection: str, old: str, verb: str, new: str
) -> None:
    path = before + version + collection + old + verb
    request = raw(b"\xff{", path, "alt=sse&x=%20")

    changed, change = GOOGLE.set_model(request, new)

    assert changed.path.startswith(before + version + collection)
    assert changed.path.endswith(verb)
    route, asked = GOOGLE.route("POST", changed.path), GOOGLE.route("POST", path)
    assert route
    assert asked
    assert route.model == new
    assert (changed.body, changed.query, changed.changes) == (request.body, request.query, (change,))
    assert (change.kind, change.path, change.before, change.after) == ("model", "url.model", asked.model, new)


@pytest.mark.parametrize(
    ("path", "model", "expected"),
    [
        ("/v1beta/models/m:generateContent", "models/n", "/v1beta/models/n:generateContent"),
        ("/v1beta/models/m:generateContent", "tunedModels/n", "/v1beta/tunedModels/n:generateContent"),
        ("/v1beta/tunedModels/m:generateContent", "n", "/v1beta/models/n:generateContent"),
        ("/v1beta/tunedModels/m:generateContent", "tunedModels/n", "/v1beta/tunedModels/n:generateContent"),
        ("/v1beta/models%2Fm:generateContent", "a/n", "/v1beta/models%2Fa%2Fn:generateContent"),
        ("/v1beta/models/m:generateContent", "a?b", "/v1beta/models/a%3Fb:generateContent"),
    ],
)
def test_model_takes_its_collection_with_it(path: str, model: str, expected: str) -> None:
    assert GOOGLE.set_model(raw({}, path), model)[0].path == expected


@given(st.lists(json_values, max_size=3), texts, spaces, st.booleans())
def test_text_is_added_at_the_end_of_the_conversation(contents: list[Any], text: str, space: str, ascii_: bool) -> None:
    inside = json.dumps(contents, ensure_ascii=ascii_)[1:-1]
    head = f'{{"contents": 7, "big": 1e400, "contents"{space}:{space}[{space}{inside}{space}'.encode()
    tail = b'], "z": {"contents": [1]}, "z": 12345678901234567890123456789}'

    changed, change = GOOGLE.append_text(raw(head + tail), text)

    added = changed.body.removeprefix(head).removesuffix(tail)
    assert head + added + tail == changed.body
    assert json.loads(added.removeprefix(b",")) == user(text)
    assert json.loads(changed.body)["contents"] == [*contents, user(text)]
    assert (change.kind, change.path, change.after) == ("wrap_up", "body.contents", text)


def test_text_is_added_behind_a_conversation_without_a_list() -> None:
    changed, _ = GOOGLE.append_text(raw(b'{"x": 1.0 , "contents" : { "parts" : {"text":"a"} } }'), "b")

    assert changed.body == (
        b'{"x": 1.0 , "contents" : [{ "parts" : {"text":"a"} },{"role":"user","parts":[{"text":"b"}]}] }'
    )


@pytest.mark.parametrize("body", [b"{}", b'{"contents": 7}', b"[]"])
def test_text_cannot_be_added_where_there_is_no_conversation(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        GOOGLE.append_text(raw(body), "x")
