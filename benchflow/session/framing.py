"""Bytes to lines, and lines to JSON objects, whatever else an agent prints on the stream that belongs to the protocol.

Pure: it knows nothing of connections, logs or the protocol's methods.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import orjson

MAX_LINE_BYTES = 256 * 1024 * 1024
"""Bound of a single line. Lines of many megabytes are legal; one of this size is a runaway."""

Json = dict[str, Any]

_FRAME_START = re.compile(r'\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:')
_MAX_GLUED = 64
"""How many places of one line are tried as the beginning of a frame."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


class LineTooLong(ValueError):
    """A line outgrew its bound."""


class LineSplitter:
    """Cuts a stream of blocks into lines, in time linear in the bytes, however a line is spread over blocks."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._begun: list[bytes] = []
        self._begun_bytes = 0

    def feed(self, block: bytes) -> list[bytes]:
        """Take a block; return the lines that it completes, without their newlines.

        Raises LineTooLong when a line is longer than the bound.
        """
        lines = block.split(b"\n")
        begun = lines.pop()
        if lines and self._begun:
            self._begun.append(lines[0])
            lines[0] = b"".join(self._begun)
            self._begun.clear()
            self._begun_bytes = 0
        if begun:
            self._begun.append(begun)
            self._begun_bytes += len(begun)
            if self._begun_bytes > self._limit:
                raise LineTooLong(f"a line of more than {self._limit:,} bytes")
        return lines

    def rest(self) -> bytes:
        """Return the line that the end of the stream cut off; empty if there is none."""
        rest = b"".join(self._begun)
        self._begun.clear()
        self._begun_bytes = 0
        return rest


@dataclass(frozen=True, slots=True)
class Frame:
    """A JSON object from a line that is not plainly one."""

    value: Json
    strict: bytes
    """The object in JSON that every reader accepts."""
    original: str | None
    """What the agent wrote, where `strict` differs from it by more than the text around it: lone surrogates, NaN, bytes
    that are no UTF-8.
    """


@dataclass(frozen=True, slots=True)
class Noise:
    """Text that is no part of the protocol."""

    text: str


Piece = Frame | Noise


def read_odd_line(line: bytes) -> list[Piece]:
    """Read a line that is not one strict JSON object: find the frames in it and the noise around them, in order."""
    shown = line.decode("utf-8", "backslashreplace").strip()
    text = line.decode("utf-8", "replace").strip()
    whole = _decode(text, 0)
    if whole and whole[1] == len(text):
        frame = _frame(whole[0], shown)
        return [frame or Noise(shown)]
    return _read_glued(text) or [Noise(shown)]


def _read_glued(text: str) -> list[Piece]:
    """Find JSON-RPC objects that have text before, between or after them; nothing if there are none."""
    pieces: list[Piece] = []
    done = position = 0
    for _ in range(_MAX_GLUED):
        start = _FRAME_START.search(text, position)
        if start is None:
            break
        position = start.end()
        found = _decode(text, start.start())
        frame = _frame(found[0], text[start.start() : found[1]]) if found else None
        # Only what names the protocol: an object inside a broken one would answer a request that nobody answered.
        if found is None or frame is None or "jsonrpc" not in frame.value:
            continue
        if text[done : start.start()].strip():
            pieces.append(Noise(text[done : start.start()]))
        pieces.append(frame)
        done = position = found[1]
    if pieces and text[done:].strip():
        pieces.append(Noise(text[done:]))
    return pieces


def _decode(text: str, start: int) -> tuple[Any, int] | None:
    """Decode the value at `start` with the tolerant parser; return it with its end, or None."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _frame(value: Any, written: str) -> Frame | None:
    """Make a frame of what the tolerant parser read; None where it is no object, or cannot be made strict JSON."""
    if not isinstance(value, dict):
        return None
    try:
        return Frame(value=orjson.loads(written), strict=written.encode(), original=None)
    except (ValueError, UnicodeEncodeError):
        pass
    try:
        cleaned = _SURROGATES.sub("\ufffd", json.dumps(value, ensure_ascii=False)).encode()
        return Frame(value=orjson.loads(cleaned), strict=cleaned, original=written)
    except (ValueError, RecursionError):
        return None
