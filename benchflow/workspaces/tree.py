"""A folder that somebody else may be changing: what is in it at one moment, and single entries copied to another one.

Every path is walked from the folder down, a directory at a time and through no link, so that nothing outside of it is
ever read, written or removed, whatever an agent does meanwhile.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

DEEPEST = 100
"""Levels of folders that are looked into."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER = (errno.ENOTDIR, errno.ELOOP)
_DRAFT = ".benchflow-draft"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Mark:
    """By what one sees that an entry is another one, or was changed. Nobody can set a file's `changed_ns`."""

    kind: Literal["file", "link", "folder"]
    mode: int = 0
    size: int = 0
    modified_ns: int = 0
    changed_ns: int = 0
    inode: int = 0
    target: str = ""
    """Of a link."""


@dataclass(frozen=True)
class Scan:
    """What is in a tree."""

    marks: dict[str, Mark]
    """By the path relative to the tree; folders before what is in them."""
    closed: frozenset[str]
    """Folders that could not be looked into."""

    def knows(self, path: str) -> bool:
        """Say whether it would be in `marks` if it were there."""
        return not any(path.startswith(f"{folder}/" if folder else "") for folder in self.closed)


class Tree:
    """The folder `below` a base that is nobody else's. It need not be there."""

    def __init__(self, base: Path, below: str = "") -> None:
        self._base = base
        self._below = [part for part in below.split("/") if part not in ("", ".")]

    def scan(self, skip: Callable[[str], bool] = lambda _: False) -> Scan:
        """Return everything but pipes, sockets and devices, and what is to be skipped."""
        marks: dict[str, Mark] = {}
        closed: set[str] = set()
        pending = [""]
        while pending:
            place = pending.pop()
            try:
                found = self._list(place)
            except OSError as exc:
                if place or exc.errno != errno.ENOENT or not self._base.is_dir():
                    closed.add(place)
                continue
            for name, mark in found:
                path = f"{place}/{name}" if place else name
                if name.startswith(_DRAFT) or skip(path):
                    continue
                marks[path] = mark
                if mark.kind == "folder":
                    pending.append(path)
        return Scan(dict(sorted(marks.items())), frozenset(closed))

    def mark(self, path: str) -> Mark | None:
        """Return the mark of one entry. None: it is not there, or of no kind that counts."""
        with suppress(OSError), self._parent(path) as (folder, name):
            return _mark(folder, name)
        return None

    def copy(self, path: str, target: "Tree", *, any_link: bool = False) -> Mark | None:
        """Copy one entry to the same path of another tree, and return the mark of the copy.

        A folder is made without what is in it. What stood in the way is replaced, folders on the way are made. None: it
        cannot be read any more, or is a link that leads out of the tree and not `any_link` is wanted. Raises OSError
        where it cannot be written.
        """
        try:
            with self._parent(path) as (folder, name):
                mark = _mark(folder, name)
                if mark is None or (mark.kind == "link" and not any_link and not _stays_inside(path, mark.target)):
                    return None
                source = os.open(name, _READ, dir_fd=folder) if mark.kind == "file" else None
        except OSError:
            return None
        try:
            with target._parent(path, make=True) as (folder, name):
                return _put(mark, source, folder, name)
        finally:
            if source is not None:
                os.close(source)

    def link(self, path: str, text: str) -> None:
        """Make a link, unless something is there. Raises OSError."""
        with self._parent(path, make=True) as (folder, name), suppress(FileExistsError):
            os.symlink(text, name, dir_fd=folder)

    def make(self) -> None:
        """Make the folder itself."""
        os.close(self._open("", make=True))

    def remove(self, path: str, *, whole: bool = False) -> None:
        """Remove one entry, if it is there; a folder only if it is empty, or with all that is in it if `whole`."""
        with suppress(OSError), self._parent(path) as (folder, name):
            if whole:
                _clear(folder, name)
            elif stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
                os.rmdir(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)

    def same_content(self, path: str, other: "Tree") -> bool:
        """Tell whether a file has the same content in another tree; False where one of the two cannot be read."""
        with suppress(OSError), self._file(path) as mine, other._file(path) as theirs:
            while (block := mine.read(_BLOCK)) == theirs.read(_BLOCK):
                if not block:
                    return True
        return False

    def _list(self, place: str) -> list[tuple[str, Mark]]:
        if place.count("/") >= DEEPEST:
            raise OSError(errno.ENAMETOOLONG, "too deep", place)
        folder = self._open(place)
        try:
            with os.scandir(folder) as listing:
                names = [item.name for item in listing]
            return [(name, mark) for name in names if (mark := _mark(folder, name))]
        finally:
            os.close(folder)

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        above, _, name = path.rpartition("/")
        folder = self._open(above, make=make)
        try:
            yield folder, name
        finally:
            os.close(folder)

    @contextmanager
    def _file(self, path: str) -> Iterator[BinaryIO]:
        with self._parent(path) as (folder, name):
            descriptor = os.open(name, _READ, dir_fd=folder)
        with open(descriptor, "rb") as file:
            yield file

    def _open(self, place: str, *, make: bool = False) -> int:
        """Open a folder of the tree, and no link. With `make`, what is not there is made, and no folder is replaced."""
        folder = os.open(self._base, _FOLDER)
        for part in [*self._below, *(part for part in place.split("/") if part)]:
            above, folder = folder, -1
            try:
                folder = _enter(above, part, make=make)
            finally:
                os.close(above)
        return folder


