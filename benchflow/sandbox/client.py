"""BenchFlow's side of the helper: starts it, hands launches to its supervisors, ends it with all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import anyio

from benchflow.errors import TrialError
from benchflow.sandbox.child import Child, Streams
from benchflow.sandbox.helper import limits, wire
from benchflow.sandbox.interface import Inside, Isolation, LaunchSpec
from benchflow.sandbox.link import Link, send
from benchflow.sandbox.pipes import Pipe, PipeReader, PipeWriter, make_pipe

_BOOT = "import sys; sys.path.append(sys.argv[2]); from helper.server import main; main()"
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What an interpreter may need to start at all. Nothing of it reaches a launched program."""
_STARTS_WITHIN_S = 60.0
_LEAVES_WITHIN_S = 10.0


class LaunchFailed(Exception):
    """The program could not be started; nothing of it is left."""

    def __init__(self, report: wire.Report, stderr: str) -> None:
        super().__init__(report.get("text", ""))
        self.report = report
        self.stderr = stderr
        """What was written there, if it is a stream."""


class Helper:
    """The helper process of one run, its supervisors, and every child started through them."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._links: list[Link] = []
        """Most recently used last: few supervisors serve many launches, and their memory stays warm."""
        self._children: set[Child] = set()

    def start(self) -> None:
        """Start the process without waiting for it; what is handed to it meanwhile is kept. May be called again."""
        if self._process and self._process.poll() is None:
            return
        if self._channel:
            self._channel.close()
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        with theirs:
            self._process = _start_interpreter(theirs.fileno())
        limits.raise_open_files()  # several descriptors a child are held here; children keep the limit of before

    async def launch(self, plan: wire.Plan, spec: LaunchSpec, isolation: Isolation, inside: Inside) -> Child:
        """Start a process and wait until it executes. Raises LaunchFailed, or TrialError(`sandbox`)."""
        try:
            child = await self._hand_over(plan, spec, isolation, inside)
        except OSError as error:
            raise TrialError("sandbox", f"cannot start {plan['argv'][0]}: {error.strerror}") from error
        try:
            with anyio.fail_after(_STARTS_WITHIN_S):
                report = await child.began()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await child.stop(0)
            if isinstance(error, TimeoutError):
                raise TrialError("sandbox", f"{plan['argv'][0]} did not start in {_STARTS_WITHIN_S:.0f} s") from None
            raise
        if report["event"] == "failed":
            await child.stop(0)
            written = b"".join([block async for block in child.stderr]) if child.stderr else b""
            raise LaunchFailed(report, written.decode(errors="replace").strip())
        return child

    async def aclose(self) -> None:
        """Kill every tree that is left, then end the process."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for child in tuple(self._children):
                    group.start_soon(_kill, child)
            for link in self._links:
                link.close()
            if self._channel and self._process:
                await _leave(self._channel, self._process)
        self._channel = self._process = None
        self._links.clear()

    async def _hand_over(self, plan: wire.Plan, spec: LaunchSpec, isolation: Isolation, inside: Inside) -> Child:
        self.start()
        streams, far_ends = _open_streams(spec.stderr)
        try:
            link = await self._take_link()
            child = Child(link, streams, isolation, inside)
            self._children.add(child)
            child.at_end = lambda: self._forget(child, link)
            await link.launch(plan, far_ends)
        finally:
            for fd in far_ends:
                if fd != spec.stderr:
                    os.close(fd)
        return child

    def _forget(self, child: Child, link: Link) -> None:
        self._children.discard(child)
        self._links.append(link)

    async def _take_link(self) -> Link:
        """Return the connection to a supervisor that is free, a new one if there is none."""
        while self._links:
            link = self._links.pop()
            if link.idle:
                return link
            link.close()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                await self._ask_for_supervisor(theirs)
        except BaseException:
            ours.close()
            raise
        return Link(ours)

    async def _ask_for_supervisor(self, control: socket.socket) -> None:
        assert self._channel
        try:
            await send(self._channel, wire.FORK, [control.fileno()])
        except ConnectionError:  # somebody killed it: what it had started is dead, the next is not affected
            assert self._process
            self._process.wait()
            self.start()
            await send(self._channel, wire.FORK, [control.fileno()])


def _start_interpreter(channel: int) -> subprocess.Popen[bytes]:
    """Execute a bare interpreter: its own session, so that the terminal's ctrl-C does not reach it."""
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, str(channel), str(Path(__file__).parent)]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[channel],
        env={name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ},
        cwd="/",
        start_new_session=True,
    )


async def _kill(child: Child) -> None:
    with contextlib.suppress(TrialError):  # what cannot be killed now is left to its supervisor, which goes on trying
        await child.stop(0)


async def _leave(channel: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """Tell the helper that nothing more comes, and wait until it has gone."""
    with contextlib.suppress(OSError):
        channel.shutdown(socket.SHUT_WR)
        with anyio.move_on_after(_LEAVES_WITHIN_S):
            await asyncio.get_running_loop().sock_recv(channel, 1)
    channel.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1)
        return
    process.kill()
    process.wait()


def _open_streams(stderr: int | None) -> tuple[Streams, list[int]]:
    """Open the pipes; return BenchFlow's ends and the process's: stdin, stdout and stderr."""
    pipes: list[Pipe] = []
    try:
        pipes.extend(make_pipe() for _ in range(3 if stderr is None else 2))
    except OSError:
        for pipe in pipes:
            os.close(pipe.read)
            os.close(pipe.write)
        raise
    stdin, stdout, *own = pipes
    reader = PipeReader(own[0].read) if own else None
    streams = Streams(stdin=PipeWriter(stdin.write), stdout=PipeReader(stdout.read), stderr=reader)
    return streams, [stdin.read, stdout.write, own[0].write if own else stderr or 0]
