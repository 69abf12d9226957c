"""An agent that is only a command line: a manifest made in memory, for a command of this machine."""

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchflow.errors import InputError
from benchflow.manifest import Manifest, manifest_of_code

_SHELL = frozenset("|&;<>()$`\\*?[]{}~#!\n")
"""Where one of these occurs, the command is bash and not just words, and is left as it is."""
_STARTERS = frozenset({"env", "exec", "bash", "sh", "node", "npx", "uvx", "uv", "run", "bunx", "pipx"})


def manifest_of_command(command: str, *, cwd: Path, environ: Mapping[str, str], name: str | None = None) -> Manifest:
    """Make the manifest of an unregistered agent.

    The command runs in the trial's workspace, so files that it names relative to `cwd` are named absolutely; what it
    needs of this machine is kept in `programs`. Without a `name` one is made of the command. Raises InputError for a
    command that is no bash words at all.
    """
    try:
        words = shlex.split(command)
    except ValueError as exc:
        raise InputError(f"--command {command!r}: {exc}") from exc
    if not words:
        raise InputError("--command: name the program that speaks ACP on its stdin and stdout")
    files = {word: Path(os.path.abspath(cwd / word)) for word in words if (cwd / word).is_file()}
    simple = _SHELL.isdisjoint(command)
    launch_cmd = shlex.join(str(files.get(word, word)) for word in words) if simple else command
    programs = (*_executable(words, environ), *files.values())
    manifest = manifest_of_code(
        {
            "name": name or _name(words),
            "install_cmd": "true",
            "launch_cmd": launch_cmd,
            "programs": [str(program) for program in programs],
        },
        origin="--command",
    )
    digest = hashlib.sha256(manifest.digest.encode())
    for file in files.values():
        digest.update(file.read_bytes())
    return manifest.model_copy(update={"digest": digest.hexdigest()})


def _executable(words: list[str], environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield where the program is that the command starts, if it is found on PATH."""
    for word in words:
        if "=" in word or word in ("env", "exec"):
            continue
        # A version manager's shims work only beside that manager; the real program is further on, or nowhere.
        folders = [folder for folder in environ.get("PATH", "").split(":") if Path(folder).name != "shims"]
        found = None if "/" in word else shutil.which(word, path=":".join(folders))
        if found:
            yield Path(found).absolute()
        return


def _name(words: list[str]) -> str:
    """Return a short name for the command: that of the module, script or program that it is about."""
    for word in words:
        stem = Path(word).name.split(".")[0] if "/" in word or "." in word else word
        plain = not word.startswith("-") and "=" not in word
        if plain and stem not in _STARTERS and not re.fullmatch(r"python[0-9.]*", Path(word).name):
            return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "command"
    return "command"
