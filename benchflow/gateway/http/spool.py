"""A body that is too long for memory, in a file without a name: nobody else sees it, and it goes with its process."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benchflow.errors import InputError
from benchflow.gateway.records.bodies import shared_ends
from benchflow.gateway.records.eliding import Cut, place
from benchflow.log import refused

PIECE = 256 * 1024
"""Bytes that are read, and sent, at once."""


class Spool:
    """The bytes themselves. Whoever makes it closes it."""

    def __init__(self, folder: Path | None) -> None:
        self.size = 0
        self.trouble: InputError | None = None
        """Why not all of it could be kept."""
        self._digest = sha256()
        self._folder = folder or Path(tempfile.gettempdir())
        self._file = None
        try:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - closed by `close`
        except OSError as exc:
            self.trouble = refused(self._folder, exc)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def write(self, data: bytes) -> None:
        """Take the next bytes."""
        self.size += len(data)
        self._digest.update(data)
        view = memoryview(data)
        try:
            while self._file and view and not self.trouble:
                view = view[self._file.write(view) or 0 :]
        except OSError as exc:
            self.trouble = refused(self._folder, exc)

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        """Give the bytes back from `start` to `end`."""
        while self._file and start < end:
            self._file.seek(start)
            piece = self._file.read(min(PIECE, end - start))
            if not piece:
                return
            start += len(piece)
            yield piece

    def close(self) -> None:
        """Let go of the file; may be called again."""
        if self._file:
            self._file.close()


@dataclass(frozen=True, slots=True)
class Splice:
    """One change in a body."""

    start: int
    end: int
    """In the bytes that were received."""
    text: bytes
    """What stands there now."""


class TooLongToChange(ValueError):
    """What is to be changed stands where the body is too long to be looked through."""


class LongBody:
    """A long body as it goes on: what is spooled, with changes. Beside it there is a short form, which can be read."""

    def __init__(
        self, spool: Spool, cuts: Sequence[Cut], plain: "LongBody | None" = None, splices: Sequence[Splice] = ()
    ) -> None:
        self.spool = spool
        self._plain = plain
        self._cuts = tuple(cuts)
        self._splices = tuple(splices)
        self._sha256: str | None = None

    @property
    def plain(self) -> "LongBody":
        """The same body without the coding that it came in."""
        return self._plain or self

    @property
    def size(self) -> int:
        return self.spool.size + sum(len(splice.text) - splice.end + splice.start for splice in self._splices)

    @property
    def sha256(self) -> str:
        """Of the body as it goes on."""
        if not self._splices:
            return self.spool.sha256
        if self._sha256 is None:
            for _ in self.pieces():
                pass
        return self._sha256 or ""

    def pieces(self) -> Iterator[bytes]:
        """Give the body as it goes on."""
        digest, at = sha256(), 0
        for splice in sorted(self._splices, key=lambda splice: splice.start):
            for piece in self.spool.pieces(at, splice.start):
                digest.update(piece)
                yield piece
            digest.update(splice.text)
            yield splice.text
            at = splice.end
        for piece in self.spool.pieces(at, self.spool.size):
            if self._splices:
                digest.update(piece)
            yield piece
        self._sha256 = digest.hexdigest()

    def changed(self, before: bytes, after: bytes) -> "LongBody":
        """Do to the body what was done to its short form. Raises TooLongToChange."""
        if before == after:
            return self
        prefix, suffix = shared_ends(before, after)
        end = len(before) - suffix
        if any(prefix < cut.at <= end for cut in self._cuts):
            raise TooLongToChange("the request is too long to be changed in more than one place at once")
        text = after[prefix : len(after) - suffix]
        splice = Splice(place(self._cuts, prefix), place(self._cuts, end), text)
        grown = len(after) - len(before)
        cuts = (
            *(cut for cut in self._cuts if cut.at <= prefix),
            Cut(prefix + len(text), splice.end),
            *(Cut(cut.at + grown, cut.resumed) for cut in self._cuts if cut.at > end),
        )
        return LongBody(self.spool, cuts, splices=(*self._splices, splice))
