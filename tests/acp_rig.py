"""What tests of the session need: the fake agent as a process behind a client; an agent of canned bytes in memory."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import orjson

from benchflow.agents import fake
from benchflow.clock import Clock
from benchflow.sandbox.pipes import PipeReader, PipeWriter
from benchflow.session.projection import Projection
from benchflow.session.session import AcpClient

FAKE = Path(fake.__path__[0])


class Lines:
    """A log in memory."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self._changed = anyio.Event()

    def write(self, lines: bytes) -> None:
        self.blocks.append(lines)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that is logged makes it true."""
        with anyio.fail_after(20):
            while not condition():
                await self._changed.wait()

    @property
    def entries(self) -> list[dict[str, Any]]:
        """All entries. Each must be strict JSON on a line of its own."""
        return [orjson.loads(line) for line in b"".join(self.blocks).splitlines()]

    def noise(self) -> list[str]:
        return [entry["noise"] for entry in self.entries if "noise" in entry]

    def frames(self, direction: str = "in") -> list[dict[str, Any]]:
        return [entry["frame"] for entry in self.entries if entry["dir"] == direction and "frame" in entry]

    def replayed(self) -> list[tuple[str, dict[str, Any]]]:
        """The events that the log alone gives."""
        projection = Projection()
        passed = [(entry["dir"], entry["frame"]) for entry in self.entries if "frame" in entry]
        return [event for direction, frame in passed if (event := projection.read(direction, frame))]


@dataclass
class Rig:
    """A client, and what can be seen of its agent."""

    client: AcpClient
    log: Lines
    folder: Path
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [data for type_, data in self.events if type_ == kind]

    @property
    def said(self) -> str:
        return "".join(data["text"] for data in self.of("agent_message"))

    async def open(self, timeout_s: float = 20) -> None:
        """Get the session ready for its first prompt."""
        await self.client.initialize(timeout_s)
        await self.client.new_session(str(self.folder), timeout_s=timeout_s)


@asynccontextmanager
async def fake_agent(
    behaviour: str, folder: Path, *, env: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[Rig]:
    """Run the fake agent as a process, with a client on its pipes; at the end it is killed."""
    (stdin_read, stdin_write), (stdout_read, stdout_write) = os.pipe(), os.pipe()
    errors = folder / "stderr.log"
    with errors.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-S", "-E", str(FAKE), behaviour),
            stdin=stdin_read,
            stdout=stdout_write,
            stderr=stderr,
            cwd=folder,
            env=env or {},
        )
    os.close(stdin_read)
    os.close(stdout_write)
    reader, writer = PipeReader(stdout_read), PipeWriter(stdin_write)
    log = Lines()
    rig = Rig(client=None, log=log, folder=folder)  # type: ignore[arg-type]
    options.setdefault("on_event", lambda type_, data, _: rig.events.append((type_, data)))
    rig.client = AcpClient(
        writer, reader, log=log, clock=Clock(), exited=process.wait, stderr_tail=errors.read_text, **options
    )
    try:
        async with rig.client:
            yield rig
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.kill()
            await process.wait()
            writer.close()
            reader.close()
            kill_children(folder)


def kill_children(folder: Path) -> None:
    """End what behaviours leave behind."""
    for left in folder.glob("*.pid"):
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(int(left.read_text()), signal.SIGKILL)


class CannedAgent:
    """Both ends of an agent in memory: answers each request with the bytes that were laid down for its method."""

    def __init__(self, answers: dict[str, Callable[[dict[str, Any]], list[bytes]]] | None = None) -> None:
        self.answers = answers or {}
        self.received: list[dict[str, Any]] = []
        self.broken = False
        self._blocks: asyncio.Queue[bytes | None] = asyncio.Queue()

    def say(self, *blocks: bytes) -> None:
        for block in blocks:
            self._blocks.put_nowait(block)

    def close(self) -> None:
        self._blocks.put_nowait(None)

    async def send(self, data: bytes) -> None:
        if self.broken:
            raise anyio.BrokenResourceError
        for line in data.splitlines():
            message = orjson.loads(line)
            self.received.append(message)
            if message.get("method") in self.answers:
                self.say(*self.answers[message["method"]](message))

    async def aclose(self) -> None:
        self.close()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        block = await self._blocks.get()
        if block is None:
            raise StopAsyncIteration
        return block
