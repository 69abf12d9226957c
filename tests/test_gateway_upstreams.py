"""Which upstream a run gets, and what those that are no model answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from tool_agent import TEXT as TEXT_SCHEMA
from tool_agent import ToolAgent, schema, send
from wire import MODEL, ask, chat_body, opened, post

from benchflow.errors import InputError
from benchflow.gateway.message import ToolUse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.fitting import fit
from benchflow.gateway.upstreams.null import TEXT, Null
from benchflow.gateway.upstreams.opening import PLAYED_MODEL, OpenedUpstream, open_upstream
from benchflow.gateway.upstreams.providers import provider_at, providers, proxy_for
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer, read_script

KEYS = {"OPENAI_API_KEY": "sk-openai-1", "OPENROUTER_API_KEY": "sk-or-1", "BENCHFLOW_UPSTREAM_KEY": "own-key-1"}


def facts(opened: OpenedUpstream) -> tuple[str, str, str, str, tuple[str, ...]]:
    return opened.upstream.name, opened.model, opened.label, opened.provider, opened.secrets


def test_without_model_and_upstream_it_is_the_oracle_and_says_so() -> None:
    opened = open_upstream(None, None, KEYS)

    assert facts(opened) == ("oracle", PLAYED_MODEL, "oracle", "openai", ())
    assert opened.note
    assert "not a model" in opened.note


def test_what_was_asked_for_needs_no_note() -> None:
    assert open_upstream("oracle", None, {}).note is None


def test_agents_default_model_is_played_and_a_named_one_before_it() -> None:
    assert open_upstream("oracle", None, {}, default_model="qwen3").model == "qwen3"
    assert open_upstream("null", "m-1", {}, default_model="qwen3").model == "m-1"


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [
        (None, "openai/gpt-4.1", ("openai", "gpt-4.1", "openai", "openai", ("sk-openai-1",))),
        (None, "openrouter/a/b:free", ("openrouter", "a/b:free", "openrouter", "openrouter", ("sk-or-1",))),
        (None, "ollama/qwen3:8b", ("ollama", "qwen3:8b", "ollama", "ollama", ())),
        (
            "http://10.0.0.7:8000/v1",
            "org/m",
            ("10.0.0.7:8000", "org/m", "http://10.0.0.7:8000/v1", "openai", ("own-key-1",)),
        ),
        (
            "https://api.openai.com/v1",
            "m",
            ("openai", "m", "https://api.openai.com/v1", "openai", ("sk-openai-1",)),
        ),
    ],
)
def test_model_is_forwarded_to_its_provider(text: str | None, model: str, expected: Any) -> None:
    assert facts(open_upstream(text, model, KEYS)) == expected


@pytest.mark.parametrize(
    ("text", "model", "message"),
    [
        (None, "openai/gpt-4.1", "openai: no key; set OPENAI_API_KEY, or use --upstream oracle"),
        (None, "gpt-4.1", "--model 'gpt-4.1': say whose it is, as in `openai/gpt-4.1`; known are anthropic, "),
        (None, "nobody/x", "--model 'nobody/x': say whose it is"),
        (None, "openai/", "--model 'openai/': say whose it is"),
        ("http://127.0.0.1:1/v1", None, "say with --model which of its models to use"),
        ("http:///v1", "m", "not a URL"),
        ("orcale", None, "--upstream 'orcale': not known; it is one of oracle, null, script:FILE, or the base URL"),
        ("script:", None, "cannot be read"),
        ("script:/nowhere.json", None, "--upstream script:/nowhere.json: cannot be read (No such file or directory)"),
    ],
)
def test_what_cannot_be_opened_says_what_to_do(text: str | None, model: str | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        open_upstream(text, model, {})

    assert message in str(error.value)


def test_table_of_providers_is_whole() -> None:
    for name, provider in providers().items():
        assert provider.name == name
        assert provider.base_urls["openai-completions"].startswith("http")
        assert provider.key is None or provider.key.endswith("_API_KEY")
    assert provider_at("https://openrouter.ai/api/v1") is providers()["openrouter"]
    assert provider_at("https://example.org/api/v1") is None


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://api.openai.com/v1", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.openai.com/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("https://api.openai.com/v1", {"https_proxy": "http://p:1", "no_proxy": ".openai.com"}, None),
        ("http://127.0.0.1:8000/v1", {"http_proxy": "http://p:1"}, None),
        ("https://api.openai.com/v1", {}, None),
    ],
)
def test_proxy_is_the_users(url: str, environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(url, environ) == proxy


async def test_null_says_the_same_and_uses_no_tool(tmp_path: Path) -> None:
    async with opened(Null(), tmp_path) as gateway:
        answers = [json.loads((await ask(gateway.port, post(chat_body()))).body) for _ in range(2)]

    assert answers[0] == answers[1]
    assert answers[0]["choices"][0]["message"] == {"role": "assistant", "content": TEXT}


async def test_models_of_an_upstream_that_is_no_model_are_the_trials(tmp_path: Path) -> None:
    async with opened(Null(), tmp_path) as gateway:
        models = json.loads((await ask(gateway.port, b"GET /v1/models HTTP/1.1\r\n\r\n")).body)

    assert [model["id"] for model in models["data"]] == [MODEL]


async def test_request_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    async with opened(Null(), tmp_path) as gateway:
        assert (await ask(gateway.port, post(b"{"))).status == 400

    assert [(exchange.role, exchange.end) for exchange in gateway.tap.exchanges] == [("auxiliary", "refused")]


async def test_script_plays_its_answers_to_main_requests_of_each_trial(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    calls = [{"name": "bash", "arguments": {"command": "ls"}}, {"name": "bash", "id": "mine"}]
    path.write_text(json.dumps([{"text": "Let me look.", "tool_calls": calls}, "Done."]))
    script = Script(read_script(path))
    tools = {"bash": ({"parameters": schema(["command"], command=TEXT_SCHEMA)}, lambda arguments, folder: "x")}
    for trial in ("one", "two"):
        context = TrialContext(trial=trial, attempt=1, model="m")
        agent = ToolAgent(folder=tmp_path, upstream=script, context=context, tools=tools)

        assert await agent.prompt("Go.") == "Done."
        assert agent.answers[0].text == "Let me look."
        assert agent.answers[0].tool_calls == (
            ToolUse(id="call_0_0", name="bash", arguments={"command": "ls"}),
            ToolUse(id="mine", name="bash", arguments={}),
        )
        assert await agent.prompt("Again.") == "Done."  # the last one is repeated


async def test_scripts_answers_beside_the_work_do_not_count() -> None:
    script = Script([ScriptedAnswer(text="one"), ScriptedAnswer(text="two")])
    aside = TrialContext(trial="t", attempt=1, model="m", role="auxiliary")
    main = TrialContext(trial="t", attempt=1, model="m")
    body = {"model": "m", "messages": []}
    said = []
    for context in (aside, main, aside, main):
        response = await send(script, context, body)
        content = json.loads(b"".join([chunk async for chunk in response.chunks]))
        said.append(content["choices"][0]["message"]["content"])

    assert said == ["Working on the task", "one", "Working on the task", "two"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "must be a list of answers"),
        ("{}", "must be a list of answers"),
        ("[7]", "answer 1: must be a text or an object"),
        ('["a", {"txet": "x"}]', "answer 2: unknown key 'txet'; known are text, status, headers, fault, tool_calls"),
        ('[{"text": 7}]', "answer 1: 7 must be a text"),
        ('[{"status": 201}]', "answer 1: status 201 must be 200 or an error, 400 to 599"),
        ('[{"fault": "slow"}]', "answer 1: fault 'slow' must be `cut` or `silent`"),
        ('[{"headers": []}]', "answer 1: [] must be an object"),
        ('[{"tool_calls": [{"arguments": {}}]}]', "answer 1: a tool call must have `name`"),
        ('[{"tool_calls": [{"name": "x", "arguments": "y"}]}]', "answer 1: 'y' must be an object"),
    ],
)
def test_mistake_in_a_script_is_named(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(content)

    with pytest.raises(InputError) as error:
        read_script(tmp_path / "s.json")

    assert str(tmp_path / "s.json") in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ({"type": "string", "enum": ["HIGH", "Low"]}, "Low"),
        ({"enum": ["deny", "allow"]}, "allow"),
        ({"enum": ["one", "two"]}, "one"),
        ({"const": 7}, 7),
        ({"type": ["null", "integer"], "minimum": 3}, 3),
        ({"type": "number", "exclusiveMinimum": 0}, 1),
        ({"type": "integer", "default": 5}, 5),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, "note"),
        ({"type": "string", "maxLength": 2}, "no"),
        ({"type": "string", "minLength": 6}, "note.."),
        ({"type": "array", "minItems": 2, "items": {"type": "boolean"}}, [False, False]),
        ({"$ref": "#/nowhere"}, None),
        ({"allOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"required": []}]}, {"a": 1}),
        (
            {
                "type": "object",
                "$defs": {
                    "inner": {"type": "object", "properties": {"isSafe": {"type": "boolean"}}, "required": ["isSafe"]}
                },
                "properties": {"x": {"$ref": "#/$defs/inner"}, "y": {"type": "string"}},
                "required": ["x"],
            },
            {"x": {"isSafe": True}},
        ),
        (
            {"type": "object", "properties": {"timeout_ms": {"type": "number"}}, "required": ["timeout_ms"]},
            {"timeout_ms": 120_000},
        ),
        (
            {"type": "object", "properties": {"cwd": {"type": "string"}}, "required": ["cwd", "z"]},
            {"cwd": "/w", "z": "note"},
        ),
        (
            {
                "type": "OBJECT",
                "properties": {
                    "steps": {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "2"},
                    "word": {"type": "STRING", "minLength": "6"},
                    "valid": {"type": "BOOLEAN"},
                    "any": {"anyOf": [{"type": "NULL"}, {"type": "NUMBER", "minimum": 3}]},
                },
                "required": ["steps", "word", "valid", "any"],
            },
            {"steps": [0, 0], "word": "note..", "valid": True, "any": 3},
        ),
        ({"type": ["NULL", "STRING"]}, "note"),
        ({"type": "INTEGER", "description": "Complexity score from 1-100."}, 1),
        ({"type": "number", "description": "A number between 0.0 and 1.0 for your confidence."}, 0),
        ({}, "note"),
        (None, None),
    ],
)
def test_value_fits_its_schema(wanted: Any, value: Any) -> None:
    assert fit(wanted, note="note", place="/w") == value


def test_schema_that_refers_to_itself_comes_to_an_end() -> None:
    looping = {"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}

    assert isinstance(fit(looping), dict)
