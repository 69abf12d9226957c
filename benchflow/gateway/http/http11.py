"""HTTP/1.1 as bytes: heads of requests and responses, and how they say where a body ends. Pure.

Names, values and the order of headers are kept as they came: latin-1 stands for bytes, one character each.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.gateway.http.framing import Chunked, Framing, Sized, UntilClose
from benchflow.gateway.message import Headers, find_header

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that concern one connection alone (RFC 9110, 7.6.1)."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HEAD_LIMIT = 256 * 1024
"""Bytes of a head; also how much is read ahead of what is needed."""

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (/[!-~\x80-\xff]*|\*) HTTP/1\.([01])")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00\r\n]*)")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([^\x00\r\n]*))?")
_DIGITS = re.compile(r"[0-9]{1,18}")


class BadResponse(ValueError):
    """The bytes are no HTTP/1.1 response."""


class BadRequest(ValueError):
    """The bytes are no HTTP/1.1 request that can be served; the connection cannot go on."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a request."""

    method: str
    path: str
    query: str
    minor: int
    """Of the version: HTTP/1.0 or HTTP/1.1."""
    headers: Headers

    @property
    def keep_alive(self) -> bool:
        """Whether the client may send another request on the same connection."""
        return self.minor == 1 and "close" not in (find_header(self.headers, "connection") or "").lower()

    @property
    def expects_continue(self) -> bool:
        return (find_header(self.headers, "expect") or "").lower() == "100-continue"

    @property
    def length(self) -> int | None:
        """Bytes of the body; None: it comes in chunks. Raises BadRequest where the headers contradict each other."""
        coding = find_header(self.headers, "transfer-encoding")
        lengths = {value for name, value in self.headers if name.lower() == "content-length"}
        if coding is not None:
            if coding.lower() != "chunked" or lengths:
                raise BadRequest(400, "the length of the request's body is not clear")
            return None
        if not lengths:
            return 0
        length = lengths.pop()
        if lengths or not _DIGITS.fullmatch(length):
            raise BadRequest(400, "the length of the request's body is not clear")
        return int(length)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response."""

    status: int
    reason: str
    minor: int
    headers: Headers

    @property
    def keep_alive(self) -> bool:
        """Whether the server takes another request on the same connection."""
        return self.minor == 1 and "close" not in (find_header(self.headers, "connection") or "").lower()


def parse_head(block: bytes) -> Head:
    """Read a request's head, its last empty line included. Raises BadRequest."""
    lines = block.strip(b"\r\n").split(b"\r\n")
    match = _REQUEST_LINE.fullmatch(lines[0])
    if not match:
        raise BadRequest(400, "not an HTTP/1.1 request line")
    method, target, minor = match.groups()
    path, _, query = target.decode("latin-1").partition("?")
    try:
        return Head(method.decode("ascii"), path, query, int(minor), _fields(lines[1:]))
    except ValueError as exc:
        raise BadRequest(400, f"a header of the request is malformed: {exc}") from exc


def parse_response_head(block: bytes) -> ResponseHead:
    """Read a response's head, its last empty line included. Raises BadResponse."""
    lines = block.removesuffix(b"\r\n\r\n").split(b"\r\n")
    match = _STATUS_LINE.fullmatch(lines[0])
    if not match:
        raise BadResponse(f"not an HTTP/1.1 status line: {lines[0][:80]!r}")
    minor, status, reason = match.groups()
    try:
        return ResponseHead(int(status), (reason or b"").decode("latin-1"), int(minor), _fields(lines[1:]))
    except ValueError as exc:
        raise BadResponse(f"a header of the response is malformed: {exc}") from exc


def _fields(lines: Sequence[bytes]) -> Headers:
    fields = []
    for line in lines:
        match = _FIELD.fullmatch(line)
        if not match:
            raise ValueError(f"{line[:80]!r}")
        name, value = match.groups()
        fields.append((name.decode("ascii"), value.rstrip(b" \t").decode("latin-1")))
    return tuple(fields)


def framing_of(method: str, head: ResponseHead) -> Framing:
    """Say how the body of a response ends. Raises BadResponse."""
    if not has_body(method, head.status):
        return Sized(0)
    if (find_header(head.headers, "transfer-encoding") or "").lower().endswith("chunked"):
        return Chunked()
    length = find_header(head.headers, "content-length")
    if length is None:
        return UntilClose()
    if not _DIGITS.fullmatch(length):
        raise BadResponse(f"not a length: {length!r}")
    return Sized(int(length))


def has_body(method: str, status: int) -> bool:
    """Whether a response to `method` with this status has a body at all."""
    return method != "HEAD" and status >= 200 and status not in (204, 304)


def write_request_head(method: str, target: str, headers: Headers) -> bytes:
    """Write a request's head."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "\r\n"]
    return "\r\n".join(lines).encode("latin-1")


def write_head(status: int, reason: str, headers: Headers, extra: Headers) -> bytes:
    """Write a response's head: `headers` as they are but for those of the connection, then `extra`."""
    lines = [f"HTTP/1.1 {status} {reason}"]
    lines += [f"{name}: {value}" for name, value in headers if name.lower() not in HOP_BY_HOP]
    lines += [f"{name}: {value}" for name, value in extra]
    lines.append("\r\n")
    return "\r\n".join(lines).encode("latin-1")
