"""The proxy passes the hosts that it was given, byte for byte, and no other; whatever comes, it goes on serving."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchflow.gateway.http.http11 import BadRequest
from benchflow.network.asked import read_asked
from benchflow.network.hosts import may_pass, read_host
from benchflow.network.proxy import Proxy

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[int]:
    """Serve connections on the loopback; give the port."""
    served = await asyncio.start_server(handler, "127.0.0.1", 0)
    async with served:
        yield served.sockets[0].getsockname()[1]


@asynccontextmanager
async def proxy(*hosts: str, environ: dict[str, str] | None = None) -> AsyncIterator[tuple[Proxy, int]]:
    """Serve a proxy that passes these hosts; give it and its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    made = Proxy([read_host(host) for host in hosts], environ or {})
    await made.start(listening)
    try:
        with anyio.fail_after(30):
            yield made, listening.getsockname()[1]
    finally:
        await made.aclose()


async def say(port: int, data: bytes) -> bytes:
    """Send bytes and the end of file; return all that comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        return await reader.read()
    finally:
        writer.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()


def answering(requests: list[bytes], response: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") -> Handler:
    """Make a handler that keeps the request, as far as it says how long it is, and answers."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if b"Content-Length: " in request:
            request += await reader.readexactly(int(request.partition(b"Content-Length: ")[2].split(b"\r\n")[0]))
        elif b"chunked" in request:
            request += await reader.readuntil(b"0\r\n\r\n")
        requests.append(request)
        writer.write(response)
        writer.close()

    return handle


async def test_a_tunnel_carries_bytes_both_ways_until_either_side_ends() -> None:
    sent = bytes(range(256)) * 4096
    async with server(echo) as port, proxy(f"127.0.0.1:{port}") as (made, at):
        reader, writer = await asyncio.open_connection("127.0.0.1", at)
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")

        async def send() -> None:
            writer.write(sent)
            await writer.drain()
            writer.write_eof()

        sending = asyncio.create_task(send())
        received = await reader.read(-1)
        await sending
        writer.close()

    assert head == b"HTTP/1.1 200 Connection established\r\n\r\n"
    assert received == sent
    assert (made.passed.sorted(), made.refused.sorted()) == ({f"127.0.0.1:{port}": 1}, {})


async def test_a_plain_request_arrives_as_at_its_own_host_and_alone() -> None:
    requests: list[bytes] = []
    async with server(answering(requests)) as port, proxy(f"localhost:{port}") as (_, at):
        head = (
            f"POST http://localhost:{port}/v1/chat?x=1 HTTP/1.1\r\nHost: elsewhere\r\nContent-Length: 4\r\n"
            "Proxy-Authorization: Basic eA==\r\nX-Mine: 1\r\nConnection: keep-alive\r\n\r\n"
        )
        answer = await say(at, head.encode() + b"body" + b"GET http://localhost/ HTTP/1.1\r\n\r\n")

    assert answer.endswith(b"\r\n\r\nok")
    assert requests == [
        f"POST /v1/chat?x=1 HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 4\r\nX-Mine: 1\r\n"
        "Connection: close\r\n\r\nbody".encode()
    ]


async def test_a_body_in_chunks_arrives_in_chunks() -> None:
    requests: list[bytes] = []
    async with server(answering(requests)) as port, proxy(f"127.0.0.1:{port}") as (_, at):
        head = f"POST http://127.0.0.1:{port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        answer = await say(at, head + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")

    assert answer.endswith(b"ok")
    assert requests[0].partition(b"\r\n\r\n")[2].endswith(b"0\r\n\r\n")
    assert b"abc" in requests[0]
    assert b"de" in requests[0]


@pytest.mark.parametrize(
    "line",
    [
        "CONNECT other.example:443 HTTP/1.1",
        "CONNECT api.example:444 HTTP/1.1",
        "CONNECT api.example.:8443 HTTP/1.1",
        "GET http://other.example/ HTTP/1.1",
        "GET http://api.example.other.example/ HTTP/1.0",
        "CONNECT 127.0.0.1:443 HTTP/1.1",
        "CONNECT [::1]:443 HTTP/1.1",
    ],
)
async def test_any_other_host_is_refused_and_counted(line: str) -> None:
    async with proxy("api.example", "*.example.org") as (made, at):
        answer = await say(at, f"{line}\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"[backend]" in answer
    assert (made.passed.sorted(), len(made.refused.sorted())) == ({}, 1)


async def test_a_refused_client_can_read_why_although_it_goes_on_sending() -> None:
    async with proxy("api.example") as (_, at):
        answer = await say(
            at, b"POST http://other.example/ HTTP/1.1\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000
        )

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"other.example is none of the hosts" in answer


async def test_a_host_that_cannot_be_reached_is_a_bad_gateway() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    async with proxy(f"127.0.0.1:{free}") as (_, at):
        answer = await say(at, f"CONNECT 127.0.0.1:{free} HTTP/1.1\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 502 ")


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT x HTTP/1.1\r\n\r\n",
        b"CONNECT x:99999 HTTP/1.1\r\n\r\n",
        b"GET http://user@x/ HTTP/1.1\r\n\r\n",
        b"POST http://x/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
    ],
)
async def test_what_is_no_request_to_a_proxy_is_refused(data: bytes) -> None:
    async with proxy("x") as (made, at):
        answer = await say(at, data)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert made.passed.sorted() == made.refused.sorted() == {}


