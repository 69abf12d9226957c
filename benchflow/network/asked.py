"""What a client asks of a forward proxy: a tunnel (CONNECT), or a plain request with a whole URL (RFC 9112). Pure."""

import re
from dataclasses import dataclass

from benchflow.gateway.http.http11 import HOP_BY_HOP, BadRequest, Head, parse_head, write_request_head
from benchflow.network.hosts import plain_name

_CONNECT = re.compile(rb"CONNECT (\[[0-9A-Fa-f:.]+\]|[^:/?#\[\]@\s]+):([0-9]{1,5}) (HTTP/1\.[01])")
_PLAIN = re.compile(
    rb"([A-Z]{1,20}) http://(\[[0-9A-Fa-f:.]+\]|[^:/?#\[\]@\s]+)(?::([0-9]{1,5}))?((?:[/?][!-~]*)?) (HTTP/1\.[01])",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request to a proxy."""

    host: str
    """In lower case, without brackets."""
    port: int
    tunnel: bool
    head: Head
    """What is meant for the server; of a tunnel, only the headers mean anything."""

    def onward(self) -> bytes:
        """Write the head as the server is to see it: for one request, and with the host that was really asked."""
        head = self.head
        target = f"{head.path}?{head.query}" if head.query else head.path
        kept = [
            (name, value)
            for name, value in head.headers
            if name.lower() == "transfer-encoding" or name.lower() not in {*HOP_BY_HOP, "host"}
        ]
        name = f"[{self.host}]" if ":" in self.host else self.host
        place = name if self.port == 80 else f"{name}:{self.port}"
        return write_request_head(head.method, target, (("Host", place), *kept, ("Connection", "close")))


def read_asked(block: bytes) -> Asked:
    """Read the head of a request, its last empty line included. Raises BadRequest."""
    line, _, rest = block.lstrip(b"\r\n").partition(b"\r\n")
    if tunnel := _CONNECT.fullmatch(line):
        host, port, version = tunnel.groups()
        return _asked(host, port, b"CONNECT / " + version + b"\r\n" + rest, tunnel=True)
    if plain := _PLAIN.fullmatch(line):
        method, host, port, path, version = plain.groups()
        target = path if path.startswith(b"/") else b"/" + path
        return _asked(host, port or b"80", b" ".join((method, target, version)) + b"\r\n" + rest, tunnel=False)
    raise BadRequest(400, "this is a proxy: it takes CONNECT host:port, and http:// URLs")


def _asked(host: bytes, port: bytes, block: bytes, *, tunnel: bool) -> Asked:
    head = parse_head(block)
    if not 0 < int(port) < 65536:
        raise BadRequest(400, "there is no such port")
    if not tunnel:
        _ = head.length  # what is not clear is refused before anything is sent on
    return Asked(host=plain_name(host.decode("latin-1")), port=int(port), tunnel=tunnel, head=head)
