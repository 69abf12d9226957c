"""Before anything starts: is the upstream there, and does it speak what the agent speaks?"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from benchflow.errors import InputError
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.upstreams.opening import OpenedUpstream, open_upstream
from benchflow.gateway.upstreams.providers import providers
from benchflow.gateway.upstreams.spoken import PATHS, require_spoken, spoken_dialects

CHAT, MESSAGES, GOOGLE = "openai-completions", "anthropic-messages", "google-generative-ai"
ALL = list(DIALECTS)


@asynccontextmanager
async def server(answers: Mapping[str, tuple[int, str]]) -> AsyncIterator[tuple[str, list[str | None]]]:
    """Answer POSTs by path, and 404 elsewhere; yield the root's URL and the keys that came."""
    keys: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        keys.append(request.headers.get("Authorization"))
        assert await request.read() == b"{}"
        status, text = answers.get(request.path, (404, "404 page not found"))
        return web.Response(status=status, text=text)

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", keys
    finally:
        await runner.cleanup()


async def refused(url: str, dialect: str) -> str:
    opened = opened_at(url)
    try:
        with pytest.raises(InputError) as error:
            await require_spoken(opened, "some-agent", dialect)
    finally:
        await opened.upstream.aclose()
    return str(error.value).replace(url, "URL")


def opened_at(url: str, key: str = "") -> OpenedUpstream:
    return open_upstream(url, "m", {"BENCHFLOW_UPSTREAM_KEY": key})


def test_every_dialect_has_a_path_to_ask_at() -> None:
    for name, dialect in DIALECTS.items():
        route = dialect.route("POST", PATHS[name].format(model="m"))
        assert route
        assert route.kind == "generate"


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("status", [200, 400, 401, 403, 415, 422, 429, 500, 503])
async def test_path_that_is_served_is_spoken_whatever_it_answers(name: str, status: int) -> None:
    async with server({PATHS[name].format(model="m"): (status, "what?")}) as (url, _):
        opened = opened_at(f"{url}/v1")

        await require_spoken(opened, "some-agent", name)

        assert await spoken_dialects(opened) == [name]


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_dialect_that_a_server_does_not_speak_is_refused_with_those_that_it_does(status: int) -> None:
    async with server({"/v1/messages": (status, "nothing here"), "/v1/chat/completions": (400, "")}) as (url, _):
        said = await refused(f"{url}/v1", MESSAGES)

    assert said.startswith(
        "some-agent speaks anthropic-messages, but the upstream URL does not: it speaks openai-completions; take an "
        f"agent that does too, or another upstream (POST URL/messages is answered {status} "
    )


async def test_404_about_an_unknown_model_is_an_answer_of_one_who_speaks_the_dialect() -> None:
    async with server({"/v1/chat/completions": (404, '{"error": "model \'\' not found"}')}) as (url, _):
        await require_spoken(opened_at(f"{url}/v1"), "some-agent", CHAT)


async def test_404_that_repeats_a_path_with_models_in_it_is_none() -> None:
    async with server({"/v1beta/models/m:generateContent": (404, "no /v1beta/models/m:generateContent")}) as (url, _):
        assert "some-agent speaks google-generative-ai" in await refused(url, GOOGLE)


async def test_version_that_is_missing_in_the_url_is_pointed_out() -> None:
    async with server({"/v1/chat/completions": (400, "")}) as (url, _):
        said = await refused(url, CHAT)

    assert said.endswith("; URL/v1 does: use --upstream URL/v1")


async def test_server_without_any_model_api_is_refused_whole() -> None:
    async with server({}) as (url, _):
        with pytest.raises(InputError, match=r"no known model API is there: POST .* 404 Not Found"):
            await spoken_dialects(opened_at(f"{url}/v1"))


async def test_key_goes_with_the_question() -> None:
    async with server({"/v1/chat/completions": (400, "")}) as (url, keys):
        await require_spoken(opened_at(f"{url}/v1", key="sk-mine"), "some-agent", CHAT)

    assert keys == ["Bearer sk-mine"]


async def test_agent_that_declares_no_dialect_only_needs_a_server() -> None:
    async with server({}) as (url, _):
        await require_spoken(opened_at(url), "some-agent", None)
    with pytest.raises(InputError, match="Connection refused; start the server"):
        await require_spoken(opened_at(url), "some-agent", None)


async def test_provider_of_the_table_is_refused_without_being_asked() -> None:
    opened = open_upstream(None, "groq/some-model", {"GROQ_API_KEY": "sk-mine"})

    with pytest.raises(InputError) as error:
        await require_spoken(opened, "some-agent", GOOGLE)
    spoken = list(providers()["groq"].base_urls)
    assert str(error.value) == (
        f"some-agent speaks google-generative-ai, but the upstream groq does not: it speaks {', '.join(spoken)}; take "
        "an agent that does too, or another upstream"
    )
    assert sorted(await spoken_dialects(opened)) == sorted(spoken)


@pytest.mark.parametrize("text", ["oracle", "null"])
async def test_played_upstreams_speak_everything(text: str) -> None:
    opened = open_upstream(text, None, {})

    for name in ALL:
        await require_spoken(opened, "some-agent", name)
    assert await spoken_dialects(opened) == ALL


@pytest.mark.parametrize(
    ("url", "chat", "messages"),
    [
        ("http://h:1/v1", "http://h:1/v1", "http://h:1"),
        ("http://h:1/v1/", "http://h:1/v1/", "http://h:1"),
        ("http://h:1/api/v4", "http://h:1/api/v4", "http://h:1/api"),
        ("http://h:1/v1beta", "http://h:1/v1beta", "http://h:1"),
        ("http://h:1", "http://h:1", "http://h:1"),
        ("http://h:1/api/anthropic", "http://h:1/api/anthropic", "http://h:1/api/anthropic"),
    ],
)
def test_one_base_url_serves_dialects_with_the_version_in_base_or_path(url: str, chat: str, messages: str) -> None:
    target = opened_at(url).target

    assert target
    assert (target.base_urls[CHAT], target.base_urls[MESSAGES]) == (chat, messages)


def test_provider_can_be_named_as_upstream() -> None:
    by_model = open_upstream(None, "openai/gpt-4.1", {"OPENAI_API_KEY": "sk-mine"})
    by_name = open_upstream("openai", "gpt-4.1", {"OPENAI_API_KEY": "sk-mine"})

    assert (by_model.target, by_model.model, by_model.label) == (by_name.target, by_name.model, by_name.label)


def test_key_of_ones_own_serves_a_local_server_of_the_table_too() -> None:
    target = open_upstream("http://127.0.0.1:8080/v1", "m", {"BENCHFLOW_UPSTREAM_KEY": "sk-mine"}).target

    assert target
    assert (target.name, target.key) == ("llamacpp", "sk-mine")
