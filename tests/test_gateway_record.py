"""The log of a trial's exchanges: complete, small, readable at any moment, and everything is got back from it."""

import asyncio
import gzip
import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import (
    BASH,
    MODEL,
    PROMPT,
    STREAM,
    USAGE,
    Provider,
    ask,
    chat_body,
    chunk,
    chunked,
    forward_to,
    opened,
    post,
    provider,
    sse,
    whole,
)

from benchflow.errors import InputError
from benchflow.gateway.message import Exchange, ExchangeBegun
from benchflow.gateway.records.bodies import KEPT, BodyReader, BodyStore
from benchflow.gateway.records.exchanges import read_exchanges
from benchflow.gateway.upstreams.null import Null
from benchflow.gateway.upstreams.oracle import Oracle
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer
from benchflow.redact import Redactor

SECRET = "sk-real-key-0001"


async def test_line_has_every_field(tmp_path: Path) -> None:
    request = chat_body(stream=True, model="small")
    sent = request.replace(b'"small"', b'"gpt-4.1"')
    async with provider(chunked(STREAM)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        await ask(gateway.port, post(request, path="/v1/chat/completions?x=1"))

    line = json.loads((tmp_path / "llm.jsonl").read_text())
    for measured in ("ts", "mono_ms", "ttft_ms", "duration_ms"):
        assert line.pop(measured)
    headers = line["request"].pop("headers")
    assert headers[:2] == [["Host", "gateway"], ["Authorization", "Bearer trial"]]
    assert line == {
        "schema": 1,
        "id": "ial-0001-1-0",
        "seq": 0,
        "trial": "trial-0001",
        "try": 1,
        "dialect": "openai-completions",
        "kind": "generate",
        "method": "POST",
        "path": "/v1/chat/completions",
        "query": "x=1",
        "role": "main",
        "role_reason": "ends with a prompt that was sent",
        "turn": 0,
        "after_prompt": False,
        "held_ms": 0.0,
        "attempts": [],
        "fault": None,
        "limit": None,
        "stopped": False,
        "origin": "upstream",
        "status": 200,
        "end": "complete",
        "error": None,
        "model": {"asked": "small", "sent": MODEL, "answered": MODEL},
        "request": {
            "body": {"text": request.decode()},
            "bytes": len(request),
            "sha256_received": hashlib.sha256(request).hexdigest(),
            "sha256_forwarded": hashlib.sha256(sent).hexdigest(),
        },
        "changes": [
            {"kind": "model", "path": "body.model", "before": "small", "after": MODEL},
            {"kind": "hop_headers", "path": "header.host", "before": "gateway", "after": None},
            {"kind": "hop_headers", "path": "header.content-length", "before": str(len(request)), "after": None},
            {
                "kind": "credentials",
                "path": "header.authorization",
                "before": "the trial's key",
                "after": "the provider's key",
            },
        ],
        "response": {
            "headers": [["Content-Type", "text/event-stream"], ["Transfer-Encoding", "chunked"]],
            "body": {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": MODEL,
                "usage": USAGE,
                "choices": [
                    {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
                ],
            },
            "raw": line["response"]["raw"],
            "bytes": len(STREAM),
            "sha256": hashlib.sha256(STREAM).hexdigest(),
        },
        "usage": {
            "input": 60,
            "output": 20,
            "reasoning": 5,
            "cache_read": 40,
            "cache_write": 0,
            "total": 120,
            "active": 80,
        },
        "usage_source": "response",
        "cost": dict.fromkeys(("total_usd", "main_usd", "auxiliary_usd", "input_usd", "output_usd", "source")),
        "upstream": "local",
    }


async def test_exchange_is_told_when_it_begins_and_ends_and_read_back_the_same(tmp_path: Path) -> None:
    begun: list[ExchangeBegun] = []
    ended: list[Exchange] = []
    async with opened(Null(), tmp_path, on_begin=begun.append, on_exchange=ended.append) as gateway:
        await ask(gateway.port, post(chat_body(stream=True)))
        await ask(gateway.port, post(chat_body(tools=[])))
        await ask(gateway.port, post(chat_body()))

    assert [(one.id, one.role, one.turn) for one in begun] == [
        ("ial-0001-1-0", "main", 0),
        ("ial-0001-1-1", "auxiliary", None),
        ("ial-0001-1-2", "main", 1),
    ]
    assert [one.turn for one in ended] == [0, None, 1]
    assert ended == gateway.tap.exchanges
    assert [_without_body(entry.exchange) for entry in gateway.log()] == ended
    parsed = gateway.log()[0].parsed
    assert parsed
    assert parsed.messages[0].texts == (PROMPT,)


def _without_body(exchange: Exchange) -> Exchange:
    return replace(exchange, answer=replace(exchange.answer, body=None))


class Conversation:
    """Grows as an agent's does: its system prompt may have the time in it, its last message a moving mark."""

    def __init__(self, dice: random.Random, *, moving: bool) -> None:
        self._dice = dice
        self._moving = moving
        self._rules = "".join(f"Rule {number}: {dice.random()}\n" for number in range(400))
        self._messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]

    def next(self) -> bytes:
        self._messages += [
            {"role": "assistant", "content": f"I look at {self._dice.random()} é", "tool_calls": []},
            {"role": "tool", "tool_call_id": "x", "content": self._dice.randbytes(300).hex()},
        ]
        messages = [dict(message) for message in self._messages]
        if self._moving:
            messages[-1]["cache_control"] = {"type": "ephemeral"}
        now = f"Now: {self._dice.random()}\n" if self._moving else ""
        system = {"role": "system", "content": f"You are an agent.\n{now}{self._rules}"}
        body = {"model": MODEL, "messages": [system, *messages], "tools": [BASH], "stream": True}
        return json.dumps(body, ensure_ascii=False).encode()


@pytest.mark.parametrize("moving", [False, True], ids=["appending", "with moving parts"])
async def test_log_of_200_turns_grows_with_what_is_new(moving: bool, tmp_path: Path) -> None:
    conversation = Conversation(random.Random(3), moving=moving)
    stream = sse(*(chunk({"content": f"word {number} "}) for number in range(60)), chunk(finish="stop"), "[DONE]")
    requests = []
    async with provider(chunked(stream)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        for turn in range(200):
            requests.append(conversation.next())
            await ask(gateway.port, post(requests[-1]))
            if turn % 5 == 0:  # another conversation between
                requests.append(chat_body(messages=[{"role": "user", "content": f"Name {turn}"}], tools=[]))
                await ask(gateway.port, post(requests[-1]))
    entries = gateway.log()

    assert [entry.request_body for entry in entries] == requests
    assert all(entry.response_body == stream for entry in entries)
    allowed = 3 * len(requests[-1 if len(requests[-1]) > 2_000 else -2]) + len(entries) * len(stream)
    assert (tmp_path / "llm.jsonl").stat().st_size <= allowed


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=80),
            st.lists(st.sampled_from(["é\n", "x" * 40 + "\\n", "},{", "a longer line of text\\n", "0"])).map(
                lambda parts: "".join(parts).encode()
            ),
        ),
        max_size=3 * KEPT,
    )
)
def test_any_bodies_are_restored_byte_for_byte_in_any_order(bodies: list[bytes]) -> None:
    store, reader = BodyStore(Redactor([])), BodyReader(Path())
    for seq, body in enumerate(bodies):
        reader.add(seq, orjson.loads(orjson.dumps(store.store(seq, body))))

    assert [reader.body(seq) for seq in reversed(range(len(bodies)))] == bodies[::-1]
    assert [reader.body(seq) for seq in range(len(bodies))] == bodies


