"""The programs that a scenario brings: a Python with only the packages that `[tools]` names, made once and shared.

The agent, the solution and the checks find the same one on their PATH, outside of the workspace.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from benchflow.errors import InputError
from benchflow.machine.home import Home
from benchflow.sandbox.interface import Bind
from benchflow.scenario_file import Tools

INSTALL_TIMEOUT_S = 600
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")

_COMPLETE = "complete"
"""Name of the file in an environment that is written last, when the environment can be used."""


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """Where a scenario's programs are, on the host and, by its binds, at the same path inside of any sandbox."""

    folder: Path
    binds: tuple[Bind, ...]
    required: bool
    """The scenario names packages, so that agents need this Python before any other."""

    @property
    def path_entries(self) -> tuple[str, ...]:
        """What setup, solution and checks have as PATH."""
        return (str(self.folder / "bin"), *SYSTEM_PATH)

    def agent_path(self, entries: Sequence[str]) -> tuple[str, ...]:
        """Return an agent's PATH with this toolchain: first where the scenario needs its packages, else last.

        Last, because an agent may be started by a `python` of its own.
        """
        own = str(self.folder / "bin")
        return (own, *entries) if self.required else (*entries, own)


class Toolchains:
    """The toolchains of a run, each looked for once."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._found: dict[Tools, Toolchain] = {}

    async def of(self, tools: Tools) -> Toolchain:
        """Return the toolchain, made first where it is not there yet. Raises InputError if a package cannot be had."""
        if tools not in self._found:
            folder = self._home.tools / f"python-{_key(tools)}"
            if not (folder / _COMPLETE).exists():
                await anyio.to_thread.run_sync(_make_once, folder, tools.python, self._home)
            self._found[tools] = _toolchain(folder, required=bool(tools.python))
        return self._found[tools]


def _toolchain(folder: Path, *, required: bool) -> Toolchain:
    binds = [Bind(source=folder)]
    if not Path(sys.base_prefix).is_relative_to("/usr"):
        binds.append(Bind(source=Path(sys.base_prefix)))
    return Toolchain(folder=folder, binds=tuple(binds), required=required)


def _interpreter() -> Path:
    """Return the interpreter below any virtual environment that this process runs in."""
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def _key(tools: Tools) -> str:
    known = "\0".join([str(_interpreter()), sys.version, *sorted(tools.python)])
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def _make_once(folder: Path, packages: Sequence[str], home: Home) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another BenchFlow may be making it: wait for it
        if (folder / _COMPLETE).exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
        _make_environment(folder, _interpreter())
        if packages:
            _install(folder, packages, home)
        (folder / _COMPLETE).touch()


def _make_environment(folder: Path, python: Path) -> None:
    """Make a virtual environment by hand, which takes a millisecond: links to the interpreter and a settings file."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "bin").mkdir(parents=True)
    (folder / "lib" / f"python{version}" / "site-packages").mkdir(parents=True)
    for name in ("python", "python3", f"python{version}"):
        (folder / "bin" / name).symlink_to(python)
    settings = {"home": python.parent, "include-system-site-packages": "false", "version": sys.version.split()[0]}
    (folder / "pyvenv.cfg").write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))


def _install(folder: Path, packages: Sequence[str], home: Home) -> None:
    """Install packages as wheels, so that no code of theirs runs here; with pip where only pip knows the registry."""
    failures: list[str] = []
    for command in _installers(folder / "bin" / "python"):
        try:
            done = subprocess.run(
                [*command, *packages],
                env={**os.environ, "UV_CACHE_DIR": str(home.cache / "uv"), "NO_COLOR": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=INSTALL_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            failures.append(f"{command[0]}: not done after {INSTALL_TIMEOUT_S} s")
            continue
        if done.returncode == 0:
            return
        failures.append(done.stdout.decode(errors="replace").strip()[-2_000:])
    raise InputError(
        f"[tools] python: {', '.join(packages)} cannot be installed; check the names, the versions and the connection "
        f"to the package registry:\n" + "\n".join(failures)
    )


def _installers(python: Path) -> list[list[str]]:
    import uv

    found = [[uv.find_uv_bin(), "pip", "install", "--quiet", "--no-build", "--python", str(python)]]
    if importlib.util.find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
        found.append([*pip, "install", "--quiet", "--only-binary=:all:"])
    return found
