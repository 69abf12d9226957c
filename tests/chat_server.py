"""A chat completions server that plays a script, for tests of agents."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(kw_only=True)
class Reply:
    """One answer of the server."""

    text: str = ""
    thought: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Name and arguments of tool calls."""
    finish: str = "stop"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    plain: bool = False
    """Not streamed, although it was asked to be."""
    cut: bool = False
    """Breaks off before its end."""
    hangs: bool = False
    """Says its text and then nothing."""


@dataclass
class ChatServer:
    """What the server was asked, and what it will answer."""

    replies: list[Reply | Callable[[dict[str, Any]], Reply]]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """A reply that hangs was asked for."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """The client of a reply that hangs has gone."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        reply = self.replies[len(self.requests) - 1]
        reply = reply(body) if callable(reply) else reply
        if reply.status >= 400:
            error = {"error": {"message": reply.text}}
            return web.json_response(error, status=reply.status, headers=reply.headers)
        if reply.plain:
            message = {"role": "assistant", "content": reply.text}
            choice = {"index": 0, "message": message, "finish_reason": reply.finish}
            return web.json_response({"choices": [choice], "usage": reply.usage})
        return await self._stream(request, reply)

    async def _stream(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for delta in _deltas(reply):
            await _send(response, {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if reply.hangs:
            self.reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        if not reply.cut:
            finish = "tool_calls" if reply.calls else reply.finish
            await _send(response, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
            if reply.usage:
                await _send(response, {"choices": [], "usage": reply.usage})
            await response.write(b"data: [DONE]\n\n")
        elif request.transport:
            request.transport.abort()
        return response


@asynccontextmanager
async def chat_server(*replies: Reply | Callable[[dict[str, Any]], Reply]) -> AsyncIterator[ChatServer]:
    """Serve the replies, one for each request."""
    server = ChatServer(list(replies))
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()


def _deltas(reply: Reply) -> list[dict[str, Any]]:
    """Cut the reply into small pieces, as servers do."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": word} for word in _pieces(reply.thought)]
    deltas += [{"content": word} for word in _pieces(reply.text)]
    for index, (name, arguments) in enumerate(reply.calls):
        function = {"name": name, "arguments": ""}
        deltas.append({"tool_calls": [{"index": index, "id": f"c{index}", "type": "function", "function": function}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in _pieces(arguments, 7)
        ]
    return deltas


def _pieces(text: str, size: int = 4) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


async def _send(response: web.StreamResponse, event: dict[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
