"""Stores the bodies of a log once: each request as its difference from the one before it in the same conversation.

A stored body is JSON: null (empty), `{"text"}`, `{"zlib"}` (base64), `{"base", "parts"}`, where `base` is the `seq` of
an exchange that stands earlier in the same log and each part a text or `[start, length]` of its body, `{"file"}`, the
name of a compressed file beside the log, or `{"withheld"}`, which says why it is not there. Every form but the last
gives back the same bytes.
"""

import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.gateway.records.bodyfiles import read_body
from benchflow.redact import Redactor

Stored = dict[str, Any] | None

KEPT = 4
"""Conversations of one log that a new body is compared with."""
WORTH = 0.7
"""A difference is stored where its own texts are at most this share of the body."""
SHORT_TEXT = 256
"""Bytes up to which a response is stored as text."""
SHORT_CHUNK = 16
"""Bytes below which a piece is not worth a reference."""
LEVEL = 1

_BOUNDARY = re.compile(rb"\},|\\n|\n")
"""Where a JSON conversation is cut to find pieces again: between objects, and at the lines of its texts."""


class BodyStore:
    """The bodies that new ones of the same log are compared with. Bounded.

    Secrets are replaced before anything is stored. Only what is new in a body is searched for them.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._latest: dict[int, _Kept] = {}

    def store(self, seq: int, body: bytes) -> Stored:
        """Return the stored form of a request's body, and keep the body as the base of the next."""
        if not body:
            return None
        base, ends = self._nearest(body)
        kept = self._latest.get(base) if base is not None else None
        if kept and kept.shown is kept.real:
            pieces = difference(kept.real, body, ends)
            if not self._leaks(pieces, body):
                return self._keep(seq, _Kept(body, body), base, pieces)
        shown = self._redactor.redact(body)
        return self._keep(
            seq,
            _Kept(body, shown),
            base,
            difference(kept.shown, shown, shared_ends(kept.shown, shown)) if kept else [],
        )

    def _keep(self, seq: int, body: "_Kept", base: int | None, pieces: "list[_Piece]") -> Stored:
        parts = _parts(pieces, body.shown)
        stored = store_whole(body.shown) if parts is None else {"base": base, "parts": parts}
        if base is not None and parts is not None:
            del self._latest[base]  # the conversation has moved on
        elif len(self._latest) >= KEPT:
            del self._latest[next(iter(self._latest))]
        self._latest[seq] = body
        return stored

    def _nearest(self, body: bytes) -> tuple[int | None, "_Ends"]:
        """Find the body that shares the most with a new one, the latest of equals, and what they share."""
        shared = {seq: shared_ends(kept.real, body) for seq, kept in self._latest.items()}
        base = max(reversed(shared), key=lambda seq: sum(shared[seq]), default=None)
        return base, (0, 0) if base is None else shared[base]

    def _leaks(self, pieces: "list[_Piece]", body: bytes) -> bool:
        """Whether a secret is in what is new, or lies across an edge of it."""
        margin = self._redactor.longest
        at = searched = 0
        for piece in pieces:
            if piece.shared and piece.length > 2 * margin:
                if self._redactor.finds(body[searched : at + margin]):
                    return True
                searched = at + piece.length - margin
            at += piece.length
        return self._redactor.finds(body[searched:])


@dataclass(frozen=True, slots=True)
class _Kept:
    """A body that new ones are compared with."""

    real: bytes
    shown: bytes
    """With the secrets replaced; the very same value where there are none."""


def store_whole(body: bytes) -> Stored:
    """Store a body as readable text where it is one."""
    if not body:
        return None
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return _compressed(body)


def store_compressed(body: bytes) -> Stored:
    """Store a body that is repetitive, or long."""
    return store_whole(body) if len(body) <= SHORT_TEXT else _compressed(body)


def _compressed(body: bytes) -> Stored:
    return {"zlib": b64encode(zlib.compress(body, LEVEL)).decode()}


_Ends = tuple[int, int]
"""Bytes that two bodies share at the beginning, and of the rest at the end."""


def difference(base: bytes, body: bytes, ends: _Ends) -> "list[_Piece]":
    """Describe `body` by pieces of `base` and pieces of its own."""
    prefix, suffix = ends
    pieces = [_Piece(shared=True, start=0, length=prefix)] if prefix else []
    pieces += _middle(base, body, prefix, suffix)
    if suffix:
        pieces.append(_Piece(shared=True, start=len(base) - suffix, length=suffix))
    return pieces


def _parts(pieces: "list[_Piece]", body: bytes) -> list[Any] | None:
    """Write pieces for storage; None where that is not worth it, or their texts are no UTF-8."""
    if sum(piece.length for piece in pieces if not piece.shared) > WORTH * len(body) or not pieces:
        return None
    try:
        return [_part(piece, body) for piece in pieces]
    except UnicodeDecodeError:
        return None


