"""For tests of and in sandboxes: folders, specs, and processes that show whether they are alive."""

import asyncio
import fcntl
import functools
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from benchflow.sandbox.bubblewrap import BubblewrapSandbox
from benchflow.sandbox.choose import try_bubblewrap
from benchflow.sandbox.client import Helper
from benchflow.sandbox.helper import processes
from benchflow.sandbox.interface import Bind, ByteReader, Folders, LaunchSpec, Sandbox, SandboxedProcess
from benchflow.sandbox.process import ProcessSandbox

LIMIT_S = 60
PATH = "/usr/local/bin:/usr/bin:/bin"
DAEMON = "setsid sh -c 'exec 9>lock; flock 9; echo held; sleep 1000' &"
"""Shell: leave behind, in a session of its own, a process that holds `lock` in the working folder, and stdout open."""


@functools.cache
def bubblewrap_failure() -> str | None:
    """Return why bubblewrap does not work on this machine."""

    async def attempt() -> str | None:
        helper = Helper()
        try:
            return await try_bubblewrap(helper)
        finally:
            await helper.aclose()

    return asyncio.run(attempt())


needs_bubblewrap = pytest.mark.skipif(bubblewrap_failure() is not None, reason=f"bubblewrap: {bubblewrap_failure()}")
BOTH = ("process", pytest.param("bubblewrap", marks=needs_bubblewrap))


@asynccontextmanager
async def entered(kind: str) -> AsyncIterator[Sandbox]:
    """Give a sandbox of a kind, for at most `LIMIT_S`."""
    with anyio.fail_after(LIMIT_S):
        async with ProcessSandbox() if kind == "process" else BubblewrapSandbox() as sandbox:
            yield sandbox


def make_folders(parent: Path) -> Folders:
    """Make the folders of one process."""
    folders = Folders(workspace=parent / "workspace", home=parent / "home", tmp=parent / "tmp")
    for folder in (folders.workspace, folders.home, folders.tmp):
        folder.mkdir(parents=True, exist_ok=True)
    return folders


def make_spec(parent: Path, *argv: str, env: dict[str, str] | None = None, **fields: Any) -> LaunchSpec:
    """Return a spec with folders below `parent`."""
    return LaunchSpec(argv=argv, env={"PATH": PATH, **(env or {})}, folders=make_folders(parent), **fields)


def shell(parent: Path, script: str, *arguments: str, **fields: Any) -> LaunchSpec:
    """Return a spec that runs a shell script."""
    return make_spec(parent, "sh", "-c", script, "sh", *arguments, **fields)


def python(parent: Path, script: str, *arguments: str, binds: tuple[Bind, ...] = (), **fields: Any) -> LaunchSpec:
    """Return a spec that runs a Python script with this interpreter."""
    prefixes = {Path(sys.prefix), Path(sys.base_prefix)}
    shown = tuple(Bind(source=prefix) for prefix in prefixes if not prefix.is_relative_to("/usr"))
    return make_spec(parent, sys.executable, "-I", "-c", script, *arguments, binds=(*shown, *binds), **fields)


async def read_all(stream: ByteReader | None) -> str:
    """Read to the end."""
    assert stream is not None
    return b"".join([block async for block in stream]).decode()


async def read_until(stream: ByteReader, text: str) -> str:
    """Read until `text` has come; the rest is lost."""
    received = ""
    async for block in stream:
        received += block.decode()
        if text in received:
            return received
    raise AssertionError(f"{text!r} never came: {received!r}")


async def outcome(process: SandboxedProcess) -> tuple[int, str, str]:
    """Let a process end by itself; return its exit status, stdout and stderr."""
    await process.stdin.aclose()
    stdout, stderr = await read_all(process.stdout), await read_all(process.stderr)
    return await process.exited(), stdout, stderr


class NewChildren:
    """The child processes that this process got since the value was made."""

    def __init__(self) -> None:
        self._before = set(processes.children_of(os.getpid()))

    def pids(self) -> list[int]:
        """Return those that are there now."""
        return [pid for pid in processes.children_of(os.getpid()) if pid not in self._before]


def is_held(lock: Path) -> bool:
    """Tell whether a living process holds the lock."""
    fd = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
