"""In every dialect: what goes upstream is what came in but for the listed changes, and answers come back as they were,
chunk for chunk, whatever they are.
"""

import asyncio
import gzip
import json
import random
import re
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from dialect_samples import ERROR, SAMPLES, TEXT, TOKENS, Ask, Sample, in_every_dialect
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded import AGENTS, FOLDER
from wire import (
    MODEL,
    PROMPT,
    Asked,
    Client,
    Opened,
    Provider,
    Talk,
    client,
    opened,
    post,
    provider,
    until,
    whole,
)

from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.message import Change
from benchflow.gateway.records.tape import CODED
from benchflow.gateway.upstreams.forward import Forward, Target

KEY = "sk-real-key-0001"
OK = "HTTP/1.1 200 OK"
STREAMED = "Content-Type: text/event-stream"
VERSION = re.compile(r"^/v\d\w*")
"""Stands in the agent's base URL, in the provider's, or in both."""


def forward_all(port: int) -> Forward:
    """An upstream that speaks every dialect."""
    urls = dict.fromkeys(DIALECTS, f"http://127.0.0.1:{port}/base")
    return Forward(Target(name="local", base_urls=urls, key=KEY))


@asynccontextmanager
async def between(answer: bytes | Talk, folder: Path) -> AsyncIterator[tuple[Provider, Opened, Client]]:
    """A provider, a gateway before it, and an agent's connection."""
    async with (
        provider(answer) as upstream,
        opened(forward_all(upstream.port), folder) as gateway,
        client(gateway.port) as agent,
    ):
        yield upstream, gateway, agent


def asking(sample: Sample, ask: Ask, headers: Sequence[str] = ("Host: gateway",)) -> bytes:
    query = sample.query(ask)
    return post(sample.body(ask), path=sample.path(ask) + (f"?{query}" if query else ""), headers=headers)


def framed(chunks: Sequence[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


async def chunks_from(agent: Client) -> list[bytes]:
    """Read a body, chunk for chunk."""
    chunks = []
    while size := int(await agent.reader.readuntil(b"\r\n"), 16):
        chunks.append((await agent.reader.readexactly(size + 2))[:-2])
    assert await agent.reader.readexactly(2) == b"\r\n"
    return chunks


def explained(asked: Asked, request: bytes, changes: Sequence[Change]) -> None:
    """Check that the listed changes are all that makes the difference."""
    head, _, body = request.partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    target = line.split(b" ")[1].decode()
    for change in changes:
        match change.path.partition("."):
            case ("body", _, "model"):
                body = body.replace(json.dumps(change.before).encode(), json.dumps(change.after).encode(), 1)
            case ("url", _, "model"):
                target = target.replace(f"/models/{change.before}:", f"/models/{change.after}:")
            case ("header", _, name):
                headers = [
                    one for one in headers if not (change.after is None and one.lower().startswith(f"{name}:".encode()))
                ]
    assert asked.body == body
    sent_target = asked.head.split(b" ")[1].decode()
    assert VERSION.sub("", sent_target.removeprefix("/base")) == VERSION.sub("", target)
    added = (b"host:", b"content-length:", b"authorization:", b"x-api-key:", b"x-goog-api-key:")
    assert [one for one in asked.headers if not one.lower().startswith(added)] == headers


@pytest.mark.parametrize("agent_id", AGENTS)
async def test_recorded_requests_reach_the_provider_with_the_listed_changes_alone(
    agent_id: str, tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in (FOLDER / f"{agent_id}.jsonl").read_text().splitlines()]
    headers = [
        "Host: gateway",
        "X-Stainless-Lang: js",
        "user-agent: agent/1.0 (é)",
        "Connection: keep-alive",
        "x-a: 1",
        "X-A: 2",
    ]
    requests = [
        post(
            json.dumps(line["body"], ensure_ascii=number % 2 == 0).encode(),
            path=f"{line['path']}?n={number}",
            headers=headers,
        )
        for number, line in enumerate(lines)
    ]
    async with between(whole(b"{}"), tmp_path) as (upstream, gateway, agent):
        for prompt in lines[-1]["prompts"]:
            gateway.tap.prompt_sent(prompt)
        for request in requests:
            assert (await agent.ask(request)).status == 200

    assert len(upstream.asked) == len(gateway.tap.exchanges) == len(requests)
    for asked, request, exchange in zip(upstream.asked, requests, gateway.tap.exchanges, strict=True):
        explained(asked, request, exchange.changes)
        assert exchange.role != "main" or exchange.model_sent == MODEL
    assert [entry.request_body for entry in gateway.log()] == [
        request.partition(b"\r\n\r\n")[2] for request in requests
    ]


def in_lines(stream: bytes, end: bytes) -> bytes:
    return stream.replace(b"\r\n", b"\n").replace(b"\n", end)


def commented(stream: bytes) -> bytes:
    return b": connected\n\n" + stream.replace(b"\n\n", b"\n\n: keep-alive\n\n", 2) + b"\n: bye"


def in_pieces(body: bytes, size: int) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)]