def test_difference_is_told_in_whole_characters() -> None:
    store = BodyStore(Redactor([]))
    store.store(0, "one line of text: é and more of it".encode())

    stored = store.store(1, "one line of text: © and more of it".encode())

    assert stored == {"base": 0, "parts": [[0, 18], "©", [20, 15]]}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(
            st.sampled_from([SECRET, SECRET[:7], SECRET[7:], "x" * 50, "a line\n", "another line\n", "é"]), max_size=12
        ),
        max_size=8,
    )
)
def test_no_stored_body_gives_a_secret_back_however_it_came_about(bodies: list[list[str]]) -> None:
    redactor = Redactor([SECRET])
    store, reader = BodyStore(redactor), BodyReader(Path())
    for seq, parts in enumerate(bodies):
        reader.add(seq, store.store(seq, "".join(parts).encode()))

    restored = [reader.body(seq) for seq in range(len(bodies))]

    assert restored == [redactor.redact("".join(parts).encode()) for parts in bodies]


async def _three(folder: Path) -> bytes:
    async with opened(Null(), folder) as gateway:
        for number in range(3):
            await ask(gateway.port, post(chat_body(n=number)))
    return (folder / "llm.jsonl").read_bytes()


async def test_log_is_readable_wherever_its_writer_was_killed(tmp_path: Path) -> None:
    content = await _three(tmp_path)
    path = tmp_path / "cut.jsonl"
    ends = [position + 1 for position, byte in enumerate(content) if byte == 10]
    for cut in range(0, len(content), 7):
        path.write_bytes(content[:cut])
        whole_lines = sum(end - 1 <= cut for end in ends)

        found = list(read_exchanges(path))

        assert len(found) == whole_lines
        assert [entry.request_body for entry in found] == [chat_body(n=number) for number in range(whole_lines)]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace(b'{"schema":1', b"oops", 1), "line 1 is no exchange"),
        (
            lambda text: text.replace(b'"schema":1', b'"schema":99', 1),
            "line 1 has schema 99; this BenchFlow reads up to 1",
        ),
    ],
)
async def test_damaged_line_is_an_input_error(damage, message: str, tmp_path: Path) -> None:
    (tmp_path / "llm.jsonl").write_bytes(damage(await _three(tmp_path)))

    with pytest.raises(InputError, match=message):
        list(read_exchanges(tmp_path / "llm.jsonl"))


