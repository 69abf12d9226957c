"""A JSON-RPC peer over a pair of byte streams: requests with deadlines, answers to the agent's requests, and one clear
cause when it ends. It knows nothing of sessions or prompts.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import orjson

from benchflow.clock import Stamp
from benchflow.sandbox.interface import ByteReader, ByteWriter
from benchflow.session.background import Background
from benchflow.session.ending import describe_end, describe_exit
from benchflow.session.framelog import Direction, FrameLog
from benchflow.session.framing import MAX_LINE_BYTES, Json, LineSplitter, LineTooLong
from benchflow.session.rpc import PeerGone, RpcError, encode_notification, encode_request
from benchflow.session.serving import Handler, Serving

MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Bound of what waits to be written to an agent that does not read."""

_EXIT_WAIT_S = 2.0
"""How long a stream's end waits for the process's exit, which says more."""
_QUIET_S = 0.2
_DRAIN_S = 5.0
"""A child may hold stdout open after the agent's exit: what the pipe still holds is read until it is quiet this long,
and for so long at most.
"""

Observe = Callable[[Direction, Json, Stamp], None]


class Reply:
    """The answer to one request, still to come."""

    def __init__(self, request_id: int) -> None:
        self.id = request_id
        self.settled = anyio.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    async def wait(self) -> Any:
        """Return the result. Raises RpcError for an error response, PeerGone when there can be no answer any more."""
        await self.settled.wait()
        if self._error:
            raise self._error
        return self._result

    def settle(self, result: Any) -> None:
        self._result = result
        self.settled.set()

    def fail(self, error: BaseException) -> None:
        self._error = error
        self.settled.set()


