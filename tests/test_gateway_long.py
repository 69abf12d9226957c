"""Bodies of any length pass unchanged, in bounded memory, and are on record whole."""

import asyncio
import base64
import gzip
import hashlib
import json
import random
import resource
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import (
    CHAT,
    MODEL,
    PROMPT,
    USAGE,
    Provider,
    Talk,
    ask,
    chat_body,
    chunk,
    client,
    forward_to,
    opened,
    post,
    provider,
    sse,
    talking,
    until,
    whole,
)

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.http.spool import LongBody, Spool, TooLongToChange
from benchflow.gateway.records import tape
from benchflow.gateway.records.bodyfiles import FOLDER, BodyFile, read_body
from benchflow.gateway.records.eliding import BLOCK, SHOWN, Eliding, place
from benchflow.gateway.records.scrubbing import Scrubber
from benchflow.redact import Redactor

SECRET = "sk-real-key-0001"
JSON_ANSWER = whole(
    orjson.dumps({"model": MODEL, "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})
)
DICE = random.Random(5)


def picture(size: int) -> str:
    """So many bytes of a picture, as requests carry one."""
    block = base64.b64encode(DICE.randbytes(9_000)).decode()
    return block * (size // len(block))


def request_with(pictures: int, *, model: str = MODEL, size: int = 9 << 20, **more: Any) -> bytes:
    """A request with the model behind the pictures, where a reader in a hurry would not find it."""
    parts = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture(size)}"}} for _ in range(pictures)
    ]
    body = json.loads(chat_body())
    del body["model"]
    body["messages"].insert(0, {"role": "user", "content": parts})
    return orjson.dumps({**body, "model": model, **more})


async def test_long_request_passes_unchanged_is_read_and_is_on_record(tmp_path: Path) -> None:
    body = request_with(2)
    async with provider(JSON_ANSWER) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        for _ in range(2):
            assert (await ask(gateway.port, post(body))).status == 200

    assert [one.body == body for one in upstream.asked] == [True, True]
    assert [(one.role, one.model_asked, one.turn) for one in gateway.tap.exchanges] == [
        ("main", MODEL, 0),
        ("main", MODEL, 1),
    ]
    digest = hashlib.sha256(body).hexdigest()
    for entry in gateway.log():
        assert entry.line["request"]["body"] == {"file": f"bodies/{digest}.gz"}
        assert entry.line["request"]["sha256_received"] == entry.line["request"]["sha256_forwarded"] == digest
        assert entry.line["request"]["bytes"] == len(body)
        assert entry.request_body == body
        assert entry.parsed
        assert entry.parsed.messages[-1].texts == (PROMPT,)
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [f"{digest}.gz"]


@pytest.mark.parametrize("coding", [None, "gzip"])
async def test_model_of_a_long_request_is_replaced_and_every_other_byte_stays(
    coding: str | None, tmp_path: Path
) -> None:
    body = request_with(2, model="small", zz=1.50)
    wanted = body.replace(b'"model":"small"', b'"model":"gpt-4.1"')
    headers = ["Host: x", *([f"Content-Encoding: {coding}"] if coding else [])]
    sent = gzip.compress(body, 1) if coding else body
    async with provider(JSON_ANSWER) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        assert (await ask(gateway.port, post(sent, headers=headers))).status == 200

    assert upstream.asked[0].body == wanted
    assert upstream.asked[0].named(b"content-encoding") == []
    (entry,) = gateway.log()
    assert entry.request_body == sent
    assert entry.line["model"] == {"asked": "small", "sent": MODEL, "answered": MODEL}
    assert entry.line["request"]["sha256_received"] == hashlib.sha256(sent).hexdigest()
    assert entry.line["request"]["sha256_forwarded"] == hashlib.sha256(wanted).hexdigest()
    assert entry.parsed
    assert entry.parsed.model == "small"


async def test_long_request_that_is_no_json_passes_unchanged(tmp_path: Path) -> None:
    body = DICE.randbytes(1 << 20) * 17
    async with (
        provider(JSON_ANSWER) as upstream,
        opened(forward_to(upstream.url), tmp_path) as gateway,
        client(gateway.port) as agent,
    ):
        agent.writer.write(f"POST {CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for start in range(0, len(body), 300_000):
            part = body[start : start + 300_000]
            agent.writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await agent.writer.drain()
        assert (await agent.ask(b"0\r\n\r\n")).status == 200

    assert upstream.asked[0].body == body
    (entry,) = gateway.log()
    assert (entry.request_body == body, entry.parsed, entry.line["role_reason"]) == (True, None, "cannot be read")


EVENT = "word " * 100
TAIL = sse(chunk(finish="stop", usage=USAGE), "[DONE]")


def streaming(*, megabytes: int, part: bytes, tail: bytes = TAIL, head: str = "") -> Talk:
    """A stream of so many megabytes, as fast as it is taken."""
    block = part * max(1, 65_536 // len(part))

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{head}\r\n".encode())
        for _ in range((megabytes << 20) // len(block)):
            writer.write(b"%x\r\n%b\r\n" % (len(block), block))
            await writer.drain()
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(tail), tail))

    return talk


async def digest_of(port: int, request: bytes) -> tuple[str, int]:
    """Ask, and read the answer as it comes: its digest and its size."""
    digest, size = hashlib.sha256(), 0
    async with client(port) as agent:
        agent.writer.write(request)
        await agent.reader.readuntil(b"\r\n\r\n")
        while left := int(await agent.reader.readuntil(b"\r\n"), 16):
            data = (await agent.reader.readexactly(left + 2))[:-2]
            digest.update(data)
            size += len(data)
    return digest.hexdigest(), size


async def test_long_stream_is_on_record_whole_with_its_usage(tmp_path: Path) -> None:
    part = sse(chunk({"content": EVENT}))
    talk = streaming(megabytes=20, part=part)
    async with provider(talk) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        digest, size = await digest_of(gateway.port, post(chat_body(stream=True)))
        await until(lambda: bool(gateway.tap.exchanges))

    (exchange,) = gateway.tap.exchanges
    assert (exchange.end, exchange.turn, exchange.model_answered) == ("complete", 0, MODEL)
    assert exchange.tokens == TokenBreakdown.of(input=60, output=20, reasoning=5, cache_read=40)
    assert exchange.answer.text.startswith(EVENT)
    (entry,) = gateway.log()
    response = entry.line["response"]
    assert (response["bytes"], response["sha256"], response["raw"]) == (size, digest, {"file": f"bodies/{digest}.gz"})
    assert (response["body"], response["note"]) == (None, "too long to be shown as one value")
    assert hashlib.sha256(entry.response_body or b"").hexdigest() == digest
    assert (entry.answer.tokens, entry.answer.model) == (exchange.tokens, MODEL)


async def test_long_answer_in_many_small_events_is_shown_as_one_value(tmp_path: Path) -> None:
    talk = streaming(megabytes=3, part=sse(chunk({"content": "x"})))
    async with provider(talk) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        digest, _ = await digest_of(gateway.port, post(chat_body(stream=True)))
        await until(lambda: bool(gateway.tap.exchanges))

    (entry,) = gateway.log()
    assert entry.line["response"]["raw"] == {"file": f"bodies/{digest}.gz"}
    text = entry.line["response"]["body"]["choices"][0]["message"]["content"]
    assert text == entry.answer.text == gateway.tap.exchanges[0].answer.text == "x" * len(text)


@pytest.mark.parametrize("coding", ["", "Content-Encoding: gzip\r\n"])
async def test_long_answer_with_a_picture_keeps_model_and_usage(coding: str, tmp_path: Path) -> None:
    message = {"content": "Hello", "images": [picture(17 << 20)]}
    body = orjson.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "model": MODEL, "usage": USAGE})
    sent = gzip.compress(body, 1) if coding else body
    talk = streaming(megabytes=0, part=b"x", tail=sent, head=coding)
    async with provider(talk) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        assert await digest_of(gateway.port, post(chat_body())) == (hashlib.sha256(sent).hexdigest(), len(sent))
        await until(lambda: bool(gateway.tap.exchanges))

    (exchange,) = gateway.tap.exchanges
    assert (exchange.end, exchange.model_answered, exchange.answer.text) == ("complete", MODEL, "Hello")
    assert exchange.tokens == TokenBreakdown.of(input=60, output=20, reasoning=5, cache_read=40)
    assert gateway.log()[0].response_body == sent


