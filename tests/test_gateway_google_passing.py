"""Google's API through the gateway: what a provider gets and answers passes unchanged, and all of it is on record."""

import json
from pathlib import Path
from typing import Any

import pytest
from google_server import BLOCKED, CALLS, EXHAUSTED, KEY, MODEL, SEARCHED, google_server, piece, usage
from wire import PROMPT, ask, opened, post

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.message import RawRequest, ToolUse
from benchflow.gateway.reading import understand
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.forward import Forward, Target
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer

STREAM = f"/v1beta/models/{MODEL}:streamGenerateContent"
WHOLE = f"/v1beta/models/{MODEL}:generateContent"
TRIAL_KEY = "sk-benchflow-0001"
TOOL = {"name": "list_directory", "parameters": {"type": "OBJECT", "properties": {"dir_path": {"type": "STRING"}}}}
BODY = json.dumps(
    {
        "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
        "tools": [{"functionDeclarations": [TOOL]}],
        "generationConfig": {"temperature": 1.0, "seed": 12345678901234567890123456789},
    },
    separators=(" , ", " : "),
).encode()


def forward_to(url: str, **more: Any) -> Forward:
    return Forward(Target(name="google", base_urls={"google-generative-ai": url}, **{"key": KEY, **more}))


def request(path: str, key: str | None = TRIAL_KEY, body: bytes = BODY) -> bytes:
    return post(body, path, ("Host: gateway", *((f"x-goog-api-key: {key}",) if key else ())))


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("query", ["?alt=sse", "", "?prettyPrint=false"], ids=["events", "array", "array too"])
async def test_stream_passes_unchanged_and_is_captured_whole(query: str, compressed: bool, tmp_path: Path) -> None:
    async with (
        google_server(*CALLS, compressed=compressed) as server,
        opened(forward_to(server.url), tmp_path, model=MODEL) as gateway,
    ):
        direct = await ask(int(server.url.rpartition(":")[2]), request(STREAM + query))
        through = await ask(gateway.port, request(STREAM + query))

    assert (through.status, through.body) == (200, direct.body)
    assert server.asked[1] == (STREAM, query.removeprefix("?"), BODY)
    assert server.keys == [TRIAL_KEY, KEY]
    [exchange] = gateway.log()
    assert exchange.response_body == direct.body
    assert (exchange.line["role"], exchange.line["end"], exchange.line["error"]) == ("main", "complete", None)
    assert exchange.line["model"] == {"asked": MODEL, "sent": MODEL, "answered": MODEL}
    recorded = exchange.exchange
    assert recorded.tokens == TokenBreakdown.of(input=1040, output=100, reasoning=54, cache_read=4080)
    assert recorded.answer.text == "I will look at what is there."
    assert [call.name for call in recorded.answer.tool_calls] == ["list_directory", "read_file"]


async def test_whole_answer_passes_unchanged_and_its_usage_is_true(tmp_path: Path) -> None:
    async with google_server(SEARCHED) as server, opened(forward_to(server.url), tmp_path, model=MODEL) as gateway:
        through = await ask(gateway.port, request(WHOLE))

    assert through.body == json.dumps(SEARCHED, indent=2).encode() + b"\n"
    assert gateway.tap.exchanges[0].tokens == TokenBreakdown.of(input=110, output=18, reasoning=11)


async def test_model_in_the_path_is_enforced_and_nothing_else_changes(tmp_path: Path) -> None:
    async with google_server(*CALLS) as server, opened(forward_to(server.url), tmp_path, model=MODEL) as gateway:
        await ask(gateway.port, request("/v1beta/models/gemini-3-flash:streamGenerateContent?x=%20&alt=sse"))

    assert server.asked == [(STREAM, "x=%20&alt=sse", BODY)]
    [exchange] = gateway.log()
    assert exchange.line["model"] == {"asked": "gemini-3-flash", "sent": MODEL, "answered": MODEL}
    assert exchange.line["changes"][0] == {
        "kind": "model",
        "path": "url.model",
        "before": "gemini-3-flash",
        "after": MODEL,
    }
    assert exchange.line["path"] == "/v1beta/models/gemini-3-flash:streamGenerateContent"


async def test_another_model_is_refused_in_googles_form_where_that_is_asked_for(tmp_path: Path) -> None:
    async with (
        google_server(*CALLS) as server,
        opened(forward_to(server.url), tmp_path, model=MODEL, strict_model=True) as gateway,
    ):
        refused = await ask(gateway.port, request("/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse"))

    assert refused.status == 400
    assert json.loads(refused.body)["error"]["status"] == "INVALID_ARGUMENT"
    assert not server.asked


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("key=sk-trial-key-77&alt=sse", "alt=sse"),
        ("alt=sse&k%65y=sk-trial-key-77", "alt=sse"),
        ("access_token=sk-trial-key-77&alt=sse&key=sk-trial-key-77", "alt=sse"),
        ("monkey=1&alt=sse&keys=%20", "monkey=1&alt=sse&keys=%20"),
    ],
)
async def test_key_in_the_query_is_not_sent_on_and_not_logged(query: str, sent: str, tmp_path: Path) -> None:
    async with google_server(*CALLS) as server, opened(forward_to(server.url), tmp_path, model=MODEL) as gateway:
        answer = await ask(gateway.port, request(f"{STREAM}?{query}", key=None))

    assert answer.status == 200
    assert server.asked == [(STREAM, sent, BODY)]
    assert server.keys == [KEY]
    log = (tmp_path / "llm.jsonl").read_bytes()
    assert b"sk-trial-key-77" not in log
    assert KEY.encode() not in log
    changes = [change.path for change in gateway.log()[0].changes if change.kind == "credentials"]
    assert changes[-1] == "header.x-goog-api-key"
    assert len(changes) == 1 + query.count("sk-trial-key-77")


