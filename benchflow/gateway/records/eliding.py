"""Makes a long JSON text short enough to be read: what fills it is pictures and files in base64. Pure.

A long run of base64 is cut to its beginning; nothing else is touched, so that what was JSON, or events of JSON, still
is, with every value where it was.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

BLOCK = 32 * 1024
"""A run that fills a block of so many bytes is cut."""
SHOWN = 1024
"""Bytes that stay of a run."""

_RUN = re.compile(rb"[A-Za-z0-9+/=_-]*+")


@dataclass(frozen=True, slots=True)
class Cut:
    """Where something was left out."""

    at: int
    """In the short text."""
    resumed: int
    """In the long text: what stands there follows in the short one."""


class Eliding:
    """Shortens a text while it passes by."""

    def __init__(self) -> None:
        self.cuts: list[Cut] = []
        self._inside = False
        self._taken = 0
        self._given = 0

    def feed(self, data: bytes) -> bytes:
        """Return what stays of the next bytes."""
        kept: list[bytes] = []
        at = 0
        if self._inside:
            at = self._skip(data, 0)
        start = at
        while at + BLOCK <= len(data):
            if not _RUN.fullmatch(data, at, at + BLOCK):
                at += BLOCK
                continue
            self._keep(kept, data[start : at + SHOWN])
            start = at = self._skip(data, at + BLOCK)
        self._keep(kept, data[start:])
        self._taken += len(data)
        return b"".join(kept)

    def _keep(self, kept: list[bytes], part: bytes) -> None:
        kept.append(part)
        self._given += len(part)

    def _skip(self, data: bytes, at: int) -> int:
        """Leave the rest of a run out. Return where it ends."""
        match = _RUN.match(data, at)
        end = match.end() if match else at
        self._inside = end == len(data)
        cut = Cut(self._given, self._taken + end)
        if self.cuts and self.cuts[-1].at == cut.at:
            self.cuts[-1] = cut
        else:
            self.cuts.append(cut)
        return end


def place(cuts: Sequence[Cut], at: int) -> int:
    """Say where in the long text stands what stands at `at` in the short one."""
    passed = [cut for cut in cuts if cut.at <= at]
    return passed[-1].resumed + at - passed[-1].at if passed else at
