"""Text from agents, made safe to print. Every text that BenchFlow did not write itself passes through here first."""

import re
from collections.abc import Iterator

_SEQUENCE = re.compile(
    r"""
    (?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]                           # control sequences: colours, cursor, modes
    | (?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])                     # strings: titles, clipboard, links, device control
      [^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)
    | \x1b[ -/]*[0-~]                                          # the short ones
    """,
    re.VERBOSE,
)
_LINE_END = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Other controls, the marks that reorder what is read, and lone surrogates, which cannot be printed at all.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def sanitize(text: str) -> str:
    """Return `text` without anything that a terminal would obey: escape sequences are taken out, any other control or
    reordering character is shown as `�`, and every kind of line end becomes a newline.
    """
    if not _UNSAFE.search(text):
        return text
    return _UNSAFE.sub("\ufffd", _LINE_END.sub("\n", _SEQUENCE.sub("", text)))


def escape_json(text: str) -> str:
    """Return JSON text with everything that a terminal would obey as `\\u…`, which is the same JSON."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str, limit: int | None = None) -> str:
    """Return `text` sanitized, on one line, and cut to `limit` characters with an ellipsis."""
    line = " ".join(sanitize(text).split())
    return line if limit is None or len(line) <= limit else line[: max(0, limit - 1)] + "…"


def block(text: str, prefix: str, width: int) -> str:
    """Return `text` sanitized, each line behind `prefix` and wrapped to `width`, its own spaces kept."""
    room = max(20, width - len(prefix))
    lines = sanitize(text).expandtabs(4).split("\n")
    return "\n".join(prefix + part for line in lines for part in _wrap(line, room))


def _wrap(line: str, room: int) -> Iterator[str]:
    """Break a line at its last space within `room`, or where it has none there, at `room`."""
    while len(line) > room:
        space = line.rfind(" ", len(line) - len(line.lstrip(" ")), room + 1)
        cut = space if space > 0 else room
        yield line[:cut]
        line = line[cut:].removeprefix(" ") if space > 0 else line[cut:]
    yield line


def tail(text: str, lines: int) -> str:
    """Return the last `lines` lines of `text`, sanitized; the first then says how many were left out."""
    every = sanitize(text).rstrip().split("\n")
    if len(every) <= lines:
        return "\n".join(every)
    return "\n".join([f"… {len(every) - lines} lines before", *every[-lines:]])


def head(text: str, lines: int) -> str:
    """Return the first `lines` lines of `text`, sanitized; the last then says how many were left out."""
    every = sanitize(text).strip("\n").rstrip().split("\n")
    if len(every) <= lines:
        return "\n".join(every)
    return "\n".join([*every[:lines], f"… {len(every) - lines} lines more"])
