"""Captures for tests of parity: real requests of an agent of each dialect, as one side and the other may have them."""

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from recorded import FOLDER

from benchflow.parity.capture import Capture, FileState, Result, Setting, ToolStep, Where, WireRequest
from benchflow.parity.form import form_of

AGENTS = {
    "openai-completions": "opencode",
    "anthropic-messages": "claude-agent-acp",
    "openai-responses": "codex-acp",
    "google-generative-ai": "gemini",
}
"""Of whom the requests of a dialect are."""
PROMPT = "Please create hello.txt that holds the word hello, then say the answer."
ALONE = Setting(
    workspace="/srv/parity-x1/workspace",
    home="/srv/parity-x1/home",
    tmp="/srv/parity-x1/tmp",
    model="gpt-4.1",
    port=45123,
    prompts=(PROMPT,),
    day="2026-11-23",
)
INSIDE = Setting(
    workspace="/workspace",
    home="/home/agent",
    tmp="/tmp",
    model="gpt-4.1",
    port=4141,
    prompts=(PROMPT,),
    day="2026-11-22",
)
"""The requests were recorded in such a place."""
HEADERS = {
    "content-type": "application/json",
    "accept": "*/*",
    "user-agent": "agent/1.0",
    "authorization": "Bearer …",
    "anthropic-beta": "tools-2026-01-01",
}
RESULT = Result(
    score=1.0,
    success=True,
    stop_reasons=("end_turn",),
    tools=(ToolStep(name="write", status="completed"), ToolStep(name="bash", status="completed")),
    files={"hello.txt": FileState(sha256="5a", executable=False, text="hello\n")},
)

Edit = Callable[[list[dict[str, Any]]], None]
"""Changes requests, each `{path, role, body, headers}`, in place."""


def recorded_entries(dialect: str) -> list[dict[str, Any]]:
    """Return the first few requests of the dialect's agent; each may be changed."""
    lines = (FOLDER / f"{AGENTS[dialect]}.jsonl").read_text().splitlines()[:6]
    entries = [json.loads(line) for line in lines]
    return [{**entry, "headers": dict(HEADERS)} for entry in entries]


def captured(dialect: str, *, where: Where = "inside", edit: Edit | None = None, **fields: Any) -> Capture:
    """Return the capture of an agent of the dialect, its requests changed by `edit`, as in `INSIDE`."""
    entries = recorded_entries(dialect)
    if edit:
        edit(entries)
    setting = fields.pop("setting", INSIDE)
    return capture_of([request_of(**entry) for entry in entries], where=where, setting=setting, **fields)


def elsewhere(capture: Capture, own: Mapping[str, str]) -> Capture:
    """Return the same capture as a run in the other place would have it: each key of `own` is its value there."""

    def moved(request: WireRequest) -> WireRequest:
        text = json.dumps(request.body)
        for here, there in own.items():
            text = re.sub(rf"{re.escape(here)}(?!_)", there, text)
        return request_of(path=request.path, role=request.role, body=json.loads(text), headers=dict(request.headers))

    return replace(capture, where="alone", setting=ALONE, requests=tuple(map(moved, capture.requests)))


def capture_of(
    requests: list[WireRequest], *, where: Where = "inside", setting: Setting = INSIDE, **fields: Any
) -> Capture:
    """Return a capture with these requests."""
    known: dict[str, Any] = {
        "where": where,
        "agent": "a",
        "agent_digest": "d",
        "agent_version": "1",
        "scenario": "s",
        "scenario_digest": "e",
        "isolation": None if where == "alone" else "bubblewrap",
        "began": "2026-11-22T00:00:00Z",
        "took_s": 1.0,
        "setting": setting,
        "requests": tuple(requests),
        "result": RESULT,
    }
    return Capture(**{**known, **fields})


def request_of(path: str, role: Any, body: Any, headers: Mapping[str, str], **_: Any) -> WireRequest:
    """Return a request with this body."""
    content = json.dumps(body).encode()
    return WireRequest(
        role=role,
        kind="generate",
        after_prompt=False,
        method="POST",
        path=path,
        query="",
        headers=headers,
        body=copy.deepcopy(body),
        form=form_of(content),
        sha256=sha256(content).hexdigest(),
        forwarded=sha256(content).hexdigest(),
    )
