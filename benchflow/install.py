"""Installs an agent into a folder of its own, once for each state of its manifest and files."""

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from benchflow.errors import InputError, TrialError
from benchflow.installing.env import install_environment, registry_secrets, registry_settings
from benchflow.installing.line import InstallLine, OnLine, run_line
from benchflow.installing.needs import needed_folders
from benchflow.installing.provision import provide_runtimes, provide_tools
from benchflow.installing.runtimes import SYSTEM_PATH, Runtime, own_folders
from benchflow.log import LogFile
from benchflow.machine.home import Home
from benchflow.machine.locked import locked
from benchflow.manifest import Manifest
from benchflow.redact import Redactor
from benchflow.sandbox.interface import Bind, Sandbox
from benchflow.workspaces.snapshot import remove_tree

SCHEMA = 1
"""Version of the record of an install; where another stands, it is made anew."""
TAIL_LINES = 20


@dataclass(frozen=True, kw_only=True)
class Install:
    """An installed agent."""

    folder: Path
    """The agent's own folder, `BENCHFLOW_AGENT_DIR`: at the same path here and in every sandbox."""
    path_entries: tuple[str, ...]
    """The whole PATH that it is launched with."""
    binds: tuple[Bind, ...]
    """What it must see, read-only: its folder, the runtimes that it uses, and what its links lead to."""
    log: Path
    cached: bool
    """It was there already."""
    seconds: float
    """How long the install took, when it was made."""


@dataclass(frozen=True)
class Place:
    """The folder of one install: with the agent's own folder in it, the log, and the record."""

    root: Path

    @classmethod
    def of(cls, manifest: Manifest, home: Home) -> "Place":
        """Return the place for this state of the manifest and its files."""
        name = re.sub(r"[^A-Za-z0-9._]+", "-", manifest.name).strip("-.")[:40] or "agent"
        return cls(home.installs / f"{name}-{manifest.digest[:12]}")

    @property
    def agent(self) -> Path:
        return self.root / "agent"

    @property
    def log(self) -> Path:
        return self.root / "install.log"

    @property
    def record(self) -> Path:
        """Written last: without it, what is there is half an install. It is touched whenever the install is used."""
        return self.root / "install.json"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"


@dataclass(frozen=True, kw_only=True)
class Job:
    """An install that is to be made."""

    manifest: Manifest
    place: Place
    home: Home
    sandbox: Sandbox
    environ: Mapping[str, str]
    on_line: OnLine | None


async def ensure_installed(
    manifest: Manifest,
    *,
    home: Home,
    sandbox: Sandbox,
    environ: Mapping[str, str] = os.environ,
    reinstall: bool = False,
    on_line: OnLine | None = None,
) -> Install:
    """Return the install of this agent, made first if it is not there.

    `sandbox` shows paths as they are and has the network open; `environ` is the user's; `on_line` is given each line of
    output. Raises InputError for a runtime that is missing or a folder that cannot be written, and
    TrialError(`install`) with the log's end if the install fails, or takes longer than the manifest allows.
    """
    if not reinstall and (found := find_install(manifest, home)):
        return found
    place = Place.of(manifest, home)
    job = Job(manifest=manifest, place=place, home=home, sandbox=sandbox, environ=environ, on_line=on_line)
    try:
        async with locked(place.root / "lock"):
            if not reinstall and (found := _read(place, manifest)):
                return found  # another BenchFlow has made it meanwhile
            return await _make(job)
    except OSError as exc:
        raise InputError(
            f"{exc.filename or place.root}: {exc.strerror}; make room, or make it writable, or set BENCHFLOW_HOME to "
            "another folder"
        ) from exc


def find_install(manifest: Manifest, home: Home) -> Install | None:
    """Return the install of this agent, if it is there and whole."""
    return _read(Place.of(manifest, home), manifest)


