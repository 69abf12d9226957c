"""Whatever breaks at the upstream, between, or on our side: what the agent gets, and what is on record."""

import asyncio
import json
import random
from pathlib import Path

import pytest
from wire import (
    STREAM,
    Client,
    Provider,
    Talk,
    ask,
    chat_body,
    chunk,
    chunked,
    client,
    forward_to,
    listener,
    opened,
    port_of,
    post,
    provider,
    sse,
    until,
    whole,
)

from benchflow.clock import Clock
from benchflow.errors import InputError
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.http.client import Patience
from benchflow.gateway.message import RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.null import Null
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer
from benchflow.redact import Redactor

ERROR = b'{"error": {"message": "said so"}}'


@pytest.mark.parametrize(
    ("status", "failed"),
    [
        *((400, False), (401, True), (403, True), (404, False), (408, True), (413, False), (422, False)),
        *((429, True), (500, True), (502, True), (503, True), (529, True)),
    ],
)
async def test_status_says_whether_the_upstream_failed(status: int, failed: bool, tmp_path: Path) -> None:
    answer = whole(ERROR, status=f"{status} Something")
    async with provider(answer) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        assert (await ask(gateway.port, post(chat_body()))).status == status

    (exchange,) = gateway.tap.exchanges
    assert (exchange.failed_upstream, exchange.succeeded, exchange.turn) == (failed, False, None)
    assert (exchange.status, exchange.end, exchange.origin) == (status, "complete", "upstream")
    assert exchange.answer.error == "said so"


async def test_provider_that_is_not_there_is_an_upstream_failure(tmp_path: Path) -> None:
    sock = listener()
    url = f"http://127.0.0.1:{port_of(sock)}/v1"
    sock.close()
    async with opened(forward_to(url), tmp_path) as gateway:
        answer = await ask(gateway.port, post(chat_body()))

    assert answer.status == 502
    assert (
        f"the upstream local did not answer: cannot connect to {url[7:-3]}: "
        in json.loads(answer.body)["error"]["message"]
    )
    (exchange,) = gateway.tap.exchanges
    assert (exchange.status, exchange.end, exchange.origin) == (None, "upstream_cut", "upstream")
    assert exchange.failed_upstream
    assert "cannot connect" in (exchange.answer.error or "")
    assert gateway.log()[0].line["request"]["sha256_forwarded"] is None


