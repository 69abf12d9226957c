"""Both ends of the gateway's wire, as plain sockets: a client and a provider that send exact bytes."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchflow.clock import Clock
from benchflow.gateway.gateway import Gateway, Tap
from benchflow.gateway.records.exchanges import RecordedExchange, read_exchanges
from benchflow.gateway.upstream import TrialContext, Upstream
from benchflow.gateway.upstreams.forward import Forward, Target
from benchflow.redact import Redactor

PROMPT = "Please repair the build."
BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
MODEL = "gpt-4.1"
CHAT = "/v1/chat/completions"


def listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0), backlog=1024)


def port_of(sock: socket.socket) -> int:
    return sock.getsockname()[1]


def chat_body(**more: Any) -> bytes:
    messages = [{"role": "user", "content": PROMPT}]
    return json.dumps({"model": MODEL, "messages": messages, "tools": [BASH], **more}).encode()


def post(
    body: bytes, path: str = CHAT, headers: Sequence[str] = ("Host: gateway", "Authorization: Bearer trial")
) -> bytes:
    lines = [f"POST {path} HTTP/1.1", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "\r\n"]).encode() + body


def sse(*events: dict[str, Any] | str) -> bytes:
    data = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return "".join(f"data: {text}\n\n" for text in data).encode()


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [choice], **more}


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
STREAM = sse(
    chunk({"role": "assistant", "content": "He"}),
    chunk({"content": "llo"}),
    chunk(finish="stop", usage=USAGE),
    "[DONE]",
)


def chunked(body: bytes, *, head: str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream") -> bytes:
    framed = (f"{len(body):x}\r\n".encode() + body + b"\r\n" if body else b"") + b"0\r\n\r\n"
    return head.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + framed


def whole(
    body: bytes, *, status: str = "200 OK", headers: Sequence[str] = ("Content-Type: application/json",)
) -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "\r\n"]).encode() + body


@dataclass
class Asked:
    """One request as a provider got it."""

    head: bytes
    body: bytes

    @property
    def headers(self) -> list[bytes]:
        return self.head.rstrip(b"\r\n").split(b"\r\n")[1:]

    def named(self, name: bytes) -> list[bytes]:
        return [line for line in self.headers if line.lower().startswith(name.lower() + b":")]


Talk = Callable[["Provider", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Provider:
    """A provider that answers with the bytes it is given. `answer` may also talk over the connection itself."""

    answer: bytes | Talk
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """A client has gone."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                self.asked.append(Asked(head, b""))
                self.asked[-1].body = await reader.readexactly(int(length[0].split(b":")[1])) if length else b""
                if isinstance(self.answer, bytes):
                    writer.write(self.answer)
                    await writer.drain()
                else:
                    await self.answer(self, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left.set()
        finally:
            writer.close()


@asynccontextmanager
async def provider(answer: bytes | Talk, **options: Any) -> AsyncIterator[Provider]:
    found = Provider(answer)
    async with talking(found.serve, limit=1 << 26, **options) as found.port:
        yield found


@asynccontextmanager
async def talking(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], **options: Any
) -> AsyncIterator[int]:
    """A server that talks over each connection. Gives its port; leaves no socket open."""
    writers: list[asyncio.StreamWriter] = []

    async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await serve(reader, writer)

    server = await asyncio.start_server(begin, "127.0.0.1", 0, backlog=1024, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        for writer in writers:
            with suppress(ConnectionError):
                await writer.wait_closed()


def forward_to(url: str, **more: Any) -> Forward:
    return Forward(Target(name="local", base_urls={"openai-completions": url}, **{"key": "sk-real-key-0001", **more}))


@dataclass
class Opened:
    """A gateway with one trial attached."""

    tap: Tap
    port: int
    folder: Path

    def log(self) -> list[RecordedExchange]:
        return list(read_exchanges(self.folder / "llm.jsonl"))


@asynccontextmanager
async def opened(
    upstream: Upstream,
    folder: Path,
    *,
    secrets: Sequence[str] = (),
    strict_model: bool = False,
    model: str = MODEL,
    **more: Any,
) -> AsyncIterator[Opened]:
    """A gateway on `upstream`, and a tap whose trial has been prompted."""
    sock = listener()
    redactor = Redactor(secrets)
    async with Gateway(upstream, clock=Clock(), redactor=redactor, strict_model=strict_model) as gateway:
        context = TrialContext(trial="trial-0001", attempt=1, model=model, prompts=(PROMPT,))
        port = port_of(sock)
        tap = await gateway.attach(sock, context, folder, **more)
        tap.prompt_sent(PROMPT)
        try:
            yield Opened(tap, port, folder)
        finally:
            await tap.close()


@dataclass
class Answer:
    """A response as a client got it."""

    head: bytes
    body: bytes
    """The framing taken off."""

    @property
    def status(self) -> int:
        return int(self.head.split(b" ")[1])

    @property
    def headers(self) -> list[bytes]:
        return self.head.rstrip(b"\r\n").split(b"\r\n")[1:]


class Client:
    """One connection of an agent. Whoever connects it closes it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, request: bytes, *, head: bool = False) -> Answer:
        self.writer.write(request)
        return await self.receive(head=head)

    async def receive(self, *, head: bool = False) -> Answer:
        """Read one response. Raises IncompleteReadError where the connection breaks off in it."""
        top = await self.reader.readuntil(b"\r\n\r\n")
        fields = {line.split(b":")[0].lower(): line.split(b":")[1].strip() for line in top.split(b"\r\n")[1:] if line}
        if head or top.split(b" ")[1] in (b"204", b"304"):
            return Answer(top, b"")
        if b"content-length" in fields:
            return Answer(top, await self.reader.readexactly(int(fields[b"content-length"])))
        if fields.get(b"transfer-encoding") != b"chunked":
            return Answer(top, await self.reader.read())
        body = b""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        assert await self.reader.readexactly(2) == b"\r\n"
        return Answer(top, body)

    @property
    def transport(self) -> asyncio.Transport:
        assert isinstance(self.writer.transport, asyncio.Transport)
        return self.writer.transport

    def leave(self) -> None:
        """Break the connection off."""
        self.transport.abort()


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()


async def ask(port: int, request: bytes, *, head: bool = False) -> Answer:
    async with client(port) as connection:
        return await connection.ask(request, head=head)


async def until(condition: Callable[[], bool]) -> None:
    """Wait, bounded, until something that only the other side can bring about has come about."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0)