async def test_without_a_key_for_the_provider_none_is_sent(tmp_path: Path) -> None:
    async with (
        google_server(*CALLS) as server,
        opened(forward_to(server.url, key=None), tmp_path, model=MODEL) as gateway,
    ):
        await ask(gateway.port, request(f"{STREAM}?key=abc"))

    assert (server.asked[0][1], server.keys) == ("", [None])


async def test_refusal_of_the_provider_passes_unchanged(tmp_path: Path) -> None:
    async with (
        google_server(EXHAUSTED, status=429) as server,
        opened(forward_to(server.url), tmp_path, model=MODEL) as gateway,
    ):
        answer = await ask(gateway.port, request(f"{STREAM}?alt=sse"))

    assert (answer.status, json.loads(answer.body)) == (429, EXHAUSTED)
    [exchange] = gateway.tap.exchanges
    assert exchange.failed_upstream
    assert exchange.answer.error == EXHAUSTED["error"]["message"]


async def test_blocked_prompt_is_no_failure_of_the_upstream(tmp_path: Path) -> None:
    async with google_server(BLOCKED) as server, opened(forward_to(server.url), tmp_path, model=MODEL) as gateway:
        await ask(gateway.port, request(f"{STREAM}?alt=sse"))

    [exchange] = gateway.tap.exchanges
    assert (exchange.end, exchange.answer.finish, exchange.failed_upstream) == ("refused", "PROHIBITED_CONTENT", False)
    assert exchange.tokens == TokenBreakdown.of(input=12)


async def test_stream_without_its_end_was_cut(tmp_path: Path) -> None:
    async with google_server(*CALLS[:4]) as server, opened(forward_to(server.url), tmp_path, model=MODEL) as gateway:
        await ask(gateway.port, request(STREAM))

    [exchange] = gateway.tap.exchanges
    assert (exchange.end, exchange.failed_upstream) == ("upstream_cut", True)
    assert exchange.tokens == TokenBreakdown.of(input=5120, output=62, reasoning=54)


async def test_answer_that_is_nested_too_deeply_passes_and_is_on_record(tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}
    called = piece([{"functionCall": {"name": "list_directory", "args": deep}}], usage(7, 3), "STOP")
    async with google_server(called) as server, opened(forward_to(server.url), tmp_path, model=MODEL) as gateway:
        answer = await ask(gateway.port, request(WHOLE))

    assert json.loads(answer.body) == called
    [exchange] = gateway.log()
    assert exchange.response_body == answer.body
    assert (exchange.line["end"], exchange.line["usage"]["output"]) == ("complete", 3)
    assert (exchange.answer.tool_calls, exchange.answer.error) == ((), "it is nested too deeply to be kept")


async def test_other_methods_pass_too(tmp_path: Path) -> None:
    counted = {"totalTokens": 10}
    async with google_server(counted) as server, opened(forward_to(server.url), tmp_path, model=MODEL) as gateway:
        count = await ask(gateway.port, request(f"/v1beta/models/{MODEL}:countTokens", body=b'{"contents": []}'))
        models = await ask(gateway.port, b"GET /v1beta/models?pageSize=5&key=abc HTTP/1.1\r\nHost: gateway\r\n\r\n")

    assert json.loads(count.body) == json.loads(models.body) == counted
    assert [asked[:2] for asked in server.asked] == [
        (f"/v1beta/models/{MODEL}:countTokens", ""),
        ("/v1beta/models", "pageSize=5"),
    ]
    assert [exchange.kind for exchange in gateway.tap.exchanges] == ["count_tokens", "models"]


async def test_script_plays_calls_and_lists_through_it(tmp_path: Path) -> None:
    call = ToolUse(id="c1", name="list_directory", arguments={"dir_path": "."})
    async with opened(Script([ScriptedAnswer(text="I look.", tool_calls=(call,))]), tmp_path, model=MODEL) as gateway:
        answer = await ask(gateway.port, request(WHOLE))
        count = await ask(gateway.port, request(f"/v1beta/models/{MODEL}:countTokens"))
        models = await ask(gateway.port, b"GET /v1beta/models HTTP/1.1\r\nHost: gateway\r\n\r\n")

    parts = json.loads(answer.body)["candidates"][0]["content"]["parts"]
    assert parts == [
        {"text": "I look."},
        {"functionCall": {"id": "c1", "name": "list_directory", "args": {"dir_path": "."}}},
    ]
    assert json.loads(count.body)["totalTokens"] > 0
    assert json.loads(models.body)["models"][0]["name"] == f"models/{MODEL}"


@pytest.mark.parametrize(
    ("path", "header", "dialect"),
    [
        ("/v1/models", "authorization", "openai-completions"),
        ("/v1/models", "x-goog-api-key", "google-generative-ai"),
        ("/v1/models", "x-api-key", "anthropic-messages"),
        ("/v1/models", "x-other", "openai-completions"),
        ("/v1beta/models", "x-other", "google-generative-ai"),
        ("/v1beta/models", "authorization", "google-generative-ai"),
        ("/v1beta/openai/models", "authorization", "openai-completions"),
    ],
)
def test_list_of_models_is_of_the_dialect_whose_path_or_key_it_has(path: str, header: str, dialect: str) -> None:
    asked = RawRequest(method="GET", path=path, query="", headers=((header, "x"),), body=b"")

    context = understand(asked, TrialContext(trial="t", attempt=1, model=MODEL), DIALECTS)

    assert context.dialect is DIALECTS[dialect]
