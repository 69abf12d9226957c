"""Which sandbox a run gets: found by doing it once, never by guessing from settings."""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchflow.errors import InputError, TrialError
from benchflow.sandbox.bubblewrap import PROGRAM, BubblewrapSandbox
from benchflow.sandbox.client import Helper
from benchflow.sandbox.diagnose import Finding, Machine, findings, remedy
from benchflow.sandbox.interface import Folders, LaunchSpec, Sandbox
from benchflow.sandbox.process import ProcessSandbox

Wish = Literal["auto", "bubblewrap", "process"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A sandbox, to be entered with `async with`, and why it was taken."""

    sandbox: Sandbox
    reason: str
    """For people, without the sandbox's name: `it works here`."""


async def choose_sandbox(wish: Wish) -> Choice:
    """Return what was wished for. Raises InputError, with the remedy, where bubblewrap was and does not work."""
    if wish == "process":
        return Choice(sandbox=ProcessSandbox(), reason="as asked for")
    helper = Helper()
    failure = await try_bubblewrap(helper)
    if failure is None:
        return Choice(sandbox=BubblewrapSandbox(helper), reason="it works here")
    if wish == "auto":
        return Choice(sandbox=ProcessSandbox(helper), reason=f"bubblewrap does not work here: {failure}")
    await helper.aclose()
    raise InputError(f"--sandbox bubblewrap: {failure}\n{remedy(failure, Machine.read())}")


async def try_bubblewrap(helper: Helper) -> str | None:
    """Run `true` once under the whole profile, a socket inside included; return why it failed, or None."""
    if not sys.platform.startswith("linux"):
        return "it needs Linux"
    if not shutil.which(PROGRAM):
        return f"there is no `{PROGRAM}` on PATH"
    return await try_sandbox(BubblewrapSandbox(helper))


async def try_sandbox(sandbox: Sandbox) -> str | None:
    """Run `true` once; return why it failed, or None."""
    with tempfile.TemporaryDirectory(prefix="benchflow-") as folder:
        folders = Folders(workspace=Path(folder, "workspace"), home=Path(folder, "home"), tmp=Path(folder, "tmp"))
        for each in (folders.workspace, folders.home, folders.tmp):
            each.mkdir()
        reserved = sandbox.socket("tcp", 0, "gateway")
        spec = LaunchSpec(argv=("true",), env={"PATH": "/usr/bin:/bin"}, folders=folders, sockets=(reserved,))
        try:
            process = await sandbox.start(spec)
            status = await process.exited()
            await process.stop(0)
        except TrialError as error:
            return str(error)
        for each in process.sockets:
            each.close()
        return None if status == 0 else f"`true` ended with {status}"


async def diagnose() -> tuple[Finding, ...]:
    """Try both sandboxes, and return what this machine allows, with what would help."""
    helper = Helper()
    try:
        failure = await try_bubblewrap(helper)
        plain = await try_sandbox(ProcessSandbox(helper))
    finally:
        await helper.aclose()
    process = Finding(subject="process", ok=plain is None, detail=plain or "a trial run worked")
    return (*findings(Machine.read(), failure), process)
