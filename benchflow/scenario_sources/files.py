"""The files of a commit, read as they were stored: no filter, line end or attribute changes them on the way."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from benchflow.errors import InputError
from benchflow.scenario_sources.git import Git

MAX_FILES = 50_000
MAX_BYTES = 512 * 1024 * 1024
"""A commit with more files, or more in them, is refused."""

_LINK = "120000"
_PROGRAM = "100755"
_SUBMODULE = "160000"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file of a commit."""

    path: str
    mode: str
    blob: str
    size: int


def list_files(git: Git, commit: str, below: str = "") -> list[Entry]:
    """Return the files of a commit that are below a path, in order.

    Raises InputError for a submodule there, for a name that leads elsewhere, and for too many or too much.
    """
    words = ["ls-tree", "-r", "-z", "--long", "--full-tree", commit]
    entries = []
    for line in git.run(*words, *(["--", below] if below else [])).split(b"\0"):
        if not line:
            continue
        head, _, raw = line.partition(b"\t")
        mode, _, blob, size = head.decode().split()
        path = os.fsdecode(raw)
        if mode == _SUBMODULE:
            raise InputError(f"{path}: is a submodule, which is never fetched; its files must be in the repository")
        _refuse_escape(path)
        entries.append(Entry(path=path, mode=mode, blob=blob, size=int(size)))
    if len(entries) > MAX_FILES or sum(entry.size for entry in entries) > MAX_BYTES:
        mib = sum(entry.size for entry in entries) >> 20
        raise InputError(f"{len(entries)} files with {mib} MiB: too much; name the scenario's folder with #path")
    return entries


def write_files(git: Git, entries: Iterable[Entry], folder: Path, strip: str = "") -> None:
    """Write files below a folder, without the path `strip` before their own.

    Raises InputError for a link that leads out, and OSError for a tree that no file system could hold; what was written
    by then stays.
    """
    listed = list(entries)
    links = []
    for entry, content in zip(listed, read_blobs(git, [entry.blob for entry in listed]), strict=True):
        target = folder / PurePosixPath(entry.path).relative_to(strip or ".")
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == _LINK:
            links.append((entry, target, os.fsdecode(content)))
            continue
        target.write_bytes(content)
        target.chmod(0o755 if entry.mode == _PROGRAM else 0o644)
    for _, target, text in links:  # last, so that nothing is written through one
        target.symlink_to(text)
    root = os.path.realpath(folder)
    for entry, target, text in links:  # only now one sees where a link leads that goes through another
        if os.path.isabs(text) or not Path(os.path.realpath(target)).is_relative_to(root):
            raise InputError(f"{entry.path}: links to {text}, out of its folder; put the file itself there")


def read_blobs(git: Git, blobs: list[str]) -> list[bytes]:
    """Return the contents of blobs, in their order."""
    said = git.run("cat-file", "--batch", given="".join(f"{blob}\n" for blob in blobs).encode())
    contents, at = [], 0
    for blob in blobs:
        head, at = said[at : (end := said.index(b"\n", at))], end + 1
        words = head.split()
        if words[-1] == b"missing":
            raise InputError(f"git cat-file: {blob} is missing; remove the copy in the cache and try again")
        size = int(words[2])
        contents.append(said[at : at + size])
        at += size + 1
    return contents


def _refuse_escape(path: str) -> None:
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        raise InputError(f"{path!r}: is no name that can be written; the repository is broken or hostile")