@dataclass(slots=True)
class _Piece:
    """Part of a body: found in its base, or not."""

    shared: bool
    start: int
    """In the base where it is shared, else in the body."""
    length: int


def _part(piece: _Piece, body: bytes) -> Any:
    if piece.shared:
        return [piece.start, piece.length]
    return body[piece.start : piece.start + piece.length].decode()


def _middle(base: bytes, body: bytes, prefix: int, suffix: int) -> list[_Piece]:
    """Find the chunks of the body's middle in that of the base; neighbours are joined."""
    places: dict[bytes, int] = {}
    for start, chunk in _chunks(base, prefix, len(base) - suffix):
        places.setdefault(chunk, start)
    found: list[_Piece] = []
    for start, chunk in _chunks(body, prefix, len(body) - suffix):
        last = found[-1] if found else None
        if last and last.shared and base.startswith(chunk, last.start + last.length):
            last.length += len(chunk)
        elif len(chunk) >= SHORT_CHUNK and chunk in places:
            found.append(_Piece(shared=True, start=places[chunk], length=len(chunk)))
        elif last and not last.shared:
            last.length += len(chunk)
        else:
            found.append(_Piece(shared=False, start=start, length=len(chunk)))
    return found


def _chunks(text: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    for boundary in _BOUNDARY.finditer(text, start, end):
        yield start, text[start : boundary.end()]
        start = boundary.end()
    if start < end:
        yield start, text[start:end]


def shared_ends(base: bytes, body: bytes) -> _Ends:
    """Count the bytes that both have at the beginning, and of the rest at the end, in whole characters."""
    shorter = min(len(base), len(body))
    prefix = _longest(shorter, lambda low, high: base[low:high] == body[low:high])
    while prefix and prefix < len(body) and body[prefix] & 0xC0 == 0x80:
        prefix -= 1
    one, other = len(base), len(body)
    suffix = _longest(
        shorter - prefix, lambda low, high: base[one - high : one - low] == body[other - high : other - low]
    )
    while suffix and body[other - suffix] & 0xC0 == 0x80:
        suffix -= 1
    return prefix, suffix


def _longest(limit: int, same: Callable[[int, int], bool]) -> int:
    """Count, by halving, how far things are the same; `same` says whether they are between two counts."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def restore(stored: Stored, folder: Path, base: bytes = b"") -> bytes | None:
    """Give back the bytes of a stored body, `base` being the body that it refers to; None where it was withheld.

    `folder` is that of the log.
    """
    match stored:
        case None:
            return b""
        case {"text": str(text)}:
            return text.encode()
        case {"zlib": str(packed)}:
            return zlib.decompress(b64decode(packed))
        case {"parts": list(parts)}:
            return b"".join(_piece(part, base) for part in parts)
        case {"file": str()}:
            return b"".join(restore_pieces(stored, folder))
        case _:
            return None


def restorable(stored: Stored) -> bool:
    """Whether the bytes can be given back."""
    return stored is None or "withheld" not in stored


def restore_pieces(stored: Stored, folder: Path) -> Iterator[bytes]:
    """Give back the bytes of a stored body that refers to no other, a long one in pieces. Raises InputError."""
    match stored:
        case {"file": str(name)}:
            yield from read_body(folder / name)
        case _:
            yield restore(stored, folder) or b""


def _piece(part: Any, base: bytes) -> bytes:
    return part.encode() if isinstance(part, str) else base[part[0] : part[0] + part[1]]


class BodyReader:
    """Restores the request bodies of one log in a folder, given their stored forms in the order of the file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stored: dict[int, Stored] = {}
        self._recent: dict[int, bytes | None] = {}

    def add(self, seq: int, stored: Mapping[str, Any] | None) -> None:
        """Take the next stored body."""
        self._stored[seq] = dict(stored) if stored is not None else None

    def body(self, seq: int) -> bytes | None:
        """Return the body of an exchange; None where it was withheld, or is not there."""
        chain: list[int] = []
        at: int | None = seq
        while at is not None and at not in self._recent and at in self._stored and at not in chain:
            chain.append(at)
            at = (self._stored[at] or {}).get("base")
        body = b"" if at is None else self._recent.get(at)
        for link in reversed(chain):
            body = None if body is None else restore(self._stored[link], self._folder, body)
            self._remember(link, body)
        return body

    def _remember(self, seq: int, body: bytes | None) -> None:
        self._recent[seq] = body
        if len(self._recent) > 2 * KEPT:
            del self._recent[next(iter(self._recent))]