FORMS = {
    "an event a chunk": lambda stream: (STREAMED, stream.splitlines(keepends=True)),
    "LF": lambda stream: (STREAMED, [in_lines(stream, b"\n")]),
    "CRLF": lambda stream: (STREAMED, in_pieces(in_lines(stream, b"\r\n"), 33)),
    "comments and keep-alives": lambda stream: (STREAMED, in_pieces(commented(stream), 17)),
    "a byte order mark": lambda stream: (STREAMED, [b"\xef\xbb\xbf" + stream]),
    "a byte a chunk": lambda stream: (STREAMED, in_pieces(stream, 1)),
    "gzip": lambda stream: (f"{STREAMED}\r\nContent-Encoding: gzip", in_pieces(gzip.compress(stream), 50)),
    "gzip in two members": lambda stream: (
        f"{STREAMED}\r\nContent-Encoding: gzip",
        [gzip.compress(stream[:99]), gzip.compress(stream[99:])],
    ),
    "deflate": lambda stream: (f"{STREAMED}\r\nContent-Encoding: deflate", in_pieces(zlib.compress(stream), 9)),
    "deflate without its header": lambda stream: (
        f"{STREAMED}\r\ncontent-encoding: deflate",
        in_pieces(zlib.compress(stream)[2:-4], 9),
    ),
    "a long chunk": lambda stream: (STREAMED, [b": " + b"x" * 100_000 + b"\n\n" + stream]),
}


@in_every_dialect
@pytest.mark.parametrize("form", FORMS)
async def test_stream_comes_back_chunk_for_chunk_in_whatever_form_and_is_read(
    sample: Sample, form: str, tmp_path: Path
) -> None:
    head, chunks = FORMS[form](sample.stream)
    top = f"{OK}\r\n{head}\r\nX-Request-Id: 7"
    answer = f"{top}\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + framed(chunks)
    async with between(answer, tmp_path) as (_, gateway, agent):
        agent.writer.write(asking(sample, Ask()))
        assert await agent.reader.readuntil(b"\r\n\r\n") == f"{top}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        got = await chunks_from(agent)
        await until(lambda: bool(gateway.tap.exchanges))

    assert b"".join(got) == b"".join(chunks)
    assert got == chunks or form == "a long chunk"
    (exchange,) = gateway.tap.exchanges
    assert (exchange.answer.text, exchange.tokens, exchange.end, exchange.turn) == (TEXT, TOKENS, "complete", 0)
    assert gateway.log()[0].response_body == b"".join(chunks)


@in_every_dialect
async def test_whole_answer_comes_back_as_it_was(sample: Sample, tmp_path: Path) -> None:
    packed = gzip.compress(sample.whole)
    answers = [
        whole(sample.whole),
        whole(
            packed,
            headers=["content-type: application/json", "Content-Encoding: gzip", "Set-Cookie: a", "Set-Cookie: b"],
        ),
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + whole(sample.whole),
    ]

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answers[len(found.asked) - 1])

    async with between(talk, tmp_path) as (_, gateway, agent):
        got = [await agent.ask(asking(sample, Ask(stream=False))) for _ in answers]
        await until(lambda: len(gateway.tap.exchanges) == len(answers))

    assert [one.head + one.body for one in got] == [*answers[:2], answers[2].partition(b"\r\n\r\n")[2]]
    for exchange in gateway.tap.exchanges:
        assert (exchange.answer.text, exchange.tokens, exchange.end) == (TEXT, TOKENS, "complete")


@in_every_dialect
@pytest.mark.parametrize(
    "answer",
    [
        whole(
            b"<html><body>502 Bad Gateway</body></html>", status="502 Bad Gateway", headers=["Content-Type: text/html"]
        ),
        whole(b"", status="500 Internal Server Error"),
        whole(b"", status="204 No Content").replace(b"Content-Length: 0\r\n", b""),
        whole(b"", status="304 Not Modified").replace(b"Content-Length: 0\r\n", b""),
        whole(b"null"),
        whole(b"\xff\xfe\x00 no text at all"),
        whole(b"", status="429 ", headers=["retry-after: 7", "x-ratelimit-remaining: 0"]),
        whole(b"{", headers=["Content-Type: application/json", "Content-Encoding: br"]),
        whole(b"not gzip", headers=["Content-Encoding: gzip"]),
    ],
    ids=["HTML", "empty", "204", "304", "null", "no text", "429", "a coding that is not known", "a broken coding"],
)
async def test_answer_that_is_none_comes_back_as_it_was(sample: Sample, answer: bytes, tmp_path: Path) -> None:
    async with between(answer, tmp_path) as (_, gateway, agent):
        for _ in range(2):
            got = await agent.ask(asking(sample, Ask()))
            assert got.head + got.body == answer

    assert [exchange.turn for exchange in gateway.tap.exchanges] == [None, None]
    raw = gateway.log()[1].line["response"]["raw"]
    if b"Content-Encoding" in answer:  # nobody can look whether there is a secret in it
        assert raw == {"withheld": CODED}
    else:
        assert gateway.log()[1].response_body == answer.partition(b"\r\n\r\n")[2]


