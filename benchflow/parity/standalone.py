"""An agent as its own users run it: its command and its settings, in a user's environment, without a sandbox."""

import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import Process

from benchflow.errors import TrialError
from benchflow.hosting.backend import OwnBackend
from benchflow.hosting.launch import (
    LaunchValues,
    canonical_variables,
    expand,
    launch_argv,
    required_values,
    write_home,
)
from benchflow.install import Install
from benchflow.manifest import Manifest
from benchflow.sandbox.interface import Folders
from benchflow.workspaces.toolchain import Toolchain

GRACE_S = 2.0
"""How long an agent may take to leave once its stdin is closed, and again once it got SIGTERM: as long as inside."""
_OURS = re.compile(r"BENCHFLOW_[A-Z0-9_]+")
_SMALL = 1 << 18
"""Bytes up to which a file of the agent's folder is searched for the variables that it wants."""


@dataclass(frozen=True, kw_only=True)
class Standalone:
    """What an agent needs to run by itself."""

    manifest: Manifest
    install: Install
    values: LaunchValues
    folders: Folders
    environ: Mapping[str, str]
    """The user's, of which the agent is given what its manifest requires."""
    toolchain: Toolchain
    backend: OwnBackend | None = None

    @property
    def variables(self) -> dict[str, str]:
        """What its routing may be written with."""
        known = canonical_variables(self.manifest, self.values)
        return self.backend.variables(known) if self.backend else known

    def environment(self) -> dict[str, str]:
        """Return a user's environment, and beside it only what routes the agent."""
        manifest, variables = self.manifest, self.variables
        wanted = named_variables(manifest)
        return {
            "PATH": ":".join(self.toolchain.agent_path(self.install.path_entries)),
            "HOME": str(self.folders.home),
            "TMPDIR": str(self.folders.tmp),
            "PWD": str(self.folders.workspace),
            "LANG": "C.UTF-8",
            "USER": "user",
            "LOGNAME": "user",
            "SHELL": "/bin/bash",
            "TERM": "dumb",
            **required_values(manifest, self.environ),
            **{name: variables[name] for name in wanted & variables.keys()},
            **{own: variables[name] for name, own in manifest.env_mapping.items() if name in variables},
            **{name: expand(text, variables, f"{manifest.place}: `env.{name}`") for name, text in manifest.env.items()},
        }

    @asynccontextmanager
    async def running(self, stderr: Path) -> AsyncIterator[Process]:
        """Start it; at the end, end it and all that it started. Raises TrialError(`launch`)."""
        write_home(self.manifest, self.variables, self.folders.home)
        if self.backend:
            self.backend.copy_files(self.folders.home)
        argv = launch_argv(self.manifest, self.variables)
        with stderr.open("wb") as errors:
            try:
                process = await anyio.open_process(
                    argv,
                    env=self.environment(),
                    cwd=self.folders.workspace,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError as exc:
                raise TrialError("launch", f"{argv[0]}: {exc.strerror}") from exc
        try:
            yield process
        finally:
            with anyio.CancelScope(shield=True):  # an interrupted comparison must not leak agents
                await _end(process)
                end_strays(self.folders.home)


def named_variables(manifest: Manifest) -> frozenset[str]:
    """Return the variables of BenchFlow's that the agent's command or the files beside its manifest name."""
    texts = [manifest.launch_cmd, manifest.prepare_cmd or "", *manifest.files.values()]
    files = [file.path for file in manifest.source_files()] if manifest.source is None else []
    texts += [path.read_text("utf-8", "replace") for path in files if _is_searched(path)]
    return frozenset(name for text in texts for name in _OURS.findall(text))


def _is_searched(path: Path) -> bool:
    return path.name != "manifest.toml" and path.is_file() and path.stat().st_size <= _SMALL


async def _end(process: Process) -> None:
    """End of file, a grace, SIGTERM, a grace, SIGKILL, to the whole process group."""
    if process.stdin is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with anyio.move_on_after(GRACE_S):
            await process.wait()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    await process.aclose()


def end_strays(home: Path) -> None:
    """Kill what the agent has left behind in sessions of their own: whatever has its HOME in its environment."""
    if not sys.platform.startswith("linux"):
        return
    mark = f"HOME={home}".encode()
    for place in Path("/proc").iterdir():
        if not place.name.isdecimal():
            continue
        try:
            entries = (place / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended, or is somebody else's
        if mark in entries:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(place.name), signal.SIGKILL)