async def test_secret_in_a_long_answer_is_replaced_in_its_file(tmp_path: Path) -> None:
    part = sse(chunk({"content": f"{SECRET} {EVENT}"}))
    talk = streaming(megabytes=3, part=part)
    async with (
        provider(talk) as upstream,
        opened(forward_to(upstream.url), tmp_path, secrets=[SECRET]) as gateway,
    ):
        digest, size = await digest_of(gateway.port, post(chat_body(stream=True)))
        await until(lambda: bool(gateway.tap.exchanges))

    kept = b"".join(read_body(tmp_path / FOLDER / f"{digest}.gz"))
    assert SECRET.encode() not in kept
    assert kept.replace(b"[redacted:known]", SECRET.encode()).count(SECRET.encode()) == (size - len(TAIL)) // len(part)
    assert SECRET.encode() not in (tmp_path / "llm.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("part", "head", "why"),
    [
        (sse(chunk({"content": SECRET[:9]}), chunk({"content": SECRET[9:]})), "", tape.SPREAD),
        (b"", "Content-Encoding: gzip\r\n", tape.CODED),
    ],
    ids=["spread over pieces", "compressed"],
)
async def test_secret_that_cannot_be_replaced_in_a_long_answer_keeps_it_out(
    part: bytes, head: str, why: str, tmp_path: Path
) -> None:
    noise = DICE.randbytes(2 << 20) + SECRET.encode()
    talk = streaming(
        megabytes=2 if part else 0, part=part or b"x", tail=TAIL if part else gzip.compress(noise), head=head
    )
    async with (
        provider(talk) as upstream,
        opened(forward_to(upstream.url), tmp_path, secrets=[SECRET]) as gateway,
    ):
        await digest_of(gateway.port, post(chat_body(stream=True)))
        await until(lambda: bool(gateway.tap.exchanges))

    assert gateway.log()[0].line["response"]["raw"] == {"withheld": why}
    assert list((tmp_path / FOLDER).iterdir()) == []


