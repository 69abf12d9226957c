"""The server's HTTP/1.1, as clients of every kind speak it, well and badly."""

import asyncio
import http.client
import json
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire import (
    CHAT,
    STREAM,
    Client,
    ask,
    chat_body,
    chunked,
    client,
    forward_to,
    listener,
    opened,
    port_of,
    post,
    provider,
)

from benchflow.gateway.http.http11 import BadRequest, Head, parse_head
from benchflow.gateway.http.server import serve
from benchflow.gateway.message import Chunks, RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.null import TEXT, Null


class Echo:
    """Answers with what it was asked."""

    name = "echo"
    priced_as = None

    def __init__(self) -> None:
        self.asked: list[RawRequest] = []

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        self.asked.append(request)
        length = (("Content-Length", str(len(request.body))),) if request.path == "/sized" else ()
        return RawResponse(status=200, reason="OK", headers=length, chunks=Chunks([request.body]))

    async def aclose(self) -> None: ...


@asynccontextmanager
async def echoing() -> AsyncIterator[tuple[Echo, int]]:
    echo, sock = Echo(), listener()
    port = port_of(sock)
    async with serve(echo, [sock]):
        yield echo, port


async def test_body_in_chunks_is_put_together() -> None:
    chunks = b"5\r\nhello\r\n1;x=y\r\n \r\n5\r\nworld\r\n0\r\nTrailer: x\r\n\r\n"
    async with echoing() as (echo, port):
        answer = await ask(port, b"POST /x?a=%2F HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)

    assert answer.body == b"hello world"
    assert (echo.asked[0].path, echo.asked[0].query) == ("/x", "a=%2F")


async def test_requests_follow_one_another_on_one_connection_even_unasked() -> None:
    async with echoing() as (_, port), client(port) as agent:
        agent.writer.write(post(b"one", "/x") + post(b"two", "/sized") + post(b"", "/x") + post(b"four", "/x"))
        bodies = [(await agent.receive()).body for _ in range(4)]

    assert bodies == [b"one", b"two", b"", b"four"]


async def test_large_body_that_waits_for_permission_gets_it() -> None:
    body = b"x" * 3_000_000
    head = b"POST /sized HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3000000\r\n\r\n"
    async with echoing() as (_, port), client(port) as agent:
        agent.writer.write(head)
        assert await agent.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        answer = await agent.ask(body)

    assert answer.body == body


@pytest.mark.parametrize("headers", [b"", b"Connection: close\r\n"])
async def test_old_or_closing_client_gets_its_answer_and_the_end(headers: bytes) -> None:
    version = b"1.1" if headers else b"1.0"
    async with echoing() as (_, port), client(port) as agent:
        agent.writer.write(b"POST /x HTTP/%b\r\n%bContent-Length: 3\r\n\r\nabc" % (version, headers))
        answer = await agent.receive()
        assert await agent.reader.read() == b""

    assert answer.body == b"abc"
    assert b"Connection: close" in answer.headers


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET http:/ HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: 1\r\n folded\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 300_000 + b"\r\n\r\n", 431),
    ],
)
async def test_what_is_no_request_is_refused_and_reaches_nobody(request_: bytes, status: int) -> None:
    async with echoing() as (echo, port):
        answer = await ask(port, request_)

    assert (answer.status, echo.asked) == (status, [])


