"""Splits an event stream into the data of its events (WHATWG, server-sent events). Pure."""

from collections.abc import Iterator

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def event_data(stream: bytes) -> Iterator[bytes]:
    """Yield the data of each event that has any, comments and other fields left out.

    An event that the stream breaks off in is yielded too, as far as it came.
    """
    if b"\r" in stream:
        stream = b"\n".join(stream.splitlines())  # of bytes: at \\n, \\r and \\r\\n alone, as the standard says
    stream = stream.removeprefix(BYTE_ORDER_MARK)
    if stream.startswith(b"data: ") and stream.endswith(b"\n\n"):
        plain = stream[6:-2].split(b"\n\ndata: ")
        if stream.count(b"\n") == 2 * len(plain):  # nothing but data of one line each, as most streams are
            yield from plain
            return
    for event in stream.split(b"\n\n"):
        name, _, only = event.partition(b"\ndata: ")
        if only and name.startswith(b"event: ") and event.count(b"\n") == 1:  # the other form that most streams have
            yield only
            continue
        data = [_data(line) for line in event.split(b"\n") if line.startswith(b"data:") or line == b"data"]
        if data:
            yield b"\n".join(data)


def _data(line: bytes) -> bytes:
    return line[6:] if line.startswith(b"data: ") else line[5:]


def write_event(data: bytes, name: str = "") -> bytes:
    """Write one event, with its name where it has one. `data` is on one line."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"
