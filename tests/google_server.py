"""A server that answers as Google's does, for tests of what passes through the gateway.

Its answers have the shapes that Google's reference of the API documents (GenerateContentResponse, UsageMetadata,
PromptFeedback, Status) and that public recordings of generativelanguage.googleapis.com show: the order of members, the
indentation of whole answers, CRLF in streams, the usage told again with every piece, thoughts and signatures, an empty
last piece. Texts, ids and signatures are made up.
"""

import gzip
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEY = "google-real-key-0001"
MODEL = "gemini-2.5-pro"
SIGNATURE = "CpwBAVSoXO4yq1Zb0kT7c2lnbmF0dXJlX29mX2FfdGhvdWdodF90aGF0X25vYm9keV9jYW5fcmVhZA=="


def usage(prompt: int, said: int, thoughts: int = 0, **more: Any) -> dict[str, Any]:
    counts = {"promptTokenCount": prompt, "candidatesTokenCount": said, "totalTokenCount": prompt + said + thoughts}
    details = {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}]}
    return {**counts, **details, **({"thoughtsTokenCount": thoughts} if thoughts else {}), **more}


def piece(parts: Sequence[dict[str, Any]], counts: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}}
    if finish:
        candidate["finishReason"] = finish
    told = {"usageMetadata": counts, "modelVersion": MODEL, "responseId": "mNQ0aZ-1KpfRz7IPzqnWgAo"}
    return {"candidates": [{**candidate, "index": 0}], **told}


CALLS: list[dict[str, Any]] = [
    piece([{"text": "**Looking around**\n\nI should list", "thought": True}], usage(5120, 0, 31)),
    piece([{"text": " the files first.", "thought": True}], usage(5120, 0, 54)),
    piece([{"text": "I will look"}], usage(5120, 3, 54)),
    piece([{"text": " at what is there."}], usage(5120, 8, 54)),
    piece(
        [
            {"functionCall": {"name": "list_directory", "args": {"dir_path": "."}}, "thoughtSignature": SIGNATURE},
            {"functionCall": {"name": "read_file", "args": {"file_path": "naïve.py", "limit": 1e3}}},
        ],
        usage(5120, 46, 54, cachedContentTokenCount=4080),
    ),
    piece([{"text": ""}], usage(5120, 46, 54, cachedContentTokenCount=4080, serviceTier="standard"), "STOP"),
]
"""A model that thinks, speaks, and calls two functions; a part of its prompt was cached."""

SEARCHED = piece([{"text": "It is 42."}], usage(20, 7, 11, toolUsePromptTokenCount=90, totalTokenCount=128), "STOP")
"""An answer for which a tool of Google's own was used."""

EMPTY = {
    "candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0}],
    "usageMetadata": {"promptTokenCount": 15, "totalTokenCount": 17, "thoughtsTokenCount": 2},
    "modelVersion": MODEL,
}
"""The limit was reached before the model had said anything."""

BLOCKED = {
    "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
    "usageMetadata": {"promptTokenCount": 12, "totalTokenCount": 12},
    "modelVersion": MODEL,
}
"""The prompt was not answered at all."""

EXHAUSTED = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}],
    }
}


def as_events(pieces: Sequence[dict[str, Any]]) -> list[bytes]:
    return [b"data: " + json.dumps(each).encode() + b"\r\n\r\n" for each in pieces]


def as_array(pieces: Sequence[dict[str, Any]]) -> list[bytes]:
    texts = [json.dumps(each, indent=2).encode() for each in pieces]
    return [
        (b",\r\n" if at else b"[") + text + (b"\n]\n" if at == len(texts) - 1 else b"\n")
        for at, text in enumerate(texts)
    ]


@dataclass
class GoogleServer:
    """What the server was asked, and what it answers to whatever is asked."""

    pieces: Sequence[dict[str, Any]]
    status: int = 200
    compressed: bool = False
    url: str = ""
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)
    """Path, query and body of each request, as they came."""
    keys: list[str | None] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.rel_url.raw_path, request.rel_url.raw_query_string, await request.read()))
        self.keys.append(request.headers.get("x-goog-api-key"))
        streamed = "streamGenerateContent" in request.path and self.status < 400
        sse = request.query.get("alt") == "sse"
        if not streamed:
            return self._whole(json.dumps(self.pieces[0], indent=2).encode() + b"\n")
        kind = "text/event-stream" if sse else "application/json; charset=UTF-8"
        response = web.StreamResponse(headers={"Content-Type": kind, "Vary": "Origin, X-Origin, Referer"})
        if self.compressed:
            response.headers["Content-Encoding"] = "gzip"
        await response.prepare(request)
        for text in as_events(self.pieces) if sse else as_array(self.pieces):
            await response.write(gzip.compress(text, mtime=0) if self.compressed else text)
        return response

    def _whole(self, text: bytes) -> web.Response:
        headers = {"Content-Type": "application/json; charset=UTF-8", "Server": "scaffolding on HTTPServer2"}
        if self.compressed:
            headers["Content-Encoding"], text = "gzip", gzip.compress(text, mtime=0)
        return web.Response(status=self.status, body=text, headers=headers)


@asynccontextmanager
async def google_server(
    *pieces: dict[str, Any], status: int = 200, compressed: bool = False
) -> AsyncIterator[GoogleServer]:
    """Serve one answer, in whatever form it is asked for."""
    server = GoogleServer(pieces, status=status, compressed=compressed)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