async def test_request_that_never_becomes_whole_reaches_nobody() -> None:
    async with echoing() as (echo, port):
        async with client(port) as agent:
            agent.writer.write(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
            agent.writer.write_eof()
            assert await agent.reader.read() == b""
        assert (await ask(port, post(b"next", "/x"))).body == b"next"

    assert [request.body for request in echo.asked] == [b"next"]


token = st.text("!#$%&'*+.^_`|~abcXYZ019-", min_size=1, max_size=12)
value = st.text(st.characters(min_codepoint=33, max_codepoint=255, blacklist_characters="\x7f"), max_size=20)


@given(
    method=st.sampled_from(["GET", "POST", "M-SEARCH"]),
    path=st.text("abc/%20.~-_:@", max_size=20),
    query=st.none() | st.text("abc=&%20?/", max_size=20),
    headers=st.lists(st.tuples(token, value), max_size=8),
    padding=st.sampled_from(["", " ", "\t  "]),
)
def test_head_is_read_without_changing_a_byte(method, path, query, headers, padding) -> None:
    target = f"/{path}" + ("" if query is None else f"?{query}")
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}:{padding}{text}{padding}" for name, text in headers)]
    block = "\r\n".join([*lines, "\r\n"]).encode("latin-1")

    assert parse_head(block) == Head(method, f"/{path}", query or "", 1, tuple(headers))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_head_or_refused(block: bytes) -> None:
    with suppress(BadRequest):
        assert parse_head(block).path[0] in "/*"


async def test_common_clients_are_served(tmp_path: Path) -> None:
    def standard_library(port: int) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", CHAT, chat_body())
        body = connection.getresponse().read()
        connection.close()
        return body

    async with opened(Null(), tmp_path) as gateway:
        url = f"http://127.0.0.1:{gateway.port}{CHAT}"
        async with aiohttp.ClientSession() as session, session.post(url, data=chat_body(stream=True)) as response:
            streamed = await response.read()
        plain = await asyncio.to_thread(standard_library, gateway.port)

    assert streamed.endswith(b"data: [DONE]\n\n")
    assert json.loads(plain)["choices"][0]["message"]["content"] == TEXT
    assert [exchange.turn for exchange in gateway.tap.exchanges] == [0, 1]


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
async def test_curl_with_a_large_body_is_served(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(chat_body(padding="x" * 2_000_000))
    async with provider(chunked(STREAM)) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        url = f"http://127.0.0.1:{gateway.port}{CHAT}"
        argv = ["curl", "-sS", "--noproxy", "*", "--data-binary", f"@{tmp_path}/body", url]
        done = await asyncio.to_thread(subprocess.run, argv, capture_output=True, check=True)

    assert done.stdout == STREAM
    assert upstream.asked[0].body == (tmp_path / "body").read_bytes()


async def test_body_of_another_length_than_announced_breaks_the_connection() -> None:
    class Liar(Echo):
        async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
            return RawResponse(status=200, headers=(("Content-Length", "9"),), chunks=Chunks([b"short"]))

    sock = listener()
    port = port_of(sock)
    async with serve(Liar(), [sock]):
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await ask(port, post(b"x", "/x"))


async def test_one_upstream_is_served_on_several_sockets() -> None:
    socks = [listener(), listener()]
    ports = [port_of(sock) for sock in socks]
    async with serve(Echo(), socks):
        assert [(await ask(port, post(b"x", "/x"))).body for port in ports] == [b"x", b"x"]
    for port in ports:
        with pytest.raises(ConnectionError):
            await ask(port, post(b"x", "/x"))


async def test_closing_ends_idle_connections() -> None:
    async with echoing() as (_, port):
        agent = Client(*await asyncio.open_connection("127.0.0.1", port))
        assert (await agent.ask(post(b"x", "/x"))).body == b"x"
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await agent.ask(post(b"x", "/x"))
    agent.leave()


@pytest.mark.parametrize("turns", [0, 2, 3, 4])  # after 1, asyncio itself drops what it has accepted (3.11)
async def test_connection_that_comes_as_the_server_closes_is_ended_too(turns: int) -> None:
    """However far the server is with taking it: `turns` counts those of the event loop."""
    sock = listener()
    with socket.create_connection(("127.0.0.1", port_of(sock))) as agent:
        async with serve(Echo(), [sock]):
            for _ in range(turns):
                await asyncio.sleep(0)
        for _ in range(4):
            await asyncio.sleep(0)
        agent.settimeout(5)
        with suppress(ConnectionError):
            assert agent.recv(1) == b""
