"""The raw record of a connection: every line both ways, written before anything interprets it.

One JSON object a line: `{"seq", "ts", "mono_ms", "dir": "in" | "out", "frame": <the object as sent> | "noise": text}`.
Between them may stand that a budget ended the work: `{"seq", "ts", "mono_ms", "dir": "own", "limit": {...}}`.
A frame is spliced, not re-encoded. Where it was not strict JSON (lone surrogates, NaN, bytes that are no UTF-8),
`frame` is a cleaned copy and `raw` holds what was written.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, Protocol

import orjson

from benchflow.clock import Clock, Stamp
from benchflow.session.framing import Json, Noise, Piece, read_odd_line

Direction = Literal["in", "out"]


class LineSink(Protocol):
    """Where lines go: `benchflow.log.LogFile`, as a rule."""

    def write(self, lines: bytes) -> None: ...


class FrameLog:
    """Parses and records what passes, a block at a time: one stamp and one write for all lines of a block."""

    def __init__(self, sink: LineSink, clock: Clock, unwanted: str | None = None) -> None:
        """`unwanted` is the method of notifications that nobody reacts to: they are parsed and recorded, no more."""
        self._sink = sink
        self._clock = clock
        self._unwanted = unwanted
        self._seq = 0
        self.heard = False
        """The agent has sent at least one JSON object."""

    def received(self, lines: Sequence[bytes]) -> tuple[list[Json], Stamp]:
        """Record lines from the agent; return the wanted objects among them, in order."""
        stamp = self._clock.now()
        values: list[Json] = []
        odd: dict[int, list[Piece]] = {}
        loads, unwanted = orjson.loads, self._unwanted
        for index, line in enumerate(lines):
            try:
                value = loads(line)
            except ValueError:
                value = None
            if type(value) is dict:
                # Most are updates. One that is dropped at once is freed before the next is made: twice as fast.
                if unwanted is None or value.get("method") != unwanted or "id" in value:
                    values.append(value)
                continue
            odd[index] = pieces = read_odd_line(line)
            values.extend(piece.value for piece in pieces if not isinstance(piece, Noise))
        if odd:
            self._write_mixed(lines, odd, stamp)
        else:
            self._write("in", lines, stamp)
        self.heard = self.heard or bool(values)
        return values, stamp

    def sent(self, lines: Sequence[bytes]) -> Stamp:
        """Record objects that are sent to the agent."""
        stamp = self._clock.now()
        self._write("out", lines, stamp)
        return stamp

    def noted(self, name: str, value: Any) -> Stamp:
        """Record something of our own that neither side has sent."""
        stamp = self._clock.now()
        body = b'"%b":%b' % (name.encode(), orjson.dumps(value))
        self._append(b'{"seq":%d%b,%b}\n' % (self._seq, _head("own", stamp), body))
        self._seq += 1
        return stamp

    def _write(self, direction: Direction, lines: Sequence[bytes], stamp: Stamp) -> None:
        """Write lines that are all strict JSON objects."""
        count = len(lines)
        entry = b'{"seq":%%d%s,"frame":%%b}\n' % _head(direction, stamp)
        numbered = zip(range(self._seq, self._seq + count), lines, strict=True)
        self._seq += count
        # One formatting operation for the whole block: three times as fast as one a line.
        self._append((entry * count) % tuple(chain.from_iterable(numbered)))

    def _write_mixed(self, lines: Sequence[bytes], odd: dict[int, list[Piece]], stamp: Stamp) -> None:
        """Write lines of which some hold noise, or frames that are not strict JSON."""
        entries: list[bytes] = []
        for index, line in enumerate(lines):
            bodies = [_body(piece) for piece in odd[index]] if index in odd else [b'"frame":' + line]
            entries.extend(bodies)
        head = _head("in", stamp)
        numbered = enumerate(entries, self._seq)
        self._seq += len(entries)
        self._append(b"".join(b'{"seq":%d%b,%b}\n' % (seq, head, body) for seq, body in numbered))

    def _append(self, entries: bytes) -> None:
        # In JSON a bare carriage return is white space between tokens; many readers would take it for a line's end.
        self._sink.write(entries.replace(b"\r", b" ") if b"\r" in entries else entries)


def _head(direction: Direction | Literal["own"], stamp: Stamp) -> bytes:
    return f',"ts":"{stamp.ts}","mono_ms":{stamp.mono_ms},"dir":"{direction}"'.encode()


def _body(piece: Piece) -> bytes:
    if isinstance(piece, Noise):
        return b'"noise":' + _text(piece.text)
    if piece.original is None:
        return b'"frame":' + piece.strict
    return b'"raw":%b,"frame":%b' % (_text(piece.original), piece.strict)


def _text(text: str) -> bytes:
    """Write a text as JSON, whatever is in it."""
    return orjson.dumps(text.encode("utf-8", "backslashreplace").decode())
