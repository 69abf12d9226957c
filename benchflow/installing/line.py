"""Runs one line of an install in a sandbox: logged as it goes, killed with all that it started when its time is up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio

from benchflow.log import LogFile
from benchflow.sandbox.interface import Folders, LaunchSpec, Sandbox, SandboxedProcess

DRAIN_S = 2.0
"""How long output may stay open after the end, held by something that was left behind."""
_LONGEST_LINE = 65_536

OnLine = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class InstallLine:
    """A bash line, with where and with what it runs."""

    line: str
    folder: Path
    """Its working directory; HOME is `.home` in it."""
    tmp: Path
    env: Mapping[str, str]
    timeout_s: float


async def run_line(what: InstallLine, sandbox: Sandbox, log: LogFile, on_line: OnLine | None = None) -> int | None:
    """Run the line and return its exit status; None: it was killed when its time was up.

    The sandbox must show paths as they are, and have the network open. Raises TrialError(`launch` or `sandbox`).
    """
    home = what.folder / ".home"
    home.mkdir(exist_ok=True)
    what.tmp.mkdir(parents=True, exist_ok=True)
    spec = LaunchSpec(
        argv=("bash", "--noprofile", "--norc", "-c", f"exec 2>&1\n{what.line}"),
        env=what.env,
        folders=Folders(workspace=what.folder, home=home, tmp=what.tmp),
        cwd=str(what.folder),
        network="open",
    )
    log.write(f"$ {what.line.strip()}\n".encode())
    process = await sandbox.start(spec)
    try:
        return await _follow(process, what.timeout_s, _Lines(log, on_line))
    finally:
        with anyio.CancelScope(shield=True):  # a cancelled install must not go on
            await process.stop(0)


async def _follow(process: SandboxedProcess, timeout_s: float, lines: "_Lines") -> int | None:
    status: int | None = None
    drained = anyio.Event()

    async def read() -> None:
        async for block in process.stdout:
            lines.add(block)
        drained.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await process.stdin.aclose()  # whoever asks a question gets no answer, instead of waiting for one
        with anyio.move_on_after(timeout_s):
            status = await process.exited()
            with anyio.move_on_after(DRAIN_S):
                await drained.wait()
        tasks.cancel_scope.cancel()
    lines.close()
    return status


class _Lines:
    """Cuts output into lines, for the log and for whoever shows progress."""

    def __init__(self, log: LogFile, on_line: OnLine | None) -> None:
        self._log = log
        self._on_line = on_line
        self._rest = b""

    def add(self, block: bytes) -> None:
        whole, newline, self._rest = (self._rest + block).rpartition(b"\n")
        if newline:
            self._take(whole + newline)
        if len(self._rest) > _LONGEST_LINE:
            self.close()

    def close(self) -> None:
        if self._rest:
            self._take(self._rest + b"\n")
        self._rest = b""

    def _take(self, lines: bytes) -> None:
        self._log.write(lines)
        if self._on_line:
            for line in lines.splitlines():
                self._on_line(line.decode("utf-8", "replace").rstrip())
