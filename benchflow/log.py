"""The one way by which a run's files are written: append-only, redacted before the write, one write a block."""

import os
from pathlib import Path

from benchflow.redact import Redactor


class LogFile:
    """An append-only file of lines. Whoever opens it closes it."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.path = path
        self._redactor = redactor
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, lines: bytes) -> None:
        """Append whole lines, each with its newline, in one write."""
        view = memoryview(self._redactor.redact(lines))
        while view:
            view = view[os.write(self._fd, view) :]

    def close(self) -> None:
        """Close the file; may be called again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
