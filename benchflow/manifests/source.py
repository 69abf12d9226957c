"""The files that belong to an agent: those beside its manifest, or those of its local checkout."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import InputError

_NOT_INSTALLED = frozenset({"evidence.json", "parity.json", "fixtures"})
"""What BenchFlow itself writes beside a manifest: it says something of the agent, and is no part of it."""
_NEVER = frozenset({".git", "__pycache__"})
_MOST_FILES = 5_000
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file, or symbolic link, of an agent."""

    path: Path
    """Where it is now."""
    name: str
    """Where it belongs, relative to the agent's folder, with forward slashes."""


def files_beside(manifest: Path) -> list[SourceFile]:
    """Return the files in the manifest's folder, sorted.

    A folder that marks itself as not to be kept, by a `.gitignore` of `*`, is left out. Raises InputError where there
    is so much that the folder cannot be meant.
    """
    folder = manifest.parent
    files, size = [], 0
    for path in _walk(folder):
        files.append(_relative(path, folder))
        size += path.lstat().st_size
        if len(files) > _MOST_FILES or size > _MOST_BYTES:
            raise InputError(
                f"{manifest}: its folder holds more than {_MOST_FILES:,} files or {_MOST_BYTES // 2**20} MiB, and all "
                "of it would be copied into the install; move the manifest to a folder of its own, or say "
                '`source = "."` if that folder is a git checkout of the agent'
            )
    return _without_notes(files, folder)


def files_of_checkout(manifest: Path, source: str) -> list[SourceFile]:
    """Return the files of the folder that `source` names, sorted; those that git ignores are left out."""
    root = Path(os.path.normpath(manifest.parent / source))
    if not root.is_dir():
        raise InputError(f"{manifest}: `source` names the folder {root}, which does not exist")
    listed = _git_files(root)
    paths = _walk(root) if listed is None else (path for path in listed if path.is_file() or path.is_symlink())
    return _without_notes([_relative(path, root) for path in paths], manifest.parent)


def digest_files(files: Iterable[SourceFile]) -> str:
    """Return the SHA-256 of names, contents and executable bits."""
    total = hashlib.sha256()
    for file in files:
        if file.path.is_symlink():
            content, kind = os.readlink(file.path).encode(), b"link"
        else:
            content, kind = file.path.read_bytes(), b"exec" if os.access(file.path, os.X_OK) else b"file"
        for part in (file.name.encode(), kind, content):
            total.update(len(part).to_bytes(8, "big"))
            total.update(part)
    return total.hexdigest()


def copy_files(files: Iterable[SourceFile], folder: Path) -> None:
    """Copy the files into `folder`, links as links."""
    for file in files:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.path, target, follow_symlinks=False)
        shutil.copymode(file.path, target, follow_symlinks=False)


def _walk(folder: Path) -> Iterator[Path]:
    for above, folders, names in os.walk(folder):
        at = Path(above)
        linked = [name for name in folders if (at / name).is_symlink()]
        folders[:] = sorted(
            name for name in folders if name not in _NEVER and name not in linked and not _ignores_itself(at / name)
        )
        for name in sorted([*names, *linked]):
            path = at / name
            if path.is_symlink() or path.is_file():
                yield path


def _ignores_itself(folder: Path) -> bool:
    try:
        text = (folder / ".gitignore").read_text(errors="replace")
    except OSError:
        return False
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")] == ["*"]


def _git_files(root: Path) -> list[Path] | None:
    """Return what git tracks, or would track, below `root`; None if it is no work tree or there is no git."""
    # Asking is safe in a folder of another user's too: nothing that its configuration names is run.
    settings = ["-c", "core.fsmonitor=false", "-c", "safe.directory=*"]
    command = ["git", *settings, "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(command, capture_output=True, env=environ, stdin=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        return None
    if done.returncode != 0:
        return None
    return [root / os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _relative(path: Path, root: Path) -> SourceFile:
    return SourceFile(path=path, name=path.relative_to(root).as_posix())


def _without_notes(files: list[SourceFile], manifest_folder: Path) -> list[SourceFile]:
    """Leave out BenchFlow's own notes beside the manifest, and sort."""
    notes = {manifest_folder / name for name in _NOT_INSTALLED}
    kept = (file for file in files if file.path not in notes and notes.isdisjoint(file.path.parents))
    return sorted(kept, key=lambda file: file.name)
