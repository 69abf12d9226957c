"""Makes a capture of the logs of one run, in the same way for both sides."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from benchflow.contracts import SessionTrace
from benchflow.gateway.http.encoding import Undecodable
from benchflow.gateway.message import RawRequest, find_header
from benchflow.gateway.reading import plain
from benchflow.gateway.records.exchanges import RecordedExchange, read_exchanges
from benchflow.parity.capture import FileState, ToolStep, WireRequest
from benchflow.parity.form import form_of
from benchflow.parity.headers import compared_headers
from benchflow.store import EXCHANGE_LOG
from benchflow.workspaces.snapshot import Entry, take_snapshot

SHORT = 16 * 1024
"""Bytes up to which a file's text is kept, so that a difference can be shown."""
_GIT = ".git/"


def read_requests(folder: Path) -> tuple[WireRequest, ...]:
    """Read the requests in a folder of logs, in the order in which they arrived."""
    path = folder / EXCHANGE_LOG
    recorded = sorted(read_exchanges(path), key=lambda each: each.seq) if path.exists() else []
    return tuple(map(_request, recorded))


def port_of(folder: Path) -> int | None:
    """Return the port at which the agent found its model; None: it asked nothing."""
    for recorded in read_exchanges(folder / EXCHANGE_LOG) if (folder / EXCHANGE_LOG).exists() else ():
        port = (find_header(recorded.request.headers, "host") or "").rpartition(":")[2]
        if port.isdecimal():
            return int(port)
    return None


def _request(recorded: RecordedExchange) -> WireRequest:
    line, raw = recorded.line, recorded.request
    content = _content(raw)
    return WireRequest(
        role=line["role"],
        kind=line["kind"],
        after_prompt=line["after_prompt"],
        method=raw.method,
        path=raw.path,
        query=raw.query,
        headers=compared_headers(raw.headers),
        body=_value(content),
        form=form_of(content),
        sha256=line["request"]["sha256_received"],
        forwarded=line["request"]["sha256_forwarded"],
        changes=recorded.changes,
    )


def _content(request: RawRequest) -> bytes:
    try:
        return plain(request).body
    except Undecodable:
        return request.body


def _value(content: bytes) -> Any:
    """Read the body: JSON, else a text, else what bytes are written as."""
    try:
        return orjson.loads(content)
    except ValueError:
        pass
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def read_tools(trace: SessionTrace) -> tuple[ToolStep, ...]:
    """Return the tool calls of a session, in order."""
    return tuple(
        ToolStep(name=record.name or record.kind or "?", status=record.status) for record in trace.tool_calls.records
    )


def read_stops(trace: SessionTrace) -> tuple[str | None, ...]:
    """Return the stop reason of each prompt."""
    return tuple(event.data.get("stop_reason") for event in trace.events if event.type == "prompt_end")


def read_files(workspace: Path, *, skip: Sequence[str] = (_GIT,)) -> dict[str, FileState]:
    """Read the files of a workspace. Git's own are left out: they are full of times and numbers of the disk."""
    found = take_snapshot(workspace, lambda path: not any(path.startswith(part) or f"/{part}" in path for part in skip))
    return {path: _file(entry) for path, entry in found.items()}


def _file(entry: Entry) -> FileState:
    return FileState(sha256=entry.digest.hex(), executable=entry.executable, text=_short_text(entry))


def _short_text(entry: Entry) -> str | None:
    if entry.content is None or len(entry.content) > SHORT:
        return None
    try:
        return entry.content.decode()
    except UnicodeDecodeError:
        return None
