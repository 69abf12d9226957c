"""A small agent in one process, for tests of upstreams that play: its tools, and what it makes of them, are data.

It talks to an upstream through the dialect's bytes, so that nothing is known to either side but the wire.
"""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchflow.gateway.dialects.chat import Chat
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.message import Assembled, RawRequest, RawResponse, ToolUse
from benchflow.gateway.reading import understand
from benchflow.gateway.upstream import TrialContext, Upstream

Tool = Callable[[Mapping[str, Any], Path], str]


def schema(required: Sequence[str] = (), **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT = {"type": "string"}


def run(argv: Sequence[str], folder: Path) -> str:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    return done.stdout + done.stderr


def write(path: str, content: str, folder: Path) -> str:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.encode())
    return f"Wrote {path}."


@dataclass(kw_only=True)
class ToolAgent:
    """Loops until the model calls no tool."""

    folder: Path
    upstream: Upstream
    context: TrialContext
    tools: Mapping[str, tuple[dict[str, Any], Tool]]
    """Name → the definition beside its name, and what it does."""
    stream: bool = True
    rename: Callable[[str], str] = lambda call_id: call_id
    """What the agent makes of the ids that the model gives its calls."""
    extra: Sequence[Mapping[str, Any]] = ()
    """Messages that the agent puts after each result."""
    choice: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    answers: list[Assembled] = field(default_factory=list)
    responses: list[RawResponse] = field(default_factory=list)

    async def prompt(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        for _ in range(40):
            answer = await self.ask()
            if not answer.tool_calls:
                self.messages.append({"role": "assistant", "content": answer.text})
                return answer.text
            self._use(answer.tool_calls, answer.text)
        raise AssertionError("the model never ends")

    async def ask(self) -> Assembled:
        response = await send(self.upstream, self.context, self.body())
        assembler = Chat().assembler()
        async for chunk in response.chunks:
            assembler.feed(chunk)
        self.responses.append(response)
        self.answers.append(assembler.result())
        return self.answers[-1]

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"model": "m", "messages": self.messages, "stream": self.stream}
        if self.tools:
            body["tools"] = [
                {"type": "function", "function": {"name": name, **definition}}
                for name, (definition, _) in self.tools.items()
            ]
        if self.choice:
            body["tool_choice"] = self.choice
        return body

    def _use(self, calls: Sequence[ToolUse], text: str) -> None:
        shown = [
            {
                "id": self.rename(call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in calls
        ]
        self.messages.append({"role": "assistant", "content": text, "tool_calls": shown})
        for call in calls:
            definition, tool = self.tools[call.name]
            missing = set(definition["parameters"]["required"]) - call.arguments.keys()
            result = f"Error: missing {missing}" if missing else tool(call.arguments, self.folder)
            self.messages.append({"role": "tool", "tool_call_id": self.rename(call.id), "content": result})
        self.messages.extend(dict(message) for message in self.extra)


async def send(upstream: Upstream, context: TrialContext, body: Mapping[str, Any]) -> RawResponse:
    request = RawRequest(
        method="POST", path="/v1/chat/completions", query="", headers=(), body=json.dumps(body).encode()
    )
    return await upstream.send(request, understand(request, context, DIALECTS))
