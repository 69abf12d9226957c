"""Long bodies, each in a compressed file of its own beside the log, named by the digest of its real bytes.

They are written while they pass, without their secrets. A line of the log points at its file as `{"file": name}`.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from benchflow.errors import InputError
from benchflow.gateway.records.scrubbing import Scrubber
from benchflow.log import refused
from benchflow.redact import Redactor

FOLDER = "bodies"
LEVEL = 1
GZIP = 16 + zlib.MAX_WBITS
READ = 1 << 20


class BodyFile:
    """A long body on its way to its file. Whoever begins it keeps it or drops it."""

    def __init__(self, folder: Path, draft: str, redactor: Redactor) -> None:
        self._folder = folder / FOLDER
        self._path = self._folder / f"{draft}.gz"
        self._scrubber = Scrubber(redactor)
        self._packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        try:
            self._folder.mkdir(exist_ok=True)
            self._file = self._path.open("wb")
        except OSError as exc:
            raise refused(self._path, exc) from exc

    @property
    def scrubbed(self) -> bool:
        """A secret was replaced in what was written so far."""
        return self._scrubber.found

    def write(self, data: bytes) -> None:
        """Take the next bytes. Raises InputError where the file system refuses them."""
        self._put(self._packer.compress(self._scrubber.feed(data)))

    def finish(self) -> None:
        """Write what was held back. Raises InputError."""
        self._put(self._packer.compress(self._scrubber.end()) + self._packer.flush())
        try:
            self._file.close()
        except OSError as exc:
            raise refused(self._path, exc) from exc

    def keep(self, sha256: str) -> str:
        """Name the finished file by the digest of the real bytes; return its name as the log has it."""
        name = f"{sha256}.gz"
        try:
            os.replace(self._path, self._folder / name)
        except OSError as exc:
            raise refused(self._path, exc) from exc
        return f"{FOLDER}/{name}"

    def drop(self) -> None:
        """Leave nothing of it; may be called after anything."""
        with suppress(OSError):  # it goes in any case
            self._file.close()
        self._path.unlink(missing_ok=True)

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as exc:
            raise refused(self._path, exc) from exc


def stored_body(folder: Path, sha256: str) -> str | None:
    """Return the name of the file of a body that was stored before."""
    name = f"{FOLDER}/{sha256}.gz"
    return name if (folder / name).exists() else None


def read_body(path: Path) -> Iterator[bytes]:
    """Give back the bytes of a body's file in pieces, as far as it was written. Raises InputError."""
    unpacker = zlib.decompressobj(GZIP)
    try:
        with path.open("rb") as file:
            while packed := file.read(READ):
                while packed:
                    yield unpacker.decompress(packed, READ)
                    packed = unpacker.unconsumed_tail
    except (OSError, zlib.error) as exc:
        raise InputError(f"{path}: cannot be read ({exc}); a line of the log beside it points there") from exc