async def test_secret_in_a_long_request_is_replaced_in_its_file_and_forwarded(tmp_path: Path) -> None:
    body = request_with(2, leak=SECRET)
    async with (
        provider(JSON_ANSWER) as upstream,
        opened(forward_to(upstream.url), tmp_path, secrets=[SECRET]) as gateway,
    ):
        await ask(gateway.port, post(body))
        await ask(gateway.port, post(gzip.compress(body, 1), headers=["Host: x", "Content-Encoding: gzip"]))

    assert upstream.asked[0].body == body
    plain, coded = gateway.log()
    assert plain.request_body == body.replace(SECRET.encode(), b"[redacted:known]")
    assert coded.line["request"]["body"] == {"withheld": tape.CODED}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("side", ["request", "response"])
async def test_disk_that_is_full_in_the_middle_of_a_body_stops_the_trials_model_calls(
    side: str, tmp_path: Path
) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / f"0-{side}.gz").symlink_to("/dev/full")
    talk = streaming(megabytes=4, part=DICE.randbytes(1000))
    body = request_with(2) if side == "request" else chat_body()
    async with provider(talk) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        if side == "request":
            assert (await ask(gateway.port, post(body))).status == 503
        else:
            assert (await digest_of(gateway.port, post(body)))[1] > 4_000_000  # what is under way goes on
        await until(lambda: bool(gateway.tap.exchanges))
        assert (await ask(gateway.port, post(chat_body()))).status == 503

    assert len(upstream.asked) == (0 if side == "request" else 1)
    assert gateway.tap.failure
    assert (gateway.tap.failure.code, "No space left on device" in str(gateway.tap.failure)) == ("capture", True)
    assert "No space left" in gateway.log()[0].line[side]["raw" if side == "response" else "body"]["withheld"]


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file can grow beyond a few megabytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_long_request_that_cannot_be_kept_reaches_nobody(small_files: None, tmp_path: Path) -> None:
    async with provider(JSON_ANSWER) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        assert (await ask(gateway.port, post(request_with(2)))).status == 503
        assert (await ask(gateway.port, post(chat_body()))).status == 503

    assert upstream.asked == []
    assert gateway.tap.failure
    assert gateway.tap.failure.code == "capture"
    assert "File too large" in gateway.log()[0].line["request"]["body"]["withheld"]


async def test_agent_that_leaves_in_a_long_answer_leaves_what_came_on_record(tmp_path: Path) -> None:
    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        block = DICE.randbytes(1 << 20)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(3):
            writer.write(b"%x\r\n%b\r\n" % (len(block), block))
        await reader.readexactly(1)

    async with provider(talk) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        async with client(gateway.port) as agent:
            agent.writer.write(post(chat_body(stream=True)))
            await agent.reader.readexactly(3_000_000)
            agent.leave()
        async with asyncio.timeout(10):
            await upstream.left.wait()
        await until(lambda: bool(gateway.tap.exchanges))

    (entry,) = gateway.log()
    assert entry.line["end"] == "client_gone"
    assert hashlib.sha256(entry.response_body or b"").hexdigest() == entry.line["response"]["sha256"]


async def test_server_that_refuses_a_long_request_early_is_heard(tmp_path: Path) -> None:
    refusal = whole(b'{"error": {"message": "too large"}}', status="413 Too Large")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(refusal)
        await writer.drain()
        while await reader.read(1 << 20):
            pass

    async with talking(serve) as port, opened(forward_to(f"http://127.0.0.1:{port}/v1"), tmp_path) as gateway:
        assert (await ask(gateway.port, post(request_with(2)))).status == 413

    assert (gateway.tap.exchanges[0].status, gateway.tap.exchanges[0].failed_upstream) == (413, False)


