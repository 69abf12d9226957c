"""What this machine can do: found by doing it, each line with what would help where something is missing."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, CompletedProcess
from typing import Literal

import anyio
import anyio.to_thread

from benchflow import __version__
from benchflow.installing.runtimes import find_node, find_python, how_to_get
from benchflow.installing.versions import Constraint
from benchflow.machine.disk import folder_bytes
from benchflow.machine.home import Home
from benchflow.report.numbers import size
from benchflow.sandbox.choose import diagnose

Area = Literal["machine", "sandbox", "programs", "runtimes", "storage", "network"]

_ANSWER_S = 20.0
"""How long a program may take to say its version, or a registry to answer."""
_LOW_BYTES = 2_000_000_000
"""Free space below which installs of agents fail sooner or later."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing that was looked at."""

    area: Area
    subject: str
    ok: bool
    """False: something that some agents or runs need is not there."""
    detail: str
    remedy: str | None = None
    """What would help; None where nothing has to be done."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program that BenchFlow, or an agent's install, starts."""

    name: str
    needed_for: str
    remedy: str


PROGRAMS = (
    Program(name="bash", needed_for="starting agents", remedy="install bash"),
    Program(name="git", needed_for="scenarios with a git history", remedy="install git"),
)
_PYTHONS = ("3.12", "3.13")
"""Versions that agents ask for, as a rule."""
_NODE = ">=22"


async def examine(
    environ: Mapping[str, str], *, out: Path, network: bool = False, programs: Sequence[Program] = PROGRAMS
) -> list[Line]:
    """Look at everything. `out` is where runs are stored; `network` also asks the package registries."""
    home = Home.find(environ)
    lines = [*_machine()]
    lines += [
        Line(area="sandbox", subject=finding.subject, ok=finding.ok, detail=finding.detail, remedy=finding.remedy)
        for finding in await diagnose()
    ]
    lines += [await _program(program) for program in programs]
    lines.append(await _uv())
    lines += await anyio.to_thread.run_sync(lambda: [*_runtimes(environ, home), *_storage(home, out)])
    if network:
        lines += await _registries()
    return lines


def can_run(lines: Sequence[Line]) -> bool:
    """Tell whether anything can be run here at all: some sandbox works, and there is a shell to start agents with."""
    works = {line.subject for line in lines if line.ok}
    return "bash" in works and not works.isdisjoint({"bubblewrap", "process"})


def _machine() -> Iterator[Line]:
    python = f"{platform.python_version()} ({sys.executable})"
    yield Line(area="machine", subject="BenchFlow", ok=True, detail=__version__)
    yield Line(area="machine", subject="Python", ok=True, detail=python)
    yield Line(area="machine", subject="system", ok=True, detail=platform.platform())
    yield Line(area="machine", subject="processors", ok=True, detail=str(os.cpu_count()))


async def _program(program: Program) -> Line:
    path = shutil.which(program.name)
    if path is None:
        detail = f"not found; needed for {program.needed_for}"
        return Line(area="programs", subject=program.name, ok=False, detail=detail, remedy=program.remedy)
    return Line(area="programs", subject=program.name, ok=True, detail=f"{await _version(path)} ({path})")


async def _uv() -> Line:
    """uv is a dependency, whose program may still be missing for this platform."""
    import uv

    try:
        path = uv.find_uv_bin()
    except FileNotFoundError:
        detail = "its program is missing; needed for agents from PyPI"
        return Line(area="programs", subject="uv", ok=False, detail=detail, remedy="pip install --force-reinstall uv")
    return Line(area="programs", subject="uv", ok=True, detail=f"{await _version(path)} ({path})")


def _runtimes(environ: Mapping[str, str], home: Home) -> Iterator[Line]:
    """What an agent gets that asks for a runtime."""
    for version in _PYTHONS:
        found = find_python(Constraint.parse(version), environ)
        detail = f"{found.version} ({found.path})" if found else "not found; some agents need it"
        remedy = None if found else how_to_get("python", version)
        yield Line(area="runtimes", subject=f"Python {version}", ok=found is not None, detail=detail, remedy=remedy)
    node = find_node(Constraint.parse(_NODE), environ, home)
    detail = f"{node.version} ({node.path})" if node else "not found; fetched from a registry when an agent needs it"
    yield Line(area="runtimes", subject=f"Node {_NODE}", ok=True, detail=detail)


def _storage(home: Home, out: Path) -> Iterator[Line]:
    for subject, folder in (("BenchFlow's folder", home.root), ("runs", out)):
        yield _space(subject, folder)
    for name in ("installs", "cache", "runtimes", "tools", "scratch"):
        folder: Path = getattr(home, name)
        if folder.is_dir():
            yield Line(area="storage", subject=name, ok=True, detail=f"{size(folder_bytes(folder))} in {folder}")


def _space(subject: str, folder: Path) -> Line:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(existing).free
    detail = f"{folder.absolute()}, {size(free)} free"
    if not os.access(existing, os.W_OK):
        remedy = "set BENCHFLOW_HOME, or --out for runs, to a folder that you may write to"
        return Line(area="storage", subject=subject, ok=False, detail=f"{detail}, not writable", remedy=remedy)
    if free < _LOW_BYTES:
        remedy = "make room; `benchflow gc --dry-run` says what BenchFlow could free"
        return Line(area="storage", subject=subject, ok=False, detail=detail, remedy=remedy)
    return Line(area="storage", subject=subject, ok=True, detail=detail)


async def _registries() -> list[Line]:
    """Ask each registry for one package, the way installs do."""
    import uv

    lines: list[Line] = []
    commands: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="benchflow-") as folder:
        target = ["--target", folder]
        commands["PyPI"] = [uv.find_uv_bin(), "pip", "install", "--dry-run", "--no-cache", "--quiet", *target, "uv"]
        if npm := shutil.which("npm"):
            commands["npm"] = [npm, "view", "npm", "version"]
        for subject, command in commands.items():
            failure = await _failure(command)
            remedy = f"check the connection and the {subject} settings of this machine" if failure else None
            lines.append(
                Line(
                    area="network",
                    subject=subject,
                    ok=failure is None,
                    detail=failure or "the registry answers",
                    remedy=remedy,
                )
            )
    return lines


async def _failure(command: list[str]) -> str | None:
    done = await _run(command)
    if done is None:
        return f"no answer within {_ANSWER_S:g} s"
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return None if done.returncode == 0 else (lines[-1] if lines else f"ended with {done.returncode}")


async def _version(path: str) -> str:
    done = await _run([path, "--version"])
    text = done.stdout.decode(errors="replace").strip() if done else ""
    return text.splitlines()[0] if text else "version unknown"


async def _run(command: list[str]) -> CompletedProcess[bytes] | None:
    """Run a program to its end; None: it took too long, or cannot be run."""
    try:
        with anyio.fail_after(_ANSWER_S):
            return await anyio.run_process(command, check=False, stdin=DEVNULL)
    except (TimeoutError, OSError):
        return None