async def hang_up(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def test_provider_that_hangs_up_is_an_upstream_failure(tmp_path: Path) -> None:
    async with provider(hang_up) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        assert (await ask(gateway.port, post(chat_body()))).status == 502

    assert gateway.tap.exchanges[0].failed_upstream
    assert gateway.log()[0].line["request"]["sha256_forwarded"]


async def test_silent_provider_is_an_upstream_failure(tmp_path: Path) -> None:
    async def silent(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with (
        provider(silent) as upstream,
        opened(forward_to(upstream.url, patience=Patience(silence_s=0.05)), tmp_path) as gateway,
    ):
        assert (await ask(gateway.port, post(chat_body()))).status == 502

    assert gateway.tap.exchanges[0].failed_upstream


def cut_after(content: bytes, head: str = "Transfer-Encoding: chunked") -> Talk:
    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{head}\r\n\r\n".encode() + content)
        await writer.drain()
        writer.close()

    return talk


PART = sse(chunk({"content": "Hel"}))


@pytest.mark.parametrize(
    "talk",
    [
        cut_after(b"%x\r\n%b\r\n" % (len(PART), PART)),
        cut_after(b"%x\r\n%b" % (len(PART) + 100, PART)),
        cut_after(PART, head="Content-Length: 4000"),
    ],
    ids=["between chunks", "in a chunk", "before its length"],
)
async def test_stream_that_is_cut_is_cut_for_the_agent_too(talk: Talk, tmp_path: Path) -> None:
    async with (
        provider(talk) as upstream,
        opened(forward_to(upstream.url), tmp_path) as gateway,
        client(gateway.port) as agent,
    ):
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await agent.ask(post(chat_body(stream=True)))
        await until(lambda: bool(gateway.tap.exchanges))

    (exchange,) = gateway.tap.exchanges
    assert (exchange.end, exchange.status, exchange.answer.text) == ("upstream_cut", 200, "Hel")
    assert exchange.failed_upstream
    assert gateway.log()[0].response_body == PART


@pytest.mark.parametrize(
    "stream",
    [PART, PART + sse({"error": {"message": "overloaded", "code": 529}}), b"", b"<html>come back later</html>"],
    ids=["no end", "error inside", "nothing", "not an answer"],
)
async def test_stream_that_ends_politely_without_an_answer_is_an_upstream_failure(
    stream: bytes, tmp_path: Path
) -> None:
    async with provider(chunked(stream)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        assert (await ask(gateway.port, post(chat_body(stream=True)))).body == stream

    (exchange,) = gateway.tap.exchanges
    assert (exchange.end, exchange.failed_upstream, exchange.turn) == ("upstream_cut", True, None)


async def test_failures_that_a_retry_made_good_are_counted_and_no_turns(tmp_path: Path) -> None:
    script = Script(
        [
            ScriptedAnswer(status=429, text="slow down", headers=(("Retry-After", "0"),)),
            ScriptedAnswer(fault="cut", text="I was about to say"),
            ScriptedAnswer(fault="silent"),
            ScriptedAnswer(text="Done."),
        ]
    )
    async with opened(script, tmp_path) as gateway:
        answers = []
        for stream in (True, True, True, True):
            async with client(gateway.port) as agent:
                try:
                    answers.append((await agent.ask(post(chat_body(stream=stream)))).status)
                except asyncio.IncompleteReadError:
                    answers.append(None)
        await until(lambda: len(gateway.tap.exchanges) == 4)

    assert answers == [429, None, 502, 200]
    assert [exchange.failed_upstream for exchange in gateway.tap.exchanges] == [True, True, True, False]
    assert [exchange.turn for exchange in gateway.tap.exchanges] == [None, None, None, 0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
async def test_full_disk_stops_the_trials_model_calls_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "llm.jsonl").symlink_to("/dev/full")
    async with provider(whole(b"{}")) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        await ask(gateway.port, post(chat_body()))
        await until(lambda: bool(gateway.tap.exchanges))
        refused = await ask(gateway.port, post(chat_body()))

    assert gateway.tap.failure
    assert gateway.tap.failure.code == "capture"
    assert f"{tmp_path}/llm.jsonl: cannot be written (No space left on device)" in str(gateway.tap.failure)
    assert (refused.status, len(upstream.asked)) == (503, 1)


async def test_folder_that_cannot_be_written_is_an_input_error_before_anything_starts(tmp_path: Path) -> None:
    with listener() as sock:
        async with Gateway(Null(), clock=Clock(), redactor=Redactor([])) as gateway:
            with pytest.raises(InputError, match=r"llm\.jsonl: cannot be written \(No such file or directory\)"):
                await gateway.attach(sock, TrialContext(trial="t", attempt=1, model="m"), tmp_path / "nowhere")


async def test_unknown_dialect_is_an_input_error(tmp_path: Path) -> None:
    with listener() as sock:
        async with Gateway(Null(), clock=Clock(), redactor=Redactor([])) as gateway:
            with pytest.raises(InputError, match="the gateway does not speak it; it speaks openai-completions"):
                await gateway.attach(sock, TrialContext(trial="t", attempt=1, model="m"), tmp_path, ["telegraph"])


async def test_bug_in_an_upstream_is_raised_and_not_taken_for_an_agents_failure(tmp_path: Path) -> None:
    class Broken:
        name = "broken"
        priced_as = None

        async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
            raise ZeroDivisionError("a bug")

        async def aclose(self) -> None: ...

    async with opened(Broken(), tmp_path) as gateway, client(gateway.port) as agent:
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await agent.ask(post(chat_body()))
        with pytest.raises(ZeroDivisionError):
            await gateway.tap.close()
    assert len(gateway.log()) == 1


async def test_exchange_under_way_when_the_tap_closes_is_on_record(tmp_path: Path) -> None:
    async def slow(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(PART), PART))
        await reader.read()

    async with (
        provider(slow) as upstream,
        opened(forward_to(upstream.url), tmp_path) as gateway,
        client(gateway.port) as agent,
    ):
        agent.writer.write(post(chat_body(stream=True)))
        await agent.reader.readuntil(b"Hel")
        await gateway.tap.close(grace_s=0.01)

    assert [entry.line["end"] for entry in gateway.log()] == ["client_gone"]


async def test_exchange_that_ends_within_the_grace_is_whole(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def slow(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go_on.wait()
        writer.write(chunked(STREAM))

    async with (
        provider(slow) as upstream,
        opened(forward_to(upstream.url), tmp_path) as gateway,
        client(gateway.port) as agent,
    ):
        agent.writer.write(post(chat_body(stream=True)))
        await until(lambda: bool(upstream.asked))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(gateway.tap.close(grace_s=10))
            go_on.set()
            answer = await agent.receive()

    assert answer.body == STREAM
    assert gateway.tap.exchanges[0].succeeded


async def test_late_call_after_the_prompts_response_is_recorded_apart(tmp_path: Path) -> None:
    async with opened(Null(), tmp_path) as gateway:
        await ask(gateway.port, post(chat_body()))
        gateway.tap.prompt_answered()
        await ask(gateway.port, post(chat_body()))

    roles = [(exchange.role, exchange.after_prompt, exchange.turn) for exchange in gateway.tap.exchanges]
    assert roles == [("main", False, 0), ("auxiliary", True, None)]


async def test_every_request_that_reached_the_provider_is_on_record_whatever_64_agents_do(tmp_path: Path) -> None:
    dice = random.Random(7)
    rounds = 6

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(dice.random() * 0.01)
        if dice.random() < 0.1:
            writer.close()
            return
        writer.write(chunked(STREAM))

    async def agent(port: int) -> None:
        for _ in range(rounds):
            async with client(port) as connection:
                connection.writer.write(post(chat_body(stream=True, nonce=dice.random())))
                await connection.writer.drain()
                if dice.random() < 0.5:
                    await asyncio.sleep(dice.random() * 0.01)
                    connection.leave()
                else:
                    await _receive(connection)

    async with (
        provider(talk) as upstream,
        opened(forward_to(upstream.url), tmp_path) as gateway,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(64):
            tasks.create_task(agent(gateway.port))

    bodies = {entry.request_body for entry in gateway.log() if entry.line["request"]["sha256_forwarded"]}
    assert {one.body for one in upstream.asked if one.body} <= bodies
    assert len(gateway.log()) == len(gateway.tap.exchanges)
    assert len(upstream.asked) == len([entry for entry in gateway.log() if entry.line["request"]["sha256_forwarded"]])
    ends = {exchange.end for exchange in gateway.tap.exchanges}
    assert ends == {"complete", "client_gone", "upstream_cut"}


async def _receive(connection: Client) -> None:
    try:
        await connection.receive()
    except (asyncio.IncompleteReadError, ConnectionError):
        return
