"""Stands between a client and a server and keeps every byte that passes, both ways."""

import re
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from socketserver import BaseRequestHandler, ThreadingTCPServer


@dataclass
class Conversation:
    """What passed on one connection."""

    sent: bytearray = field(default_factory=bytearray)
    answered: bytearray = field(default_factory=bytearray)

    @property
    def posted(self) -> list[bytes]:
        """The bodies of the requests, in order; of one that was cut, what came of it."""
        bodies, rest = [], bytes(self.sent)
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            size = int(length[1]) if length else 0
            if head.startswith(b"POST"):
                bodies.append(rest[:size])
            rest = rest[size:]
        return bodies

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the answers, in order, taken out of their frames; of one that was cut, what came of it."""
        file, bodies = BytesIO(bytes(self.answered)), []
        while file.tell() < len(self.answered):
            response = HTTPResponse(_Canned(file), method="POST")  # type: ignore[arg-type]
            response.begin()
            pieces: list[bytes] = []
            try:
                while piece := response.read1():
                    pieces.append(piece)
            except (ValueError, OSError, HTTPException):
                pass
            bodies.append(b"".join(pieces))
            if response.will_close:
                break
        return bodies


class _Canned:
    """A socket of which all has arrived."""

    def __init__(self, file: BytesIO) -> None:
        self._file = file

    def makefile(self, mode: str) -> "_Open":
        return _Open(self._file)


class _Open(BytesIO):
    """Reads from another file, and leaves it open."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__()
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        return self._file.read(size)

    def read1(self, size: int | None = -1, /) -> bytes:
        return self._file.read1(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._file.readline(size)


@dataclass
class Tap:
    """A port that leads to the server."""

    port: int
    conversations: list[Conversation] = field(default_factory=list)


@contextmanager
def tapped(server: int) -> Iterator[Tap]:
    """Pass what comes on another port on to the port `server` while the block runs."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            conversation = Conversation()
            tap.conversations.append(conversation)
            with socket.create_connection(("127.0.0.1", server)) as onward, selectors.DefaultSelector() as selector:
                selector.register(self.request, selectors.EVENT_READ, (self.request, onward, conversation.sent))
                selector.register(onward, selectors.EVENT_READ, (onward, self.request, conversation.answered))
                while all(_pass_on(*key.data) for key, _ in selector.select()):
                    pass

    class Server(ThreadingTCPServer):
        daemon_threads = False

    with Server(("127.0.0.1", 0), Handler) as listener:
        tap = Tap(listener.server_address[1])
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        try:
            yield tap
        finally:
            listener.shutdown()
            thread.join()


def _pass_on(source: socket.socket, sink: socket.socket, kept: bytearray) -> bool:
    try:
        data = source.recv(65536)
        kept += data
        sink.sendall(data)
    except OSError:
        return False
    return bool(data)
