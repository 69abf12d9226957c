"""The one way by which a run's files are written: append-only, redacted before the write, one write a block."""

import errno
import os
from pathlib import Path

from benchflow.errors import InputError
from benchflow.redact import Redactor

_REMEDIES = {
    errno.ENOSPC: "free some space there (`benchflow gc`), or write to another disk with --out",
    errno.EDQUOT: "free some of your quota there, or write to another disk with --out",
    errno.EROFS: "write to another folder with --out",
    errno.EACCES: "make it writable for you, or write to another folder with --out",
    errno.EPERM: "make it writable for you, or write to another folder with --out",
    errno.EMFILE: "allow more open files (`ulimit -n`), or run fewer trials at once with --concurrency",
}


class LogFile:
    """An append-only file of lines. Whoever opens it closes it.

    What the file system refuses (a full disk, a folder that cannot be written) is an InputError that names the file
    and the remedy.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.path = path
        self._redactor = redactor
        self._fd = -1
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as exc:
            raise refused(path, exc) from exc

    def write(self, lines: bytes) -> None:
        """Append whole lines, each with its newline, in one write. Raises InputError."""
        view = memoryview(self._redactor.redact(lines))
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as exc:
            if exc.errno == errno.EBADF:
                raise  # written to after its close: a bug, not the file system
            raise refused(self.path, exc) from exc

    def close(self) -> None:
        """Close the file; may be called again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def refused(path: Path, error: OSError) -> InputError:
    """Say what the file system refused, and what to do about it."""
    remedy = _REMEDIES.get(error.errno or 0, "look after the file system, or write to another folder with --out")
    return InputError(f"{path}: cannot be written ({error.strerror}); {remedy}")
