"""How fast ACP updates are received, parsed and logged, against the least that a Python program can do with them.

Run it by hand: `python tests/bench/bench_acp.py`. The limit is measured in the same run: an asyncio SubprocessProtocol
that splits what comes, parses each line with orjson, looks at the kind of the update, and writes a JSON line for each.
"""

import asyncio
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import orjson

from benchflow.clock import Clock
from benchflow.log import LogFile
from benchflow.redact import Redactor
from benchflow.sandbox.interface import Folders, LaunchSpec
from benchflow.sandbox.process import ProcessSandbox
from benchflow.session.session import AcpClient

ROUNDS = 11
UPDATES = 100_000
UPDATE_BYTES = 202
SECRETS = ("bf-3f9c27d1a8e64b0f9d52c7e1", "sk-live-51Hb8cWq0mZr7uYxK2pLsVnT")

FEEDER = """
import os, sys
count, size = map(int, sys.argv[1:])
frame = (b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":'
         b'"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\\n')
line = frame % (b"x" * (size - len(frame % b"")))
def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]
for result in (b'{"protocolVersion":1}', b'{"sessionId":"s"}', b'{"stopReason":"end_turn"}'):
    request_id = sys.stdin.buffer.readline().split(b'"id":', 1)[1].split(b",", 1)[0]
    if b"stopReason" in result:
        for begun in range(0, count, 1000):
            write(line * min(1000, count - begun))
    write(b'{"jsonrpc":"2.0","id":%s,"result":%s}\\n' % (request_id, result))
sys.stdin.buffer.read()
"""


def command(updates: int) -> tuple[str, ...]:
    return sys.executable, "-S", "-E", "-c", FEEDER, str(updates), str(UPDATE_BYTES)


class Limit(asyncio.SubprocessProtocol):
    """The least that receives, parses and logs."""

    def __init__(self, log: int) -> None:
        self.log = log
        self.partial = b""
        self.seen = 0
        self.responses: asyncio.Queue[Any] = asyncio.Queue()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        *lines, self.partial = (self.partial + cast(bytes, data)).split(b"\n")
        entries = []
        now = time.monotonic()
        for line in lines:
            message = orjson.loads(line)
            if "method" in message:
                self.seen += message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
            else:
                self.responses.put_nowait(message["result"])
            entries.append(b'{"t":%.6f,"frame":%b}\n' % (now, line))
        os.write(self.log, b"".join(entries))


async def limit(updates: int, folder: Path) -> float:
    """Return the seconds that a turn of so many updates takes the limit."""
    log = os.open(folder / "limit.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(lambda: Limit(log), *command(updates), stderr=None)
    stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
    started = 0.0
    for number in range(3):
        started = time.perf_counter()
        stdin.write(orjson.dumps({"jsonrpc": "2.0", "id": number, "method": "m", "params": {}}) + b"\n")
        await protocol.responses.get()
    seconds = time.perf_counter() - started
    assert protocol.seen == updates
    stdin.close()
    await transport._wait()  # type: ignore[attr-defined]
    transport.close()
    os.close(log)
    os.unlink(folder / "limit.jsonl")
    return seconds


@asynccontextmanager
async def connected(updates: int, folder: Path, **options: Any) -> AsyncIterator[AcpClient]:
    """Give a client with a session open to a feeder in a sandbox."""
    folders = Folders(workspace=folder, home=folder, tmp=folder)
    async with ProcessSandbox() as sandbox:
        process = await sandbox.start(LaunchSpec(argv=command(updates), env={}, folders=folders))
        log = LogFile(folder / "acp.ndjson", Redactor(SECRETS))
        pipes = process.stdin, process.stdout
        async with AcpClient(*pipes, log=log, clock=Clock(), exited=process.exited, **options) as client:
            await client.initialize()
            await client.new_session(str(folder))
            yield client
            await process.stop(2)
        log.close()
    os.unlink(folder / "acp.ndjson")


async def ours(updates: int, folder: Path, **options: Any) -> float:
    """Return the seconds that a turn of so many updates takes the client."""
    async with connected(updates, folder, **options) as client:
        started = time.perf_counter()
        await client.prompt(["go"])
        return time.perf_counter() - started


async def observed(updates: int, folder: Path) -> float:
    """The same with an observer that is told every event."""
    events: list[int] = []
    seconds = await ours(updates, folder, on_event=lambda kind, data, stamp: events.append(1))
    assert len(events) == updates + 2
    return seconds


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def timed(work: Callable[[int, Path], Awaitable[float]], folder: Path) -> tuple[float, float]:
    """Return the seconds of a turn, and the CPU seconds of this process with its handshake."""
    before = time.process_time()
    seconds = await work(UPDATES, folder)
    return seconds, time.process_time() - before


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        works: dict[str, Callable[[int, Path], Awaitable[float]]] = {"limit": limit, "ours": ours, "observed": observed}
        for work in works.values():
            await work(1_000, folder)
        times: dict[str, list[tuple[float, float]]] = {key: [] for key in works}
        before = peak_kib()
        for _ in range(ROUNDS):  # in turns, so that whatever else the machine does falls on all of them
            for key, work in works.items():
                times[key].append(await timed(work, folder))
        grown = peak_kib() - before
        wall = {key: statistics.median(second for second, _ in values) for key, values in times.items()}
        cpu = {key: statistics.median(second for _, second in values) for key, values in times.items()}
        for key in works:
            print(
                f"{key:9} {UPDATES / wall[key]:9,.0f} updates/s, {wall['limit'] / wall[key]:.2f} of the limit; "
                f"CPU {cpu[key] / UPDATES * 1e6:.2f} µs an update, {cpu['limit'] / cpu[key]:.2f}"
            )
        large = statistics.median([await ours(4 * UPDATES, folder) for _ in range(3)])
        print(f"four times as many take {large / wall['ours']:.2f} times as long")
        print(
            f"peak memory grew by {grown:,} KiB in {ROUNDS} rounds, {peak_kib() - before:,} KiB with the larger turns"
        )
        chunks = statistics.median([await ours(2_000, folder) for _ in range(ROUNDS)])
        print(f"2,000 chunks in one turn: {chunks * 1000:.1f} ms; the limit {await limit(2_000, folder) * 1000:.1f} ms")


if __name__ == "__main__":
    asyncio.run(main())
