"""Splits an event stream into the data of its events (WHATWG, server-sent events). Pure."""

from collections.abc import Iterator

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def event_data(stream: bytes) -> Iterator[bytes]:
    """Yield the data of each event that has any, comments and other fields left out.

    An event that the stream breaks off in is yielded too, as far as it came.
    """
    data: list[bytes] = []
    for line in stream.removeprefix(
        BYTE_ORDER_MARK
    ).splitlines():  # of bytes: at \\n, \\r and \\r\\n alone, as the standard says
        if not line:
            if data:
                yield b"\n".join(data)
                data = []
        elif line.startswith(b"data:"):
            data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif line == b"data":
            data.append(b"")
    if data:
        yield b"\n".join(data)


def write_event(data: bytes) -> bytes:
    """Write one event. `data` is on one line."""
    return b"data: " + data + b"\n\n"