@in_every_dialect
async def test_error_comes_back_as_it_was_and_is_understood(sample: Sample, tmp_path: Path) -> None:
    answer = whole(sample.error, status="400 Bad Request")
    async with between(answer, tmp_path) as (_, gateway, agent):
        got = await agent.ask(asking(sample, Ask()))

    assert got.head + got.body == answer
    (exchange,) = gateway.tap.exchanges
    assert (exchange.answer.error, exchange.status, exchange.failed_upstream) == (ERROR, 400, False)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sample=st.sampled_from(SAMPLES),
    exchanges=st.lists(
        st.tuples(
            st.binary(max_size=200) | st.just(None),
            st.lists(st.binary(min_size=1, max_size=120), max_size=8),
            st.lists(st.integers(1, 500), max_size=6),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_any_bodies_in_any_chunks_pass_unchanged(
    sample: Sample,
    exchanges: list[tuple[bytes | None, list[bytes], list[int]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    bodies = [sample.body(Ask()) if body is None else body for body, _, _ in exchanges]

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, chunks, cuts = exchanges[len(found.asked) - 1]
        answer = f"{OK}\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + framed(chunks)
        edges = sorted({0, len(answer), *(cut for cut in cuts if cut < len(answer))})
        for start, end in pairwise(edges):
            writer.write(answer[start:end])
            await asyncio.sleep(0)

    async def go() -> None:
        async with between(talk, tmp_path_factory.mktemp("any")) as (upstream, gateway, agent):
            for body, (_, chunks, _) in zip(bodies, exchanges, strict=True):
                agent.writer.write(post(body, path=sample.path(Ask()) + "?" + sample.query(Ask())))
                await agent.reader.readuntil(b"\r\n\r\n")
                assert await chunks_from(agent) == chunks
            await until(lambda: len(gateway.tap.exchanges) == len(exchanges))
        assert [one.body for one in upstream.asked] == bodies
        logged = [(entry.request_body, entry.response_body) for entry in gateway.log()]
        assert logged == [(body, b"".join(chunks)) for body, (_, chunks, _) in zip(bodies, exchanges, strict=True)]

    asyncio.run(go())


@in_every_dialect
async def test_agent_that_leaves_ends_the_providers_work_at_once(sample: Sample, tmp_path: Path) -> None:
    event = sample.stream[: sample.stream.index(b"\n\n" if b"\n\n" in sample.stream else b"\r\n\r\n") + 2]

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{OK}\r\n{STREAMED}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await reader.readexactly(1)  # ends when the gateway leaves

    async with between(talk, tmp_path) as (upstream, gateway, agent):
        agent.writer.write(asking(sample, Ask()))
        await agent.reader.readuntil(event)
        agent.leave()
        async with asyncio.timeout(10):
            await upstream.left.wait()
        await until(lambda: bool(gateway.tap.exchanges))

    (entry,) = gateway.log()
    assert (entry.line["end"], entry.response_body) == ("client_gone", event)


@contextmanager
def counting() -> Iterator[int]:
    """A provider in a process of its own, which counts. Gives its port."""
    argv = [sys.executable, str(Path(__file__).with_name("counting_provider.py"))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def test_what_another_process_counts_is_what_is_on_record_whatever_64_agents_do(tmp_path: Path) -> None:
    dice = random.Random(3)

    async def act(port: int, number: int) -> None:
        sample = SAMPLES[number % len(SAMPLES)]
        for _ in range(5):
            async with client(port) as agent:
                headers = ("Host: gateway", "Connection: close")
                agent.writer.write(asking(sample, Ask(text=f"{PROMPT} {dice.random()}"), headers))
                await agent.writer.drain()
                if dice.random() < 0.5:
                    await asyncio.sleep(dice.random() * 0.05)
                    agent.leave()
                    continue
                while await agent.reader.read(65_536) and dice.random() < 0.8:
                    pass
                agent.leave()

    with counting() as port:
        async with (
            opened(forward_all(port), tmp_path) as gateway,
            asyncio.timeout(60),
            asyncio.TaskGroup() as tasks,
        ):
            for number in range(64):
                tasks.create_task(act(gateway.port, number))
        async with client(port) as agent:
            counted = int((await agent.ask(b"GET /count HTTP/1.1\r\n\r\n")).body)

    entries = gateway.log()
    sent = [entry for entry in entries if entry.line["request"]["sha256_forwarded"]]
    assert len(sent) == counted > 64
    assert len(entries) == len(gateway.tap.exchanges)
    assert {exchange.end for exchange in gateway.tap.exchanges} >= {"client_gone", "upstream_cut"}
