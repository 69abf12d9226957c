"""What the gateway costs: latency added, streamed requests a second, its start, and a trial's share of it.

Run it by hand: `python tests/bench/bench_gateway.py`. Provider, load and gateway are processes of their own. The same
load goes straight to the provider, through a minimal pass-through of aiohttp that records nothing, and through the
gateway with full capture, in turns; the ratios count.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from benchflow.clock import Clock
from benchflow.gateway.forward import Forward, Target
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.null import Null
from benchflow.gateway.upstream import TrialContext
from benchflow.redact import Redactor

sys.path.insert(0, str(Path(__file__).parents[1]))
from wire import MODEL, PROMPT, chunk, listener, port_of, post, sse

ROUNDS = 11
CHUNKS = 50
AT_ONCE = 64
LATENCIES = 300
REQUESTS = 1_280
SECRETS = ("sk-benchflow-0123456789abcdef", "sk-live-51Hb8cWq0mZr7uYxK2pLsVnT", "ghp_0123456789abcdefghij")


def request(*, stream: bool) -> bytes:
    """An agent's request of some 12 KB: a system prompt, twelve tools, a few turns."""
    tool = {
        "description": "Does what its name says. " * 10,
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}},
    }
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent. " * 200},
        {"role": "user", "content": PROMPT},
    ]
    for number in range(4):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "tool0", "arguments": '{"x": "ls"}'}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "a line of output\n" * 20})
    tools = [{"type": "function", "function": {"name": f"tool{number}", **tool}} for number in range(12)]
    return post(orjson.dumps({"model": MODEL, "stream": stream, "messages": messages, "tools": tools}))


EVENTS = [sse(chunk({"content": f"word {number} "})) for number in range(CHUNKS)] + [
    sse(chunk(finish="stop")),
    sse("[DONE]"),
]
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FRAMES = [b"%x\r\n%b\r\n" % (len(event), event) for event in EVENTS] + [b"0\r\n\r\n"]
WHOLE_BODY = orjson.dumps(
    {
        "model": MODEL,
        "choices": [{"message": {"content": "word " * CHUNKS}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9},
    }
)
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(WHOLE_BODY),
    WHOLE_BODY,
)


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
        if b'"stream":true' not in body:
            self.transport.write(WHOLE)
            return
        self.transport.write(STREAM_HEAD + FRAMES[0])
        for frame in FRAMES[1:]:
            self.transport.write(frame)


async def provide() -> None:
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", 0, backlog=1024)
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
    target = Target(name="local", base_urls={"openai-completions": f"http://127.0.0.1:{port}/v1"}, key=SECRETS[1])
    sock = listener()
    own = port_of(sock)
    async with Gateway(Forward(target), clock=Clock(), redactor=Redactor(SECRETS)) as opened:
        context = TrialContext(trial="bench-0001", attempt=1, model=MODEL, prompts=(PROMPT,))
        tap = await opened.attach(sock, context, Path(folder), on_exchange=lambda exchange: None)
        tap.prompt_sent(PROMPT)
        tell(own)
        await asyncio.Event().wait()


def tell(port: int) -> None:
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


@contextmanager
def process(role: str, *arguments: object) -> Iterator[tuple[int, int]]:
    """Run one side as a process of its own. Gives its port and its pid."""
    argv = [sys.executable, __file__, role, *map(str, arguments)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        try:
            yield int(child.stdout.readline()), child.pid
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
        self.tail = (self.tail + data)[-len(WHOLE_BODY) :]
        if not self.tail.endswith((b"0\r\n\r\n", WHOLE_BODY)):
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


async def load(port: int, *, stream: bool, at_once: int, each: int) -> list[float]:
    """Return the seconds that each request took."""
    loop, asked = asyncio.get_running_loop(), request(stream=stream)
    clients = [(await loop.create_connection(lambda: Load(asked, each), "127.0.0.1", port))[1] for _ in range(at_once)]
    await asyncio.gather(*(client.done for client in clients))
    return [taken for client in clients for taken in client.times]


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def median(values: list[float]) -> float:
    return statistics.median(values)


async def latencies(paths: dict[str, tuple[int, int]], *, stream: bool) -> None:
    found: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(ROUNDS):
        for name, (port, _) in paths.items():
            found[name].append(median(await load(port, stream=stream, at_once=1, each=LATENCIES)) * 1e3)
    direct, least = median(found["direct"]), median(found["pass-through"])
    kind = "streamed" if stream else "whole"
    for name, values in found.items():
        own = median(values)
        print(f"{kind:8} p50 {name:12} {own:6.3f} ms, {own - direct:+.3f} ms ({own / least:.2f} of the pass-through)")


async def throughput(paths: dict[str, tuple[int, int]]) -> None:
    rates: dict[str, list[float]] = {name: [] for name in paths}
    costs: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(ROUNDS):
        for name, (port, pid) in paths.items():
            begun, before = time.perf_counter(), cpu_s(pid)
            await load(port, stream=True, at_once=AT_ONCE, each=REQUESTS // AT_ONCE)
            rates[name].append(REQUESTS / (time.perf_counter() - begun))
            costs[name].append((cpu_s(pid) - before) / REQUESTS * 1e6)
    for name in paths:
        ratio = median(rates[name]) / median(rates["pass-through"])
        print(
            f"{AT_ONCE} at once   {name:12} {median(rates[name]):6,.0f} requests/s of {CHUNKS} chunks, "
            f"{ratio:.2f} of the pass-through; CPU {median(costs[name]):5.0f} µs a request"
        )


async def trials(folder: Path) -> None:
    """What a trial with one exchange costs, beside its answer: start, attach, record, close."""
    starts, shares = [], []
    asked = request(stream=True)
    for number in range(ROUNDS):
        begun = time.perf_counter()
        async with Gateway(Null(), clock=Clock(), redactor=Redactor(SECRETS)) as opened:
            for trial in range(50):
                own = folder / f"{number}-{trial}"
                own.mkdir()
                sock = listener()
                port = port_of(sock)
                cpu = time.process_time()
                context = TrialContext(trial=f"trial-{trial:04}", attempt=1, model=MODEL, prompts=(PROMPT,))
                tap = await opened.attach(sock, context, own)
                if not trial:
                    starts.append((time.perf_counter() - begun) * 1e3)
                tap.prompt_sent(PROMPT)
                client = (
                    await asyncio.get_running_loop().create_connection(lambda: Load(asked, 1), "127.0.0.1", port)
                )[1]
                await client.done
                tap.prompt_answered()
                await tap.close()
                shares.append((time.process_time() - cpu) * 1e3)
    print(
        f"start {median(starts):.2f} ms; a trial with one exchange {median(shares):.2f} ms CPU, its client's included"
    )


async def main() -> None:
    with tempfile.TemporaryDirectory() as name, process("provide") as provider:
        port = provider[0]
        with process("pass_through", port) as least, process("gateway", port, name) as own:
            paths = {"direct": provider, "pass-through": least, "gateway": own}
            for path in paths.values():
                await load(path[0], stream=True, at_once=4, each=50)
            await latencies(paths, stream=False)
            await latencies(paths, stream=True)
            await throughput(paths)
        await trials(Path(name))


ROLES: dict[str, Callable[..., Any]] = {"provide": provide, "pass_through": pass_through, "gateway": gateway}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        role, *given = sys.argv[1:]
        asyncio.run(ROLES[role](*(int(value) if value.isdigit() else value for value in given)))
    else:
        asyncio.run(main())