async def test_the_proxy_outlives_clients_that_leave_in_the_middle() -> None:
    async with server(echo) as port, proxy(f"127.0.0.1:{port}") as (made, at):
        for data in (b"", b"CONN", f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nxx".encode()):
            _, writer = await asyncio.open_connection("127.0.0.1", at)
            writer.write(data)
            await writer.drain()
            writer.transport.abort()
        reader, writer = await asyncio.open_connection("127.0.0.1", at)
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello".encode())
        await reader.readuntil(b"\r\n\r\n")
        heard = await reader.readexactly(5)
        writer.close()

    assert heard == b"hello"
    assert made.passed.sorted()[f"127.0.0.1:{port}"] >= 1


async def test_closing_ends_tunnels_that_are_open() -> None:
    async with server(echo) as port:
        async with proxy(f"127.0.0.1:{port}") as (made, at):
            reader, writer = await asyncio.open_connection("127.0.0.1", at)
            writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            await made.aclose()
            try:
                rest = await reader.read()
            except ConnectionError:
                rest = b""
        writer.close()

    assert rest == b""


async def test_a_proxy_of_the_users_is_gone_through() -> None:
    requests: list[bytes] = []
    theirs = answering(requests, b"HTTP/1.1 200 Yes\r\n\r\nfrom there")
    async with server(theirs) as port:
        environ = {"HTTPS_PROXY": f"http://me:pass@127.0.0.1:{port}"}
        async with proxy("*.vendor.example", environ=environ) as (_, at):
            answer = await say(at, b"CONNECT api.vendor.example:443 HTTP/1.1\r\n\r\n")

    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\nfrom there"
    assert requests[0].startswith(b"CONNECT api.vendor.example:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6cGFzcw==" in requests[0]


@given(st.binary(max_size=200))
def test_any_head_is_read_or_refused(block: bytes) -> None:
    try:
        asked = read_asked(block + b"\r\n\r\n")
    except BadRequest:
        return
    assert 0 < asked.port < 65536


@given(
    st.sampled_from(["CONNECT", "GET"]),
    st.from_regex(r"[a-zA-Z0-9.-]{1,20}", fullmatch=True),
    st.integers(1, 65535),
    st.from_regex(r"(/[a-z?=&/:@]{0,20})?", fullmatch=True),
)
def test_what_is_refused_is_judged_by_the_host_that_is_gone_to(method: str, host: str, port: int, path: str) -> None:
    target = f"{host}:{port}" if method == "CONNECT" else f"http://{host}:{port}{path}"

    asked = read_asked(f"{method} {target} HTTP/1.1\r\nHost: allowed.example\r\n\r\n".encode())

    assert (asked.host, asked.port) == (host.lower().removesuffix("."), port)
    assert b"allowed.example" not in asked.onward()


@pytest.mark.parametrize(
    ("pattern", "name", "port", "passes"),
    [
        ("api.example.com", "api.example.com", 443, True),
        ("api.example.com", "API.Example.com.", 80, True),
        ("api.example.com", "api.example.com", 8443, False),
        ("api.example.com", "x.api.example.com", 443, False),
        ("api.example.com:8443", "api.example.com", 8443, True),
        ("api.example.com:8443", "api.example.com", 443, False),
        ("*.example.com", "api.example.com", 443, True),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("*.example.com:8443", "a.example.com", 8443, True),
        ("[::1]:80", "[::1]", 80, True),
        ("127.0.0.1:9", "127.0.0.1", 9, True),
    ],
)
def test_which_hosts_a_pattern_means(pattern: str, name: str, port: int, passes: bool) -> None:
    assert may_pass([read_host(pattern)], name, port) == passes


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.com", "https://x.example", "x.example/path", "x.example:0", "x.example:70000", "a b", "x..y", "-x"],
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the manifest's reader says the rest
        read_host(text)
