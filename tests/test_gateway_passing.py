"""What passes through the gateway passes unchanged, both ways, but for the listed changes."""

import asyncio
import gzip
import json
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire import (
    CHAT,
    MODEL,
    STREAM,
    USAGE,
    Asked,
    Provider,
    ask,
    chat_body,
    chunk,
    chunked,
    client,
    forward_to,
    opened,
    post,
    provider,
    sse,
    until,
    whole,
)

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.message import Change

JSON_ANSWER = json.dumps(
    {
        "id": "x",
        "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
        "usage": USAGE,
    },
    indent=1,
).encode()


async def test_request_reaches_the_provider_as_it_was_but_for_key_and_host(tmp_path: Path) -> None:
    said = b'{"role":"user","content":"Please repair the build. \\u00e9 \xc3\xa9"}'
    body = b'{ "model" :"gpt-4.1",\t"messages":[ %b ], "tools":[{"function":{"name":"x"}}], "zz":1.50 }' % said
    headers = [
        "Host: gateway:1234",
        "x-Stainless-Lang: js",
        "AUTHORIZATION: Bearer trial-key",
        "accept: application/json",
        "User-Agent: agent/1.0 (é)",
        "X-Twice: 1",
        "Connection: keep-alive",
        "x-twice: 2",
        "Accept-Encoding: gzip, deflate",
        "content-type: application/json",
    ]
    async with provider(whole(JSON_ANSWER)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        answer = await ask(gateway.port, post(body, path=f"{CHAT}?api-version=1&x=%20y", headers=headers))
        assert answer.status == 200

    (asked,) = upstream.asked
    assert asked.body == body
    assert asked.head.startswith(b"POST /api/v1/chat/completions?api-version=1&x=%20y HTTP/1.1\r\n")
    assert asked.headers == [
        f"Host: 127.0.0.1:{upstream.port}".encode(),
        b"x-Stainless-Lang: js",
        b"AUTHORIZATION: Bearer sk-real-key-0001",
        b"accept: application/json",
        "User-Agent: agent/1.0 (é)".encode(),
        b"X-Twice: 1",
        b"x-twice: 2",
        b"Accept-Encoding: gzip, deflate",
        b"content-type: application/json",
        f"Content-Length: {len(body)}".encode(),
    ]
    (entry,) = gateway.log()
    assert [change.path for change in entry.request.changes] == [
        "header.host",
        "header.connection",
        "header.content-length",
        "header.authorization",
    ]
    assert entry.request_body == body


async def test_headers_that_the_agent_did_not_send_are_not_added(tmp_path: Path) -> None:
    async with (
        provider(whole(JSON_ANSWER)) as upstream,
        opened(forward_to(upstream.url, key=None), tmp_path) as gateway,
    ):
        await ask(gateway.port, post(chat_body(), headers=["Host: x"]))

    assert [line.split(b":")[0] for line in upstream.asked[0].headers] == [b"Host", b"Content-Length"]


async def test_response_comes_back_as_the_provider_sent_it(tmp_path: Path) -> None:
    head = (
        "HTTP/1.1 200 Fine\r\ncontent-type: text/event-stream\r\nX-Request-Id: 7\r\nset-cookie: a=1\r\nSet-Cookie: b=2"
    )
    stream = b": keep-alive\r\n\r\n" + STREAM.replace(b"\n\n", b"\r\n\r\n") + b": bye"
    async with provider(chunked(stream, head=head)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        answer = await ask(gateway.port, post(chat_body(stream=True)))

    assert answer.head == (head + "\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
    assert answer.body == stream
    (entry,) = gateway.log()
    assert entry.response_body == stream
    (exchange,) = gateway.tap.exchanges
    assert exchange.answer.text == "Hello"
    assert exchange.tokens == TokenBreakdown.of(input=60, output=20, reasoning=5, cache_read=40)
    assert (exchange.end, exchange.turn, exchange.model_answered) == ("complete", 0, MODEL)


@pytest.mark.parametrize(
    ("coding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", lambda data: zlib.compress(data)[2:-4])],
    ids=["gzip", "deflate", "bare deflate"],
)
async def test_compressed_response_passes_compressed_and_is_read_all_the_same(coding, pack, tmp_path: Path) -> None:
    packed = pack(STREAM)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: {coding}"
    async with provider(chunked(packed, head=head)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        answer = await ask(gateway.port, post(chat_body(stream=True)))

    assert answer.body == packed
    assert gateway.tap.exchanges[0].answer.text == "Hello"
    assert gateway.log()[0].response_body == packed


async def test_coding_that_cannot_be_read_is_not_asked_for(tmp_path: Path) -> None:
    async with provider(whole(JSON_ANSWER)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        await ask(gateway.port, post(chat_body(), headers=["Host: x", "Accept-Encoding: br, gzip;q=0.5, x-new"]))

    assert upstream.asked[0].named(b"accept-encoding") == [b"Accept-Encoding: gzip;q=0.5"]
    changes = gateway.log()[0].request.changes
    expected = Change(
        kind="hop_headers", path="header.accept-encoding", before="br, gzip;q=0.5, x-new", after="gzip;q=0.5"
    )
    assert expected in changes


async def test_compressed_request_passes_compressed_and_is_read_all_the_same(tmp_path: Path) -> None:
    packed = gzip.compress(chat_body())
    headers = ["Host: x", "Content-Encoding: gzip"]
    async with provider(whole(JSON_ANSWER)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        await ask(gateway.port, post(packed, headers=headers))

    assert upstream.asked[0].body == packed
    assert upstream.asked[0].named(b"content-encoding") == [b"Content-Encoding: gzip"]
    assert gateway.tap.exchanges[0].role == "main"
    assert gateway.log()[0].request_body == packed


@pytest.mark.parametrize(
    "answer",
    [
        whole(b'{"error": {"message": "no", "code": 7}}', status="400 Bad Request"),
        whole(
            b"<html>busy</html>",
            status="503 Service Unavailable",
            headers=["Content-Type: text/html", "Retry-After: 9"],
        ),
        whole(b"\xff\xfe\x00", status="200 OK"),
        whole(b"", status="500 Internal Server Error"),
        whole(b"", status="302 Found", headers=["Location: http://elsewhere/"]),
    ],
)
async def test_errors_and_odd_bodies_come_back_as_they_are(answer: bytes, tmp_path: Path) -> None:
    async with provider(answer) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        got = await ask(gateway.port, post(chat_body()))

    assert got.head + got.body == answer
    assert gateway.log()[0].response_body == got.body


async def test_response_without_a_length_ends_with_its_connection(tmp_path: Path) -> None:
    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + STREAM)
        writer.close()

    async with provider(talk) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        answer = await ask(gateway.port, post(chat_body(stream=True)))

    assert answer.body == STREAM
    assert gateway.tap.exchanges[0].succeeded


async def test_chunks_are_passed_on_as_they_arrive(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n")
        await go_on.wait()
        writer.write(b"6\r\n [DONE\r\n2\r\n]\n\r\n0\r\n\r\n")

    async with (
        provider(talk) as upstream,
        opened(forward_to(upstream.url), tmp_path) as gateway,
        client(gateway.port) as agent,
    ):
        agent.writer.write(post(chat_body(stream=True)))
        await agent.reader.readuntil(b"\r\n\r\n")
        assert await agent.reader.readexactly(10) == b"5\r\ndata:\r\n"
        go_on.set()
        rest = await agent.reader.readuntil(b"0\r\n\r\n")

    assert b"".join(rest.split(b"\r\n")[1::2]) == b" [DONE]\n"


texts = st.text(st.characters(codec="utf-8"), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    requests=st.lists(
        st.binary(max_size=300) | st.dictionaries(texts, values, max_size=5).map(lambda v: json.dumps(v).encode()),
        min_size=1,
        max_size=4,
    ),
    response=st.binary(max_size=400),
    cuts=st.lists(st.integers(1, 60), max_size=8),
)
def test_any_bodies_pass_unchanged_both_ways(
    requests: list[bytes], response: bytes, cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        rest = response
        for size in cuts:
            if rest:
                writer.write(f"{len(rest[:size]):X}\r\n".encode() + rest[:size] + b"\r\n")
                rest = rest[size:]
        writer.write((f"{len(rest):x};ext=1\r\n".encode() + rest + b"\r\n" if rest else b"") + b"0\r\n\r\n")

    async def go() -> tuple[list[bytes], list[Asked], list[tuple[bytes | None, bytes | None]]]:
        async with (
            provider(talk) as upstream,
            opened(forward_to(upstream.url), folder) as gateway,
            client(gateway.port) as agent,
        ):
            got = [(await agent.ask(post(body))).body for body in requests]
        return got, upstream.asked, [(entry.request_body, entry.response_body) for entry in gateway.log()]

    got, asked, logged = asyncio.run(go())

    assert got == [response] * len(requests)
    assert [one.body for one in asked] == requests
    assert logged == [(body, response) for body in requests]


async def test_other_model_is_replaced_in_main_requests_alone_and_every_other_byte_stays(tmp_path: Path) -> None:
    body = chat_body(model="small").replace(b'"model": "small"', b'"model" : "small" ')
    aside = b'{"model":"tiny","messages":[{"role":"user","content":"Name this."}]}'
    async with provider(whole(JSON_ANSWER)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        await ask(gateway.port, post(body))
        await ask(gateway.port, post(aside))

    assert [one.body for one in upstream.asked] == [body.replace(b'"small"', b'"gpt-4.1"'), aside]
    main, other = gateway.tap.exchanges
    assert (main.model_asked, main.model_sent, main.model_answered) == ("small", MODEL, MODEL)
    assert Change(kind="model", path="body.model", before="small", after=MODEL) in main.changes
    assert (other.role, other.model_sent) == ("auxiliary", "tiny")


async def test_other_model_in_a_compressed_request_is_replaced(tmp_path: Path) -> None:
    headers = ["Host: x", "Content-Encoding: gzip"]
    async with provider(whole(JSON_ANSWER)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        await ask(gateway.port, post(gzip.compress(chat_body(model="small")), headers=headers))

    assert upstream.asked[0].body == chat_body(model=MODEL)
    assert upstream.asked[0].named(b"content-encoding") == []
    assert "header.content-encoding" in [change.path for change in gateway.tap.exchanges[0].changes]


async def test_other_model_is_refused_where_the_model_is_strict(tmp_path: Path) -> None:
    async with (
        provider(whole(JSON_ANSWER)) as upstream,
        opened(forward_to(upstream.url), tmp_path, strict_model=True) as gateway,
    ):
        refused = await ask(gateway.port, post(chat_body(model="small")))
        passed = await ask(gateway.port, post(chat_body()))

    assert (refused.status, passed.status, len(upstream.asked)) == (400, 200, 1)
    assert json.loads(refused.body)["error"]["message"] == "the model of this trial is 'gpt-4.1', not 'small'"
    first, second = gateway.tap.exchanges
    assert (first.end, first.origin, first.turn, first.failed_upstream) == ("refused", "gateway", None, False)
    assert second.turn == 0


async def test_models_probes_and_unknown_paths(tmp_path: Path) -> None:
    upgrade = ["Host: x", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"]
    async with provider(whole(b'{"data": []}')) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        models = await ask(gateway.port, b"GET /v1/models?limit=3 HTTP/1.1\r\nHost: x\r\n\r\n")
        probe = await ask(gateway.port, b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", head=True)
        unknown = await ask(gateway.port, post(b"{}", path="/v1/embeddings"))
        socket = await ask(gateway.port, "\r\n".join([f"GET {CHAT} HTTP/1.1", *upgrade, "\r\n"]).encode())

    assert [answer.status for answer in (models, probe, unknown, socket)] == [200, 200, 404, 426]
    assert json.loads(unknown.body)["error"]["message"] == "no model API at POST /v1/embeddings"
    assert [one.head.split(b"\r\n")[0] for one in upstream.asked] == [b"GET /api/v1/models?limit=3 HTTP/1.1"]
    kinds = [(exchange.kind, exchange.role, exchange.end) for exchange in gateway.tap.exchanges]
    assert kinds == [
        ("models", "auxiliary", "complete"),
        ("probe", "auxiliary", "complete"),
        ("other", "auxiliary", "refused"),
        ("other", "auxiliary", "refused"),
    ]
    assert len(gateway.log()) == 4


async def test_slow_reader_slows_the_provider(tmp_path: Path) -> None:
    sent = 0
    block = b"x" * 65536
    total = 1024

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(total):
            writer.write(b"%x\r\n%b\r\n" % (len(block), block))
            await writer.drain()
            sent += 1
        writer.write(b"0\r\n\r\n")

    async with (
        provider(talk) as upstream,
        opened(forward_to(upstream.url), tmp_path) as gateway,
        client(gateway.port) as agent,
    ):
        agent.writer.write(post(chat_body(stream=True)))
        await agent.reader.readuntil(b"\r\n\r\n")
        agent.transport.pause_reading()
        before = -1
        while before != sent:  # until nothing moves any more
            before = sent
            await asyncio.sleep(0.05)
        assert 0 < sent < total
        agent.transport.resume_reading()
        await _drain(agent.reader)

    assert sent == total


async def _drain(reader: asyncio.StreamReader) -> None:
    tail = b""
    while not tail.endswith(b"0\r\n\r\n"):
        tail = (tail + await reader.read(1 << 20))[-16:]


async def test_client_that_leaves_cancels_the_provider_and_is_on_record(tmp_path: Path) -> None:
    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        part = sse(chunk({"content": "Hel"}))
        writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        await reader.readexactly(1)  # ends when the gateway leaves

    async with provider(talk) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        async with client(gateway.port) as agent:
            agent.writer.write(post(chat_body(stream=True)))
            await agent.reader.readuntil(b"Hel")
            agent.leave()
        async with asyncio.timeout(10):
            await upstream.left.wait()
        await until(lambda: bool(gateway.tap.exchanges))

    (exchange,) = gateway.tap.exchanges
    assert (exchange.end, exchange.status, exchange.answer.text, exchange.turn) == ("client_gone", 200, "Hel", None)
    assert not exchange.failed_upstream


async def test_client_that_leaves_before_any_answer_is_on_record(tmp_path: Path) -> None:
    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)

    async with provider(talk) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        async with client(gateway.port) as agent:
            agent.writer.write(post(chat_body()))
            await until(lambda: bool(upstream.asked))
            agent.leave()
        async with asyncio.timeout(10):
            await upstream.left.wait()
        await until(lambda: bool(gateway.tap.exchanges))

    (entry,) = gateway.log()
    assert (entry.line["end"], entry.line["status"], entry.line["response"]) == ("client_gone", None, None)
    assert entry.line["request"]["sha256_forwarded"] == entry.line["request"]["sha256_received"]


async def test_client_that_leaves_after_the_last_event_has_had_a_whole_answer(tmp_path: Path) -> None:
    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"%x\r\n%b\r\n" % (len(STREAM), STREAM))
        await reader.readexactly(1)

    async with provider(talk) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        async with client(gateway.port) as agent:
            agent.writer.write(post(chat_body(stream=True)))
            await agent.reader.readuntil(b"[DONE]")
            agent.leave()
        await until(lambda: bool(gateway.tap.exchanges))

    assert (gateway.tap.exchanges[0].end, gateway.tap.exchanges[0].turn) == ("complete", 0)
