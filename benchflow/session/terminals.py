"""The client capability `terminal`: commands run for the agent, each a process of the trial's sandbox."""

import re
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeGuard

import anyio

from benchflow.errors import TrialError
from benchflow.sandbox.interface import SandboxedProcess
from benchflow.session.background import Background
from benchflow.session.rpc import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RpcError
from benchflow.session.serving import Handler

StartCommand = Callable[[tuple[str, ...], Mapping[str, str], str | None], Awaitable[SandboxedProcess]]
"""Starts argv in the trial's sandbox with more variables, in a folder as the agent sees it; None: the workspace."""

_MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_MAX_TERMINALS = 64
_KILL_GRACE_S = 0.2
_DRAIN_S = 0.5
"""A child that outlives the command may hold its output open: what is there by then is all."""
_PLAIN_COMMAND = re.compile(r"[\w./+@:-]+")


class Output:
    """The last bytes of a command's output, in time linear in what it prints."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._truncated = False

    def add(self, block: bytes) -> None:
        self._kept += block
        if len(self._kept) > 2 * self._limit:
            self._cut()

    def read(self) -> tuple[str, bool]:
        """Return the text, cut at a character's boundary, and whether its beginning is missing."""
        if len(self._kept) > self._limit:
            self._cut()
        return self._kept.decode("utf-8", "replace"), self._truncated

    def _cut(self) -> None:
        start = len(self._kept) - self._limit
        while start < len(self._kept) and self._kept[start] & 0xC0 == 0x80:
            start += 1
        del self._kept[:start]
        self._truncated = True


class Terminal:
    """One command, its output, and its end."""

    def __init__(self, process: SandboxedProcess, limit: int) -> None:
        self.output = Output(limit)
        self.ended = anyio.Event()
        self.status: dict[str, Any] | None = None
        """None while it runs."""
        self._process = process
        self._collected = anyio.Event()

    async def follow(self) -> None:
        """Collect the output until the command ends, then end what it left behind, which may hold the stream open."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._collect)
            await self._process.stdin.aclose()
            status = _exit_status(await self._process.exited())
            with anyio.move_on_after(_DRAIN_S):
                await self._collected.wait()
            await self._process.stop(0)
            await self._collected.wait()
            self.status = status
            self.ended.set()

    async def kill(self) -> None:
        await self._process.stop(_KILL_GRACE_S)

    async def _collect(self) -> None:
        async for block in self._process.stdout:
            self.output.add(block)
        self._collected.set()


class Terminals:
    """Serves `terminal/*`. Whoever opens it closes it: `aclose` ends every command."""

    def __init__(self, start: StartCommand) -> None:
        self._start = start
        self._terminals: dict[str, Terminal] = {}
        self._count = 0
        self._background = Background(lambda _: None)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {
            "terminal/create": self.create,
            "terminal/output": self.output,
            "terminal/wait_for_exit": self.wait_for_exit,
            "terminal/kill": self.kill,
            "terminal/release": self.release,
        }

    async def aclose(self) -> None:
        """End all commands."""
        terminals, self._terminals = list(self._terminals.values()), {}
        for terminal in terminals:
            await terminal.kill()
        await self._background.aclose()

    async def create(self, params: Any) -> dict[str, Any]:
        """Start a command; return its id at once."""
        params = params if isinstance(params, dict) else {}
        if len(self._terminals) >= _MAX_TERMINALS:
            raise RpcError(INVALID_PARAMS, f"{_MAX_TERMINALS} terminals are open: release one")
        cwd = params.get("cwd")
        try:
            process = await self._start(_argv(params), _variables(params), cwd if isinstance(cwd, str) else None)
        except TrialError as error:
            raise RpcError(INTERNAL_ERROR, str(error)) from error
        limit = params.get("outputByteLimit")
        self._count += 1
        terminal_id = f"term_{self._count}"
        terminal = Terminal(process, min(limit, _MAX_OUTPUT_BYTES) if _is_count(limit) else _MAX_OUTPUT_BYTES)
        self._terminals[terminal_id] = terminal
        self._background.start(terminal.follow())
        return {"terminalId": terminal_id}

    def output(self, params: Any) -> dict[str, Any]:
        """Return the output so far."""
        terminal = self._find(params)
        text, truncated = terminal.output.read()
        return {"output": text, "truncated": truncated, "exitStatus": terminal.status}

    async def wait_for_exit(self, params: Any) -> dict[str, Any]:
        """Return the exit status when the command has ended."""
        terminal = self._find(params)
        await terminal.ended.wait()
        return dict(terminal.status or {})

    async def kill(self, params: Any) -> dict[str, Any]:
        """End the command; its output stays."""
        await self._find(params).kill()
        return {}

    async def release(self, params: Any) -> dict[str, Any]:
        """End the command and forget it."""
        terminal = self._find(params)
        self._terminals = {key: value for key, value in self._terminals.items() if value is not terminal}
        await terminal.kill()
        return {}

    def _find(self, params: Any) -> Terminal:
        terminal_id = params.get("terminalId") if isinstance(params, dict) else None
        terminal = self._terminals.get(terminal_id) if isinstance(terminal_id, str) else None
        if terminal is None:
            raise RpcError(NOT_FOUND, f"no terminal {terminal_id!r}")
        return terminal


def _argv(params: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what to start, both outputs in one stream. A command without args may be a whole shell line."""
    command = params.get("command")
    args = params.get("args")
    if not isinstance(command, str) or not command:
        raise RpcError(INVALID_PARAMS, "command is no text")
    args = [str(arg) for arg in args] if isinstance(args, list) else []
    if not args and not _PLAIN_COMMAND.fullmatch(command):
        return "/bin/sh", "-c", f"exec 2>&1\n{command}"
    return "/bin/sh", "-c", 'exec "$0" "$@" 2>&1', command, *args


def _variables(params: Mapping[str, Any]) -> dict[str, str]:
    entries = params.get("env")
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return {str(entry["name"]): str(entry.get("value", "")) for entry in entries if entry.get("name")}


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _exit_status(status: int) -> dict[str, Any]:
    if status >= 0:
        return {"exitCode": status, "signal": None}
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    return {"exitCode": None, "signal": name}