def test_missing_log_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(read_exchanges(tmp_path / "llm.jsonl"))


async def test_secrets_are_nowhere_in_the_log_and_the_digests_are_of_the_real_bytes(tmp_path: Path) -> None:
    body = chat_body(leak=SECRET, nested=json.dumps({"again": SECRET}))
    answer = json.dumps(
        {"model": MODEL, "choices": [{"message": {"content": f"it is {SECRET}"}, "finish_reason": "stop"}]}
    ).encode()
    leaking = whole(answer, headers=["Content-Type: application/json", f"X-Echo: {SECRET}"])
    async with (
        provider(leaking) as upstream,
        opened(forward_to(upstream.url, key=SECRET), tmp_path, secrets=[SECRET]) as gateway,
    ):
        got = await ask(gateway.port, post(body, headers=["Host: x", f"X-Leak: {SECRET}"]))
        again = await ask(gateway.port, post(body))

    assert (got.body, again.body, upstream.asked[0].body) == (answer, answer, body)
    content = (tmp_path / "llm.jsonl").read_bytes()
    assert SECRET.encode() not in content
    first, second = gateway.log()
    assert first.request_body == second.request_body == body.replace(SECRET.encode(), b"[redacted:known]")
    assert first.response_body == answer.replace(SECRET.encode(), b"[redacted:known]")
    assert first.line["request"]["sha256_received"] == hashlib.sha256(body).hexdigest()
    assert first.line["response"]["sha256"] == hashlib.sha256(answer).hexdigest()


async def test_secret_that_is_streamed_in_pieces_is_withheld(tmp_path: Path) -> None:
    stream = sse(
        *(chunk({"content": piece}) for piece in ("it is sk-real", "-key-", "0001.")), chunk(finish="stop"), "[DONE]"
    )
    async with (
        provider(chunked(stream)) as upstream,
        opened(forward_to(upstream.url), tmp_path, secrets=[SECRET]) as gateway,
    ):
        assert (await ask(gateway.port, post(chat_body(stream=True)))).body == stream

    (entry,) = gateway.log()
    assert SECRET.encode() not in (tmp_path / "llm.jsonl").read_bytes()
    assert "sk-real" not in (tmp_path / "llm.jsonl").read_text()
    assert entry.response_body is None
    assert entry.answer.text == "it is [redacted:known]."
    assert entry.line["response"]["raw"] == {"withheld": "a secret is spread over several pieces of the stream"}


