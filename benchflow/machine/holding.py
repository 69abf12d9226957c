"""The one process that writes in a folder: it holds a lock that is free again however it ends."""

from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from benchflow.errors import InputError
from benchflow.machine.liveness import NAME, claim, release
from benchflow.machine.locked import take


class Hold:
    """A folder that this process alone writes in, as it also says in there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Self:
        """Take the folder. Raises InputError that names the process which has it."""
        path = self._folder / NAME
        while True:
            self._file = path.open("a")
            if take(self._file, path):
                claim(self._folder)
                return self
            self._file.close()
            if path.exists():  # else its holder has just left
                raise InputError(f"{self._folder}: {_holder(path)} writes this run; wait until it ends, or end it")

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        release(self._folder)
        self._file.close()


def _holder(path: Path) -> str:
    try:
        return f"process {int(orjson.loads(path.read_bytes())['pid'])}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
