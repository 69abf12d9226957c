"""One HTTP request in a few lines: the standard library's client takes longer to import than the whole agent to run."""

import socket
from collections.abc import Callable

CONNECT_TIMEOUT_S = 30.0


class Broken(Exception):
    """The model did not answer, or not with success."""


def post(url: str, key: str, body: bytes, wait: Callable[[int], bool]) -> bytes | None:
    """Post JSON to an `http://` address and return the body of the response. Raises Broken for any other end.

    `wait` is given a descriptor and returns when it can be read; if it says False, the request is dropped: None.
    """
    authority, _, path = url.removeprefix("http://").partition("/")
    host, _, port = authority.partition(":")
    head = (
        f"POST /{path} HTTP/1.0\r\nHost: {authority}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    try:
        with socket.create_connection((host, int(port or 80)), CONNECT_TIMEOUT_S) as connection:
            connection.sendall(head.encode() + body)
            received: list[bytes] = []
            while True:
                if not wait(connection.fileno()):
                    return None
                block = connection.recv(1 << 20)
                if not block:
                    return _body(b"".join(received))
                received.append(block)
    except OSError as error:
        raise Broken(str(error)) from error


def _body(response: bytes) -> bytes:
    head, end, body = response.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    if not end or not status:
        raise Broken("the connection was cut")
    if not status[0].startswith(b"2"):
        raise Broken(f"status {status[0].decode('latin-1')}: {body[:500].decode('utf-8', 'replace')}")
    return body