async def test_compressed_secret_is_withheld(tmp_path: Path) -> None:
    body = gzip.compress(chat_body(leak=SECRET))
    answer = gzip.compress(json.dumps({"choices": [{"message": {"content": SECRET}, "finish_reason": "x"}]}).encode())
    reply = whole(answer, headers=["Content-Encoding: gzip"])
    async with provider(reply) as upstream, opened(forward_to(upstream.url), tmp_path, secrets=[SECRET]) as gateway:
        got = await ask(gateway.port, post(body, headers=["Host: x", "Content-Encoding: gzip"]))

    assert got.body == answer
    (entry,) = gateway.log()
    assert (entry.request_body, entry.response_body) == (None, None)
    assert SECRET.encode() not in (tmp_path / "llm.jsonl").read_bytes()


async def test_large_bodies_pass_and_are_kept(tmp_path: Path) -> None:
    body = chat_body(padding="x" * 5_000_000)
    answer = chunked(b"y" * 5_000_000)
    async with provider(answer) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        got = await ask(gateway.port, post(body))

    assert (len(got.body), upstream.asked[0].body) == (5_000_000, body)
    (entry,) = gateway.log()
    assert (entry.request_body, entry.response_body) == (body, got.body)


async def test_64_at_once_are_all_on_record_in_whole_lines(tmp_path: Path) -> None:
    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in (STREAM[:50], STREAM[50:]):
            await asyncio.sleep(0)
            head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" if piece is STREAM[:50] else b""
            writer.write(head + b"%x\r\n%b\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")

    async with provider(chunked(STREAM)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        asking = [ask(gateway.port, post(chat_body(stream=True, n=number))) for number in range(192)]
        for start in range(0, 192, 64):
            answers = await asyncio.gather(*asking[start : start + 64])
            assert {answer.body for answer in answers} == {STREAM}

    assert len(upstream.asked) == len(gateway.log()) == 192
    assert sorted(entry.seq for entry in gateway.log()) == list(range(192))
    assert {entry.request_body for entry in gateway.log()} == {
        chat_body(stream=True, n=number) for number in range(192)
    }
    assert sorted(exchange.turn or 0 for exchange in gateway.tap.exchanges) == list(range(192))


async def test_upstream_that_cannot_play_makes_the_trial_unscored(tmp_path: Path) -> None:
    async with opened(Oracle(), tmp_path) as gateway:
        await ask(gateway.port, post(chat_body()))
        await ask(gateway.port, post(chat_body()))

    assert len(gateway.log()) == 2
    assert gateway.tap.failure
    assert (gateway.tap.failure.code, str(gateway.tap.failure)) == (
        "setup",
        "the scenario has no solution for the oracle to play; use another upstream",
    )


async def test_cost_is_known_for_a_known_model_and_else_unknown(tmp_path: Path) -> None:
    def answer(model: str) -> bytes:
        choice = {"message": {"content": "x"}, "finish_reason": "stop"}
        return whole(json.dumps({"model": model, "choices": [choice], "usage": USAGE}).encode())

    costs = []
    for number, model in enumerate(["gpt-4.1-2025-04-14", "nobody-knows-me"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with (
            provider(answer(model)) as upstream,
            opened(forward_to(upstream.url, priced_as="openai"), folder) as gateway,
        ):
            await ask(gateway.port, post(chat_body(model=MODEL)))
        costs.append(gateway.tap.exchanges[0].cost)

    known, by_sent_name = costs
    assert known.total_usd == pytest.approx(60 * 2e-6 + 40 * 0.5e-6 + 20 * 8e-6)
    assert (known.source or "").startswith("genai-prices ")
    assert by_sent_name.total_usd == known.total_usd


async def test_cost_of_an_unknown_model_is_none(tmp_path: Path) -> None:
    script = Script([ScriptedAnswer(text="x")])
    async with opened(script, tmp_path) as gateway:
        await ask(gateway.port, post(chat_body()))

    (exchange,) = gateway.tap.exchanges
    assert exchange.tokens
    assert exchange.cost.total_usd is None