def test_body_whose_writer_was_killed_is_readable_as_far_as_it_came(tmp_path: Path) -> None:
    body = DICE.randbytes(2_000_000)
    file = BodyFile(tmp_path, "0-response", Redactor([SECRET]))
    for start in range(0, len(body), 100_000):
        file.write(body[start : start + 100_000])

    found = b"".join(read_body(tmp_path / FOLDER / "0-response.gz"))
    file.drop()

    assert len(found) > 1_000_000
    assert body.startswith(found)


async def test_memory_does_not_grow_with_the_bodies(tmp_path: Path) -> None:
    block = DICE.randbytes(1000) * 64

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        left = size = int(head.lower().partition(b"content-length: ")[2].split(b"\r")[0])
        while left:
            left -= len(await reader.read(65_536))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // len(block)):
            writer.write(block)
            await writer.drain()

    async def measured(megabytes: int) -> int:
        folder = tmp_path / str(megabytes)
        folder.mkdir()
        async with (
            talking(swallow) as port,
            opened(forward_to(f"http://127.0.0.1:{port}/v1"), folder) as gateway,
            client(gateway.port) as agent,
        ):
            tracemalloc.start()
            try:
                size = megabytes * 16 * len(block)
                agent.writer.write(f"POST {CHAT} HTTP/1.1\r\nContent-Length: {size}\r\n\r\n".encode())
                for _ in range(megabytes * 16):
                    agent.writer.write(block)
                    await agent.writer.drain()
                await agent.reader.readuntil(b"\r\n\r\n")
                while size:
                    size -= len(await agent.reader.read(65_536))
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    assert await measured(60) < 1.1 * await measured(30)


def test_long_body_can_be_changed_more_than_once_and_not_where_it_cannot_be_seen() -> None:
    text = orjson.dumps(
        {"model": "a", "n": 1, "picture": picture(200_000), "name": "b", "again": picture(200_000), "end": 1}
    )
    with closing(Spool(None)) as spool:
        spool.write(text)
        shown = Eliding()
        before = shown.feed(text)
        body = LongBody(spool, shown.cuts)
        for old, new in (
            (b'"model":"a"', b'"model":"longer"'),
            (b'"name":"b"', b'"name":""'),
            (b'"end":1', b'"end":22'),
        ):
            after = before.replace(old, new)
            body, before, text = body.changed(before, after), after, text.replace(old, new)
        assert b"".join(body.pieces()) == text
        assert (body.size, body.sha256) == (len(text), hashlib.sha256(text).hexdigest())
        with pytest.raises(TooLongToChange):
            body.changed(before, before.replace(b'"longer"', b'"x"').replace(b"22", b"23"))


def test_secrets_that_follow_one_another_are_all_replaced() -> None:
    redactor = Redactor([SECRET])
    scrubber = Scrubber(redactor)
    body = b"".join(SECRET.encode() + b"," * (number % 2) for number in range(40_000))

    clean = b"".join(scrubber.feed(body[start : start + 70_001]) for start in range(0, len(body), 70_001))

    assert clean + scrubber.end() == redactor.redact(body)


pieces = st.lists(st.sampled_from([SECRET, SECRET[:7], SECRET[7:], "x" * 90, "{\n"]), max_size=12)


@settings(max_examples=60, deadline=None)
@given(pieces, st.lists(st.integers(1, 40_000), min_size=1, max_size=6))
def test_secrets_are_replaced_wherever_a_body_is_cut(parts: list[str], sizes: list[int]) -> None:
    redactor = Redactor([SECRET])
    body = "".join(part * 600 if part.startswith("x") else part for part in parts * 8).encode()
    scrubber, clean, at = Scrubber(redactor), b"", 0
    while at < len(body):
        size = sizes[at % len(sizes)]
        clean += scrubber.feed(body[at : at + size])
        at += size
    clean += scrubber.end()

    assert clean == redactor.redact(body)
    assert scrubber.found == redactor.finds(body)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([10, BLOCK, 3 * BLOCK]), max_size=5), st.sampled_from([1 << 30, 3 * BLOCK, BLOCK + 7]))
def test_what_fills_a_text_is_left_out_and_the_rest_is_found_where_it_was(sizes: list[int], step: int) -> None:
    text = json.dumps([{"a b": "A" * size, "é": 1.5} for size in sizes], ensure_ascii=False).encode()
    short = Eliding()

    shown = b"".join(short.feed(text[start : start + step]) for start in range(0, len(text), step))

    assert [item["é"] for item in json.loads(shown)] == [1.5] * len(sizes)
    assert len(shown) < (len(sizes) + 1) * (2 * BLOCK + SHOWN + 100)
    assert all(text[place(short.cuts, at)] == shown[at] for at in range(0, len(shown), 101))