async def _make(job: Job) -> Install:
    begun = time.monotonic()
    place = job.place
    await anyio.to_thread.run_sync(_clear, place)
    log = LogFile(place.log, Redactor(registry_secrets(registry_settings(job.environ))))
    try:
        run = partial(_run, job, log)
        runtimes = await provide_runtimes(job.manifest, home=job.home, environ=job.environ, run=run)
        await anyio.to_thread.run_sync(job.manifest.copy_into, place.agent)
        status = await run(job.manifest.install_cmd, place.agent, job.manifest.install_timeout, runtimes)
    finally:
        log.close()
        await anyio.to_thread.run_sync(remove_tree, place.tmp)
    if status != 0:
        raise TrialError("install", _failure(job, status))
    needs = await anyio.to_thread.run_sync(needed_folders, place.agent, runtimes, job.manifest.programs)
    record = {
        "schema": SCHEMA,
        "name": job.manifest.name,
        "version": job.manifest.version,
        "digest": job.manifest.digest,
        "folder": str(place.agent),
        "seconds": round(time.monotonic() - begun, 3),
        "runtimes": {runtime.name: {"version": runtime.version, "path": str(runtime.path)} for runtime in runtimes},
        "needs": [str(path) for path in needs],
    }
    written = place.record.with_suffix(".new")
    written.write_text(json.dumps(record, indent=1))
    written.replace(place.record)
    return _install(place, job.manifest, record, cached=False)


def _clear(place: Place) -> None:
    """Begin anew: nothing of an earlier or a failed install stays."""
    for file in (place.record, place.log):
        file.unlink(missing_ok=True)
    for folder in (place.agent, place.tmp):
        remove_tree(folder)
    place.agent.mkdir()


async def _run(
    job: Job, log: LogFile, line: str, folder: Path, timeout_s: float, runtimes: Sequence[Runtime] = ()
) -> int | None:
    folders = [*(str(runtime.folder) for runtime in runtimes), str(folder / "bin"), str(provide_tools(job.home))]
    variables = {"BENCHFLOW_AGENT_DIR": str(folder), "BENCHFLOW_PYTHON": sys.executable}
    if job.manifest.version:
        variables["BENCHFLOW_AGENT_VERSION"] = job.manifest.version
    for runtime in runtimes:
        if runtime.name == "python":
            variables["UV_PYTHON"] = str(runtime.path)
    env = install_environment(
        job.environ,
        home=job.home,
        folder=folder,
        tmp=job.place.tmp,
        path=os.pathsep.join([*folders, job.environ.get("PATH", os.pathsep.join(SYSTEM_PATH))]),
        variables=variables,
    )
    what = InstallLine(line=line, folder=folder, tmp=job.place.tmp, env=env, timeout_s=timeout_s)
    return await run_line(what, job.sandbox, log, job.on_line)


def _failure(job: Job, status: int | None) -> str:
    ended = (
        f"was not done after {job.manifest.install_timeout} s (`install_timeout`), and was killed"
        if status is None
        else f"ended with status {status}"
    )
    lines = job.place.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
    log = "\n".join(["", *(f"  {line}" for line in lines)])
    return f"{job.manifest.place}: `install_cmd` {ended}; its log, {job.place.log}, ends:{log}"


def _read(place: Place, manifest: Manifest) -> Install | None:
    """Return the install that the record tells of, if it is whole and what it needs is still there."""
    try:
        record = json.loads(place.record.read_bytes())
    except (OSError, ValueError):
        return None
    expected = {"schema": SCHEMA, "digest": manifest.digest, "folder": str(place.agent)}
    if not isinstance(record, dict) or any(record.get(key) != value for key, value in expected.items()):
        return None
    if not all(os.path.exists(path) for path in (place.agent, *record["needs"])):
        return None
    with contextlib.suppress(OSError):
        os.utime(place.record)  # for `gc`, which asks when it was used last
    return _install(place, manifest, record, cached=True)


def _install(place: Place, manifest: Manifest, record: Mapping[str, Any], *, cached: bool) -> Install:
    of_runtimes = [os.path.dirname(runtime["path"]) for runtime in record["runtimes"].values()]
    of_programs = [str(program.parent) for program in manifest.programs if program.parent.name == "bin"]
    path = dict.fromkeys([*of_programs, *of_runtimes, str(place.agent / "bin"), *SYSTEM_PATH])
    needs = [Path(path) for path in record["needs"]]
    own = own_folders() if _runs_on_own_python(manifest) else []
    folders = dict.fromkeys([place.agent, *needs, *own])
    return Install(
        folder=place.agent,
        path_entries=tuple(path),
        binds=tuple(Bind(source=folder) for folder in folders),
        log=place.log,
        cached=cached,
        seconds=record["seconds"],
    )


def _runs_on_own_python(manifest: Manifest) -> bool:
    return any("BENCHFLOW_PYTHON" in line for line in (manifest.launch_cmd, manifest.prepare_cmd or ""))
