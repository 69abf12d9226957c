"""One plain HTTP GET, through the proxy that the environment names: how the fake agent asks a backend of its own."""

import os
import socket

TIMEOUT_S = 10.0


def fetch(url: str) -> str:
    """Return the status and the body, or what went wrong, as text."""
    authority, _, path = url.removeprefix("http://").partition("/")
    proxy = os.environ.get("http_proxy", "").removeprefix("http://").rstrip("/")
    target = url if proxy else f"/{path}"
    host, _, port = (proxy or authority).partition(":")
    request = f"GET {target} HTTP/1.0\r\nHost: {authority}\r\n\r\n"
    received = b""
    try:
        with socket.create_connection((host, int(port or 80)), TIMEOUT_S) as connection:
            connection.sendall(request.encode())
            while block := connection.recv(1 << 16):
                received += block
    except OSError as error:
        return f"failed: {error}"
    head, _, body = received.partition(b"\r\n\r\n")
    status = head.decode("latin-1").split(" ")[1:2]
    return f"{' '.join(status)} {body.decode('utf-8', 'replace')}"
