"""Runs one bash line in a sandbox, for setups, solutions and checks, and returns how it ended and what it printed.

Knows nothing of scenarios or verdicts.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from benchflow.sandbox.interface import Bind, Folders, LaunchSpec, Sandbox, SandboxedProcess
from benchflow.workspaces.snapshot import remove_tree
from benchflow.workspaces.toolchain import Toolchain

OUTPUT_KEPT = 1 << 20
"""Bytes at the end of a command's output that are kept."""
DRAIN_S = 2.0
"""How long the output of a command that has ended may stay open, held by something that it left behind."""


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """How a command ended."""

    exit_code: int | None
    """None: it was ended when its time was up."""
    output: str
    """stdout and stderr as they came, at most their last megabyte."""

    def tail(self, characters: int = 4_000) -> str:
        """Return the end of the output."""
        return self.output[-characters:].strip()


@contextmanager
def fresh_folders(workspace: Path, parent: Path) -> Iterator[Folders]:
    """Give a command an empty HOME and TMPDIR of a name that nobody can foresee; they are removed at the end."""
    root = Path(tempfile.mkdtemp(prefix="command-", dir=parent))
    try:
        folders = Folders(workspace=workspace, home=root / "home", tmp=root / "tmp")
        folders.home.mkdir()
        folders.tmp.mkdir()
        yield folders
    finally:
        remove_tree(root)


async def run_command(
    line: str,
    *,
    sandbox: Sandbox,
    folders: Folders,
    toolchain: Toolchain,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    binds: tuple[Bind, ...] = (),
) -> CommandResult:
    """Run a bash line in the workspace, without network, and end all that it started.

    Raises TrialError(`launch` or `sandbox`) if it could not be run at all.
    """
    inside = sandbox.inside(folders)
    spec = LaunchSpec(
        argv=("/bin/bash", "--noprofile", "--norc", "-c", f"exec 2>&1\n{line}"),
        env={
            "PATH": ":".join(toolchain.path_entries),
            "HOME": inside.home,
            "TMPDIR": inside.tmp,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "USER": "agent",
            "TERM": "dumb",
            "PYTHONHASHSEED": "0",
            **(env or {}),
        },
        folders=folders,
        binds=(*toolchain.binds, *binds),
        network="none",
    )
    process = await sandbox.start(spec)
    try:
        return await _follow(process, timeout_s)
    finally:
        with anyio.CancelScope(shield=True):  # nothing that the command started may outlive it
            await process.stop(0)


async def _follow(process: SandboxedProcess, timeout_s: float) -> CommandResult:
    output = bytearray()
    exit_code: int | None = None
    drained = anyio.Event()

    async def read() -> None:
        async for block in process.stdout:
            output.extend(block)
            del output[:-OUTPUT_KEPT]
        drained.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await process.stdin.aclose()
        with anyio.move_on_after(timeout_s):
            exit_code = await process.exited()
            with anyio.move_on_after(DRAIN_S):
                await drained.wait()
        tasks.cancel_scope.cancel()
    return CommandResult(exit_code=exit_code, output=output.decode("utf-8", "replace"))