def _enter(above: int, name: str, *, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except OSError as exc:
        if not make or exc.errno not in (errno.ENOENT, *_NO_FOLDER):
            raise
        if exc.errno in _NO_FOLDER:
            os.unlink(name, dir_fd=above)
    os.mkdir(name, dir_fd=above)
    return os.open(name, _FOLDER, dir_fd=above)


def _mark(folder: int, name: str) -> Mark | None:
    try:
        status = os.lstat(name, dir_fd=folder)
        if stat.S_ISLNK(status.st_mode):
            return Mark(kind="link", target=os.readlink(name, dir_fd=folder))
    except OSError:
        return None
    mode = stat.S_IMODE(status.st_mode) & 0o777
    if stat.S_ISDIR(status.st_mode):
        return Mark(kind="folder", mode=mode)
    if not stat.S_ISREG(status.st_mode):
        return None
    return Mark(
        kind="file",
        mode=mode,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        changed_ns=status.st_ctime_ns,
        inode=status.st_ino,
    )


def _put(mark: Mark, source: int | None, folder: int, name: str) -> Mark | None:
    """Write the entry whole, beside what is there, and let it take that one's place."""
    old = _mark(folder, name)
    if mark.kind == "folder":
        if old is None or old.kind != "folder":
            _clear(folder, name)
            os.mkdir(name, dir_fd=folder)
        entered = os.open(name, _FOLDER, dir_fd=folder)
        os.fchmod(entered, mark.mode | 0o700)
        os.close(entered)
        return _mark(folder, name)
    draft = f"{_DRAFT}-{os.urandom(6).hex()}"
    try:
        if source is None:
            os.symlink(mark.target, draft, dir_fd=folder)
        elif not _write(source, draft, folder):
            return None
        if old is None or old.kind == "folder":
            _clear(folder, name)
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
    return _mark(folder, name)


def _write(source: int, draft: str, folder: int) -> bool:
    """Copy content, mode and time of an open file; False: it is no regular one any more."""
    status = os.fstat(source)
    if not stat.S_ISREG(status.st_mode):
        return False
    written = os.open(draft, _WRITE, 0o600, dir_fd=folder)
    with open(os.dup(source), "rb", buffering=0) as reader, open(written, "wb", buffering=0) as writer:
        shutil.copyfileobj(reader, writer, _BLOCK)
        os.fchmod(written, stat.S_IMODE(status.st_mode) & 0o777)
        os.utime(written, ns=(status.st_mtime_ns, status.st_mtime_ns))
    return True


def _clear(folder: int, name: str) -> None:
    """Remove whatever stands there, a folder with all that is in it."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):  # the latter is what some systems say of a folder
        shutil.rmtree(name, dir_fd=folder)


def _stays_inside(path: str, target: str) -> bool:
    """Say whether a link leads into the tree: up no further than to its top, and then only down.

    `..` after a name could leave the tree, where that name is a link itself.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = 0
    while up < len(parts) and parts[up] == "..":
        up += 1
    return not target.startswith("/") and up <= path.count("/") and ".." not in parts[up:]