class Connection:
    """The client's end of one agent's stdin and stdout. `start` it; whoever does must `aclose` it."""

    def __init__(
        self,
        stdin: ByteWriter,
        stdout: ByteReader,
        *,
        frames: FrameLog,
        handlers: Mapping[str, Handler],
        on_notification: Callable[[str, Any], None],
        observe: Observe | None = None,
        exited: Callable[[], Awaitable[int]] | None = None,
        stderr_tail: Callable[[], str] | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._frames = frames
        self._on_notification = on_notification
        self._observe = observe
        self._exited = exited
        self.stderr_tail = stderr_tail or (lambda: "")
        self._splitter = LineSplitter(max_line_bytes)
        self._background = Background(self._end)
        self._serving = Serving(handlers, self._send, self._background)
        self._replies: dict[Any, Reply] = {}
        self._next_id = 1
        self._outbox: list[bytes] = []
        self._outbox_bytes = 0
        self._outbox_filled = anyio.Event()
        self._blocks = 0
        self._end_of_output = anyio.Event()
        self._exit_known = anyio.Event()
        self._gone: BaseException | None = None

    def start(self) -> None:
        """Begin to read, to write, and to watch the process."""
        self._background.start(self._read())
        self._background.start(self._write())
        if self._exited:
            self._background.start(self._watch(self._exited))

    async def aclose(self) -> None:
        """Stop. The streams stay open: they belong to the process."""
        await self._background.aclose()

    @property
    def heard(self) -> bool:
        """The agent has sent at least one line."""
        return self._frames.heard

    def request(self, method: str, params: Any) -> Reply:
        """Send a request; the answer is the caller's to wait for, or to `forget`."""
        reply = Reply(self._next_id)
        self._next_id += 1
        if self._gone:
            reply.fail(self._gone)
            return reply
        self._replies[reply.id] = reply
        self._send(encode_request(reply.id, method, params))
        return reply

    async def call(self, method: str, params: Any, timeout_s: float | None) -> Any:
        """Send a request and wait for its result. Raises TimeoutError, RpcError or PeerGone."""
        reply = self.request(method, params)
        try:
            with anyio.fail_after(timeout_s):
                return await reply.wait()
        except TimeoutError:
            self.notify("$/cancel_request", {"requestId": reply.id})
            raise
        finally:
            self.forget(reply)

    def forget(self, reply: Reply) -> None:
        """Take an answer that still comes for a stray one: logged, and ignored."""
        self._replies.pop(reply.id, None)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send(encode_notification(method, params))

    # Reading

    async def _read(self) -> None:
        try:
            async for block in self._stdout:
                self._blocks += 1
                self._take(self._splitter.feed(block))
            rest = self._splitter.rest()
            if rest:
                self._take([rest])
        except LineTooLong as error:
            self._end(PeerGone("protocol", self._cause(f"sent {error}")))
            return
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # the stream was closed on our side: as good as its end
        self._end_of_output.set()
        if self._exited:
            with anyio.move_on_after(_EXIT_WAIT_S):
                await self._exit_known.wait()
                return  # the watch has the better cause
        self._end(PeerGone("protocol", self._cause("closed its stdout")))

    def _take(self, lines: list[bytes]) -> None:
        """Record the lines, then act on the frames among them, in order."""
        if not lines:
            return
        frames, stamp = self._frames.received(lines)
        observe = self._observe
        for frame in frames:
            if observe:
                observe("in", frame, stamp)
            method = frame.get("method")
            request_id = frame.get("id")
            if method is None:
                if request_id is not None:
                    self._answered(request_id, frame)
            elif request_id is not None:
                self._serving.request(request_id, method, frame.get("params"))
            elif method == "$/cancel_request":
                self._serving.cancel(frame.get("params"))
            else:
                self._on_notification(method, frame.get("params"))

    def _answered(self, request_id: Any, frame: Json) -> None:
        """Hand a response to whoever waits for it. Ids may come back as strings; strays and repeats are ignored."""
        if isinstance(request_id, str) and request_id.isdecimal():
            request_id = int(request_id)
        if isinstance(request_id, bool) or not isinstance(request_id, int | float):
            return
        reply = self._replies.pop(request_id, None)
        if reply is None:
            return
        if frame.get("error") is not None:
            reply.fail(RpcError.read(frame["error"]))
        else:
            reply.settle(frame.get("result"))

    # Writing

    def _send(self, message: bytes) -> None:
        """Put a message into the queue of the writing task: reading never waits for an agent that does not read."""
        if self._gone:
            return
        self._outbox.append(message)
        self._outbox_bytes += len(message)
        self._outbox_filled.set()
        if self._outbox_bytes > MAX_UNREAD_BYTES:
            self._end(PeerGone("protocol", self._cause(f"left {MAX_UNREAD_BYTES:,} bytes on its stdin unread")))

    async def _write(self) -> None:
        while True:
            await self._outbox_filled.wait()
            messages, self._outbox, self._outbox_filled = self._outbox, [], anyio.Event()
            self._outbox_bytes = 0
            stamp = self._frames.sent(messages)
            if self._observe:
                for message in messages:
                    self._observe("out", orjson.loads(message), stamp)
            try:
                await self._stdin.send(b"\n".join([*messages, b""]))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                break
        with anyio.move_on_after(_EXIT_WAIT_S):
            await self._end_of_output.wait()  # its end has the better cause
            return
        self._end(PeerGone("protocol", self._cause("closed its stdin")))

    # Ending

    async def _watch(self, exited: Callable[[], Awaitable[int]]) -> None:
        """Wait for the agent's exit, read what its stdout still holds, and end."""
        status = await exited()
        self._exit_known.set()
        with anyio.move_on_after(_DRAIN_S):
            while not self._end_of_output.is_set():
                blocks = self._blocks
                with anyio.move_on_after(_QUIET_S):
                    await self._end_of_output.wait()
                if self._blocks == blocks:
                    break
        self._end(PeerGone("exit", self._cause(describe_exit(status))))

    def _cause(self, what: str) -> str:
        return describe_end(what, self.stderr_tail())

    def _end(self, error: BaseException) -> None:
        """Tell everyone who waits why nothing will come any more."""
        if self._gone is None:
            self._gone = error
        replies, self._replies = self._replies, {}
        for reply in replies.values():
            reply.fail(self._gone)
