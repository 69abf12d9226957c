"""The client side of the gateway's HTTP/1.1: connections kept and dropped, TLS, proxies, and bodies in any framing."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire import Provider, provider, talking, whole

from benchflow.gateway.http.client import HttpClient, Patience
from benchflow.gateway.http.framing import Chunked, Framing, Sized
from benchflow.gateway.http.http11 import BadResponse, ResponseHead, parse_response_head
from benchflow.gateway.message import UpstreamCut

ANSWER = whole(b"hello", headers=[])


@asynccontextmanager
async def http_client(**options) -> AsyncIterator[HttpClient]:
    client = HttpClient(**options)
    try:
        yield client
    finally:
        await client.aclose()


async def fetch(client: HttpClient, url: str, body: bytes = b"{}", method: str = "POST") -> tuple[int, bytes]:
    head, arriving = await client.send(method, url, (("X-Own", "1"),), body, lambda: None)
    try:
        return head.status, b"".join([data async for data in arriving])
    finally:
        await arriving.aclose()


async def test_connection_is_kept_for_the_next_request() -> None:
    async with provider(ANSWER) as server, http_client() as client:
        for _ in range(3):
            assert await fetch(client, server.url) == (200, b"hello")

    assert (len(server.asked), server.connections) == (3, 1)


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"hello", headers=["Connection: close"]),
        ANSWER.replace(b"HTTP/1.1", b"HTTP/1.0"),
        ANSWER + b"unasked",
    ],
    ids=["closing", "old", "surplus"],
)
async def test_connection_that_cannot_be_trusted_is_not_used_again(answer: bytes) -> None:
    async with provider(answer) as server, http_client() as client:
        for _ in range(2):
            assert await fetch(client, server.url) == (200, b"hello")

    assert server.connections == 2


async def test_connection_that_the_server_closed_meanwhile_is_replaced() -> None:
    closed = asyncio.Event()

    async def once(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ANSWER)
        writer.close()
        await writer.wait_closed()
        closed.set()

    async with provider(once) as server, http_client() as client:
        for _ in range(2):
            assert await fetch(client, server.url) == (200, b"hello")
            await closed.wait()
            for _ in range(3):  # rounds of the loop in which the end of the connection is read
                await asyncio.sleep(0)

    assert server.connections == 2


async def test_body_that_is_not_read_to_its_end_costs_the_connection() -> None:
    async with provider(ANSWER) as server, http_client() as client:
        _, arriving = await client.send("POST", server.url, (), b"", lambda: None)
        await arriving.aclose()
        assert await fetch(client, server.url) == (200, b"hello")

    assert server.connections == 2


async def test_interim_responses_are_left_aside() -> None:
    answer = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ANSWER
    async with provider(answer) as server, http_client() as client:
        assert await fetch(client, server.url) == (200, b"hello")


@pytest.mark.parametrize(("method", "answer"), [("HEAD", whole(b"")), ("POST", b"HTTP/1.1 204 No Content\r\n\r\n")])
async def test_response_without_a_body_ends_with_its_head(method: str, answer: bytes) -> None:
    async with provider(answer) as server, http_client() as client:
        for _ in range(2):
            assert (await fetch(client, server.url, b"", method))[1] == b""

    assert server.connections == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "did not answer in HTTP/1.1: not an HTTP/1.1 status line"),
        (b"HTTP/1.1 200 OK\r\nbad\r\n\r\n", "a header of the response is malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "not a length: 'x'"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "not the size of a chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "longer than it says"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 99_999,
            "a chunk of the response is malformed",
        ),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 600_000, "sent a head that is too large"),
    ],
)
async def test_server_that_speaks_something_else_is_a_cut(answer: bytes, message: str) -> None:
    async with provider(answer) as server, http_client() as client:
        with pytest.raises(UpstreamCut) as cut:
            await fetch(client, server.url)

    assert message in str(cut.value)


async def test_server_that_does_not_take_the_connection_is_a_cut() -> None:
    async with http_client() as client:
        with pytest.raises(UpstreamCut, match=r"cannot connect to no\.such\.host\.invalid:80: "):
            await fetch(client, "http://no.such.host.invalid/v1")


def heads() -> st.SearchStrategy[bytes]:
    return st.binary(max_size=60) | st.sampled_from(
        [b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.1 99 x", b"HTTP/1.1 200 OK\r\na:b"]
    )


@given(heads())
def test_any_bytes_are_a_response_head_or_refused(block: bytes) -> None:
    try:
        head = parse_response_head(block + b"\r\n\r\n")
    except BadResponse:
        return
    assert isinstance(head, ResponseHead)


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=6),
    st.lists(st.integers(0, 400), max_size=10),
    st.sampled_from([b"", b"Trailer: x\r\nAnother: y\r\n"]),
)
def test_chunks_are_put_together_wherever_they_are_split(chunks: list[bytes], cuts: list[int], trailers: bytes) -> None:
    wire = b"".join(b"%X;a=b\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n" + trailers + b"\r\n"
    edges = sorted({0, len(wire), *(cut for cut in cuts if cut < len(wire))})
    framing = Chunked()

    body = b"".join(framing.feed(wire[start:end]) for start, end in pairwise(edges))

    assert (body, framing.done, framing.surplus) == (b"".join(chunks), True, b"")


@pytest.mark.parametrize(("framing", "wire"), [(Sized(3), b"abc+"), (Chunked(), b"3\r\nabc\r\n0\r\n\r\n+")])
def test_bytes_after_the_end_are_noticed(framing: Framing, wire: bytes) -> None:
    assert (framing.feed(wire), framing.done, framing.surplus) == (b"abc", True, b"+")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate and key for localhost, in one file."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl here to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*argv, "-keyout", folder / "key", "-out", folder / "cert"], check=True, capture_output=True)
    (folder / "both").write_bytes((folder / "key").read_bytes() + (folder / "cert").read_bytes())
    return folder / "both"


@asynccontextmanager
async def secure(certificate: Path) -> AsyncIterator[Provider]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    async with provider(ANSWER, ssl=context) as found:
        yield found


async def test_tls_is_spoken_with_a_server_that_can_be_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with secure(certificate) as server, http_client() as client:
        for _ in range(2):
            assert await fetch(client, f"https://localhost:{server.port}/v1") == (200, b"hello")

    assert server.connections == 1


async def test_server_that_cannot_be_trusted_is_a_cut(certificate: Path) -> None:
    async with secure(certificate) as server, http_client() as client:
        with pytest.raises(UpstreamCut, match="certificate verify failed"):
            await fetch(client, f"https://localhost:{server.port}/v1")

    assert server.asked == []


@asynccontextmanager
async def proxy(status: bytes = b"200 Connected") -> AsyncIterator[tuple[int, list[bytes]]]:
    """An HTTP proxy: tunnels for CONNECT, and answers everything else itself. Gives its port and what it was asked."""
    asked: list[bytes] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        method, target, _ = asked[-1].split(b" ", 2)
        if method != b"CONNECT":
            writer.write(ANSWER)
            return
        writer.write(b"HTTP/1.1 %b\r\n\r\n" % status)
        if status.startswith(b"200"):
            host, port = target.decode().split(":")
            there, to = await asyncio.open_connection(host, int(port))
            try:
                await asyncio.gather(pump(reader, to), pump(there, writer), return_exceptions=True)
            finally:
                to.transport.abort()
        writer.close()

    async with talking(serve) as port:
        yield port, asked


async def test_plain_request_goes_to_the_proxy_with_the_whole_address() -> None:
    async with proxy() as (port, asked), http_client(proxy=f"http://127.0.0.1:{port}") as client:
        assert await fetch(client, "http://far.away:8000/v1/x?y=1", b"") == (200, b"hello")

    assert asked[0].startswith(b"POST http://far.away:8000/v1/x?y=1 HTTP/1.1\r\nHost: far.away:8000\r\nX-Own: 1\r\n")


async def test_tls_goes_through_the_proxys_tunnel(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with (
        secure(certificate) as server,
        proxy() as (port, asked),
        http_client(proxy=f"http://me:p%40ss@127.0.0.1:{port}") as client,
    ):
        for _ in range(2):
            assert await fetch(client, f"https://localhost:{server.port}/v1") == (200, b"hello")

    place = f"localhost:{server.port}".encode()
    assert asked == [
        b"CONNECT %b HTTP/1.1\r\nHost: %b\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n" % (place, place)
    ]


async def test_proxy_that_refuses_is_a_cut() -> None:
    async with proxy(b"407 Who are you") as (port, _), http_client(proxy=f"http://127.0.0.1:{port}") as client:
        with pytest.raises(UpstreamCut, match=r"the proxy 127\.0\.0\.1 refuses to connect: 407 Who are you"):
            await fetch(client, "https://far.away/v1")


async def test_who_leaves_while_connecting_leaves_a_connection_for_the_next(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with secure(certificate) as server, http_client(patience=Patience(connect_s=10)) as client:
        url = f"https://localhost:{server.port}/v1"
        leaving = asyncio.create_task(fetch(client, url))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        async with asyncio.timeout(10):
            while not client.kept:  # noqa: ASYNC110 - what is waited for tells nobody
                await asyncio.sleep(0.01)
        assert await fetch(client, url) == (200, b"hello")

    assert server.connections == 1
