"""What stands around a gateway that is measured, each a process of its own: providers, a pass-through, and load."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from dialect_samples import BASH, SAMPLES, Ask, Sample
from wire import MODEL, PROMPT, listener, port_of, post

from benchflow.clock import Clock
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.message import ToolUse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.forward import Forward, Target
from benchflow.redact import Redactor

CHUNKS = 50
SECRETS = ("sk-benchflow-0123456789abcdef", "sk-live-51Hb8cWq0mZr7uYxK2pLsVnT", "ghp_0123456789abcdefghij")
BLOCK = b"0123456789abcdef" * 4096


def request(sample: Sample, *, stream: bool) -> bytes:
    """An agent's request of some 12 KB: a system prompt, twelve tools, a few turns."""
    schema = {**BASH, "description": "Does what its name says. " * 10}
    steps = [(ToolUse(id=f"c{n}", name="tool0", arguments={"command": "ls"}), "a line\n" * 40) for n in range(4)]
    tools = {f"tool{number}": schema for number in range(12)}
    ask = Ask(system="You are an agent. " * 200, tools=tools, steps=steps, stream=stream)
    query = sample.query(ask)
    return post(sample.body(ask), path=sample.path(ask) + (f"?{query}" if query else ""))


def streamed(sample: Sample) -> list[bytes]:
    """The sample's stream as frames, one of its events so often that there are 50."""
    events = [event + b"\n\n" for event in sample.stream.replace(b"\r\n", b"\n").split(b"\n\n") if event]
    at = next(number for number, event in enumerate(events) if b'"He"' in event)
    events[at:at] = [events[at]] * (CHUNKS - len(events))
    return [b"%x\r\n%b\r\n" % (len(event), event) for event in events] + [b"0\r\n\r\n"]


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
WHOLE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
STREAMS = {sample.name: streamed(sample) for sample in SAMPLES}
WHOLES = {sample.name: WHOLE_HEAD % len(sample.whole) + sample.whole for sample in SAMPLES}
ENDS = (b"0\r\n\r\n", *(sample.whole for sample in SAMPLES))


class Provider(asyncio.Protocol):
    """Answers each request at once: a stream in as many writes as it has events, or a whole body in one."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(body) < length:
            return
        self.received = body[length:]
        target = head.split(b" ")[1].decode()
        name = next(
            name
            for name, dialect in DIALECTS.items()
            if (route := dialect.route("POST", target.partition("?")[0])) and route.kind == "generate"
        )
        if b'"stream":  true' not in body and b":streamGenerate" not in head:
            self.transport.write(WHOLES[name])
            return
        first, *frames = STREAMS[name]
        self.transport.write(HEAD + first)
        for frame in frames:
            self.transport.write(frame)


async def provide() -> None:
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", 0, backlog=1024)
    tell(server.sockets[0].getsockname()[1])
    await asyncio.Event().wait()


async def provide_bulk() -> None:
    """Swallow a body of any length, and answer with one as long."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        left = size = int(head.lower().partition(b"content-length: ")[2].split(b"\r")[0])
        while left:
            left -= len(await reader.read(len(BLOCK)))
        writer.write(WHOLE_HEAD % size)
        for _ in range(size // len(BLOCK)):
            writer.write(BLOCK)
            await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    tell(server.sockets[0].getsockname()[1])
    await asyncio.Event().wait()


async def pass_through(port: int) -> None:
    """The least that aiohttp can do as a proxy."""
    from aiohttp import ClientSession, TCPConnector, web

    session = ClientSession(connector=TCPConnector(limit=0), auto_decompress=False)  # ends with the process

    async def handle(asked: web.BaseRequest) -> web.StreamResponse:
        url = f"http://127.0.0.1:{port}{asked.raw_path}"
        async with session.post(url, data=await asked.read(), headers={"Authorization": "Bearer x"}) as answer:
            response = web.StreamResponse(
                status=answer.status, headers={"Content-Type": answer.headers["Content-Type"]}
            )
            await response.prepare(asked)
            async for data in answer.content.iter_any():
                await response.write(data)
            await response.write_eof()
            return response

    sock = listener()
    tell(port_of(sock))
    await asyncio.get_running_loop().create_server(web.Server(handle), sock=sock, backlog=1024)
    await asyncio.Event().wait()


async def gateway(port: int, folder: str) -> None:
    """The gateway with full capture. Each line on its input begins the next trial, whose port it tells."""
    urls = dict.fromkeys(DIALECTS, f"http://127.0.0.1:{port}/v1")
    target = Target(name="local", base_urls=urls, key=SECRETS[1])
    async with Gateway(Forward(target), clock=Clock(), redactor=Redactor(SECRETS)) as opened:
        for number in range(1_000_000):
            own = Path(folder) / str(number)
            own.mkdir()
            sock = listener()
            tell_next = port_of(sock)
            context = TrialContext(trial=f"bench-{number:04}", attempt=1, model=MODEL, prompts=(PROMPT,))
            tap = await opened.attach(sock, context, own, on_exchange=lambda exchange: None)
            tap.prompt_sent(PROMPT)
            tell(tell_next)
            if not await asyncio.to_thread(sys.stdin.readline):
                return
            await tap.close()


def tell(port: int) -> None:
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


ROLES: dict[str, Callable[..., Any]] = {role.__name__: role for role in (provide, provide_bulk, pass_through, gateway)}


class Peer:
    """One side, in a process of its own."""

    def __init__(self, child: "subprocess.Popen[str]") -> None:
        self._child = child
        self.port = self._told()

    def _told(self) -> int:
        assert self._child.stdout
        return int(self._child.stdout.readline())

    def next_trial(self) -> None:
        assert self._child.stdin
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        self.port = self._told()

    @property
    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self._child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory_mb(self) -> float:
        return self._status("VmRSS")

    @property
    def most_memory_mb(self) -> float:
        return self._status("VmHWM")

    def _status(self, name: str) -> float:
        lines = Path(f"/proc/{self._child.pid}/status").read_text().splitlines()
        found = [int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:")]
        return found[0] if found else float("nan")


@contextmanager
def peer(role: str, *arguments: object) -> Iterator[Peer]:
    argv = [sys.executable, __file__, role, *map(str, arguments)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield Peer(child)
        finally:
            child.kill()


class Load(asyncio.Protocol):
    """Sends one request after another on one connection, and counts their ends."""

    def __init__(self, asked: bytes, count: int) -> None:
        self.asked, self.left = asked, count
        self.done = asyncio.get_running_loop().create_future()
        self.times: list[float] = []
        self.tail = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.begun = time.perf_counter()
        self.transport.write(self.asked)

    def data_received(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-2048:]
        if not self.tail.endswith(ENDS):
            return
        self.times.append(time.perf_counter() - self.begun)
        self.tail = b""
        self.left -= 1
        if self.left:
            self.send()
        else:
            self.transport.close()
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server hung up"))


async def load(port: int, asked: bytes, *, at_once: int, each: int) -> list[float]:
    """Return the seconds that each request took."""
    loop = asyncio.get_running_loop()
    clients = [(await loop.create_connection(lambda: Load(asked, each), "127.0.0.1", port))[1] for _ in range(at_once)]
    await asyncio.gather(*(client.done for client in clients))
    return [taken for client in clients for taken in client.times]


if __name__ == "__main__":
    role, *given = sys.argv[1:]
    asyncio.run(ROLES[role](*(int(value) if value.isdigit() else value for value in given)))
