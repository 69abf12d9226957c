"""The client capability `fs`: text files of the workspace, read and written for the agent, and nothing outside it."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from benchflow.session.rpc import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RpcError
from benchflow.session.serving import Handler

_MAX_READ_BYTES = 64 * 1024 * 1024
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class WorkspaceFiles:
    """Serves `fs/read_text_file` and `fs/write_text_file`.

    The agent changes the workspace while we walk it, so every step is taken from an open folder and follows no symbolic
    link: a link inside the workspace is resolved first, and one that leads out, or appears in between, is refused.
    """

    def __init__(self, root: Path, inside: str) -> None:
        """`root` is the workspace on the host, `inside` the same folder as the agent sees it."""
        self._root = Path(os.path.realpath(root))
        self._inside = PurePosixPath(inside)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {"fs/read_text_file": self.read, "fs/write_text_file": self.write}

    def read(self, params: Any) -> dict[str, Any]:
        """Return a file's text: all of it, or `limit` lines from the 1-based `line`."""
        path = _path(params)
        first = max(_number(params, "line") or 1, 1)
        limit = _number(params, "limit")
        with _failing(path), self._open(path, os.O_RDONLY | os.O_NONBLOCK) as fd:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise RpcError(INVALID_PARAMS, f"{path} is no regular file")
            if status.st_size > _MAX_READ_BYTES:
                raise RpcError(INVALID_PARAMS, f"{path} has more than {_MAX_READ_BYTES:,} bytes")
            with open(fd, encoding="utf-8", errors="replace", newline="", closefd=False) as file:
                lines = islice(file, first - 1, None if limit is None else first - 1 + limit)
                return {"content": "".join(lines)}

    def write(self, params: Any) -> dict[str, Any]:
        """Write a file's whole text; the folders above it are made."""
        path = _path(params)
        content = params.get("content")
        if not isinstance(content, str):
            raise RpcError(INVALID_PARAMS, "content is no text")
        flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK
        with _failing(path), self._open(path, flags, make_folders=True) as fd:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise RpcError(INVALID_PARAMS, f"{path} is no regular file")
            os.ftruncate(fd, 0)
            with open(fd, "w", encoding="utf-8", newline="", closefd=False) as file:
                file.write(content)
        return {}

    @contextmanager
    def _open(self, path: str, flags: int, *, make_folders: bool = False) -> Iterator[int]:
        """Open a path of the agent's, folder by folder, without following links."""
        *folders, name = self._resolve(path)
        folder = os.open(self._root, _DIRECTORY)
        try:
            for part in folders:
                if make_folders:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                below = os.open(part, _DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = below
            fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            yield fd
        finally:
            os.close(fd)

    def _resolve(self, path: str) -> tuple[str, ...]:
        """Return the path's parts below the workspace, its links resolved. Raises RpcError if it lies elsewhere."""
        wanted = PurePosixPath(path)
        if wanted.is_absolute() and wanted.is_relative_to(self._inside):
            wanted = wanted.relative_to(self._inside)
        real = Path(os.path.realpath(self._root / wanted))
        if not real.is_relative_to(self._root):
            raise RpcError(INVALID_PARAMS, f"{path} is outside the workspace")
        if real == self._root:
            raise RpcError(INVALID_PARAMS, f"{path} is the workspace itself")
        return real.relative_to(self._root).parts


@contextmanager
def _failing(path: str) -> Iterator[None]:
    """Tell the agent what the system said."""
    try:
        yield
    except FileNotFoundError as error:
        raise RpcError(NOT_FOUND, f"{path} does not exist") from error
    except OSError as error:
        raise RpcError(INTERNAL_ERROR, f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL byte in the path
        raise RpcError(INVALID_PARAMS, f"{path!r}: {error}") from error


def _path(params: Any) -> str:
    path = params.get("path") if isinstance(params, dict) else None
    if not isinstance(path, str) or not path:
        raise RpcError(INVALID_PARAMS, "path is no text")
    return path


def _number(params: Any, key: str) -> int | None:
    value = params.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
