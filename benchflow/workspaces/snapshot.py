"""What is in a folder at one moment, by content, without ever following a link out of it; and copies of it.

An agent may have left anything there: links to anywhere, pipes, devices, closed folders, names that are no text.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

CONTENT_KEPT = 256 * 1024
"""Files of up to so many bytes are kept whole, so that a change can be shown; of larger ones only the digest."""
TOTAL_KEPT = 16 * 1024 * 1024
"""Bytes kept of one folder altogether."""

BYTECODE = "__pycache__"
"""Name of the folders where Python keeps bytecode."""

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, link or special file; folders are only their contents."""

    kind: Literal["file", "link", "other"]
    """`other`: a pipe, socket or device, or something that cannot be read."""
    size: int
    executable: bool
    content: bytes | None
    """A small file's content, or a link's target. None: too large to keep."""
    digest: bytes

    def same_as(self, other: "Entry") -> bool:
        """Tell whether both have the same content, whatever their permissions."""
        return (self.kind, self.digest) == (other.kind, other.digest)


Snapshot = dict[str, Entry]
"""Entries by their path relative to the folder, in order of the walk."""


def take_snapshot(folder: Path, wanted: Callable[[str], bool] = lambda _: True) -> Snapshot:
    """Read what is wanted of a folder. Files past the total that is kept are there with their digest alone."""
    found: Snapshot = {}
    left = TOTAL_KEPT
    for path, item in walk(folder):
        if not wanted(path):
            continue
        entry = _read_entry(item, keep=left > 0)
        left -= len(entry.content or b"")
        found[path] = entry
    return found


def walk(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield everything below a folder but folders, with its relative path, sorted, and through no link.

    `__pycache__` is left out: it is nobody's work. Folders that cannot be listed are taken as empty.
    """
    pending = [("", str(folder))]
    while pending:
        above, place = pending.pop()
        try:
            with os.scandir(place) as listing:
                items = sorted(listing, key=lambda item: item.name)
        except OSError:
            continue
        folders: list[tuple[str, str]] = []
        for item in items:
            path = f"{above}{item.name}"
            if item.is_dir(follow_symlinks=False):
                if item.name != BYTECODE:
                    folders.append((f"{path}/", item.path))
            else:
                yield path, item
        pending.extend(reversed(folders))


def copy_tree(source: Path, target: Path) -> None:
    """Copy a workspace: folders, files with their x bit, and links that stay inside.

    Left out are links to outside, which are no work of the agent's, and `__pycache__`, whose bytecode need not be that
    of the source beside it.
    """
    root = source.resolve()
    target.mkdir(parents=True, exist_ok=True)
    for place, folders, names in os.walk(source):
        here = target / os.path.relpath(place, source)
        folders[:] = [name for name in folders if name != BYTECODE]
        for name in [*folders, *(name for name in names if name != BYTECODE)]:
            origin, copy = Path(place, name), here / name
            mode = origin.lstat().st_mode
            if stat.S_ISDIR(mode):
                copy.mkdir(exist_ok=True)
            elif stat.S_ISLNK(mode):
                if origin.resolve().is_relative_to(root) and not os.path.isabs(os.readlink(origin)):
                    copy.symlink_to(os.readlink(origin))
            elif stat.S_ISREG(mode):
                _copy_file(origin, copy, executable=bool(mode & stat.S_IXUSR))


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, also below folders that were closed."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for place, _, _ in os.walk(folder):
            os.chmod(place, 0o700)
        shutil.rmtree(folder, ignore_errors=True)


def open_regular(path: str | Path) -> int | None:
    """Open a regular file for reading and return its descriptor. None: it is none, or cannot be read.

    The last part of the path is not followed if it is a link, and a pipe does not block.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _copy_file(origin: Path, copy: Path, *, executable: bool) -> None:
    descriptor = open_regular(origin)
    if descriptor is None:
        return
    with open(descriptor, "rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target, _BLOCK)
    copy.chmod(0o755 if executable else 0o644)


def _read_entry(item: os.DirEntry[str], *, keep: bool) -> Entry:
    if item.is_symlink():
        target = os.fsencode(os.readlink(item.path))
        return Entry(kind="link", size=len(target), executable=False, content=target, digest=target)
    descriptor = open_regular(item.path)
    if descriptor is None:
        return Entry(kind="other", size=0, executable=False, content=b"", digest=b"")
    with open(descriptor, "rb", buffering=0) as stream:
        status = os.fstat(descriptor)
        executable = bool(status.st_mode & stat.S_IXUSR)
        content = stream.read(CONTENT_KEPT + 1) or b""
        if len(content) <= CONTENT_KEPT:
            digest = hashlib.sha256(content).digest()
            kept = content if keep else None
            return Entry(kind="file", size=len(content), executable=executable, content=kept, digest=digest)
        digested = hashlib.sha256(content)
        while block := stream.read(_BLOCK):
            digested.update(block)
        size = status.st_size
        return Entry(kind="file", size=size, executable=executable, content=None, digest=digested.digest())
