"""A conversation with a model that has no tools: it is shown the workspace's files with the first prompt, and what it
answers in blocks that name a file is written.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import orjson

from benchflow.chat.blocks import read_blocks, show_files, write_block
from benchflow.contracts import (
    CostBreakdown,
    CreateSessionParams,
    Event,
    EventType,
    PromptMetrics,
    PromptResult,
    TimingBreakdown,
    ToolCallBreakdown,
)
from benchflow.errors import ErrorCode, TrialError
from benchflow.gateway.http.client import HttpClient
from benchflow.gateway.message import UpstreamCut

DIALECT = "openai-completions"
INSTRUCTIONS = """\
You are given a task in a folder of files. You cannot run anything: your answer is all that you do. To write a file,
give its whole content in a fenced code block that names it, as here:

```path=folder/name.txt
content
```

Every such block is written to the folder, in place of what was there. These are the folder's files:
"""
STOP_REASONS = {"length": "max_tokens", "content_filter": "refusal"}
"""ACP's words for how an answer ended; all else is the end of the turn."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model answered."""

    text: str
    finish_reason: str
    """The server's word for how it ended; empty: it does not say."""

    @classmethod
    def of(cls, choice: Any) -> Self:
        """Read a choice of a chat completion. Raises LookupError, TypeError or ValueError for what is none."""
        text, reason = dict(choice["message"]).get("content") or "", choice.get("finish_reason") or ""
        if not isinstance(text, str) or not isinstance(reason, str):
            raise TypeError("content and finish_reason are texts")
        return cls(text=text, finish_reason=reason)


@dataclass
class Conversation:
    """One conversation, whose answers become files."""

    params: CreateSessionParams
    client: HttpClient
    messages: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    written: int = 0
    refused: int = 0

    async def ask(self, text: str) -> PromptResult:
        """Send a prompt, take the answer, and write its files."""
        if not self.messages:
            before = [self.params.system_instructions] if self.params.system_instructions else []
            system = "\n\n".join([*before, INSTRUCTIONS + "\n" + show_files(self.params.workspace)])
            self.messages.append({"role": "system", "content": system})
        begun = self.params.clock.mono_ms()
        self.messages.append({"role": "user", "content": text})
        try:
            answer = await self._request()
        except TrialError as error:
            return self._result(begun, "", error=error)
        said = answer.text
        self.messages.append({"role": "assistant", "content": said})
        await self._tell("agent_message", {"text": said})
        for block in read_blocks(said):
            refusal = write_block(block, self.params.workspace)
            self.written += refusal is None
            self.refused += refusal is not None
            await self._tell("notice", {"text": f"{block.path}: {refusal or 'written'}"})
        return self._result(begun, said, stop_reason=STOP_REASONS.get(answer.finish_reason, "end_turn"))

    async def _request(self) -> Answer:
        """Ask the model. Raises TrialError for a failure of its server, of ours, or of what was sent."""
        endpoint = self.params.endpoint
        assert endpoint is not None
        url = f"{endpoint.base_urls[DIALECT]}/chat/completions"
        headers = (("Content-Type", "application/json"), ("Authorization", f"Bearer {endpoint.api_key}"))
        body = orjson.dumps({"model": self.params.model, "messages": self.messages})
        try:
            head, chunks = await self.client.send("POST", url, headers, body, lambda: None)
            content = b"".join([chunk async for chunk in chunks])
        except UpstreamCut as exc:
            raise TrialError("upstream", str(exc)) from exc
        if head.status >= 400:
            said = content[:500].decode("utf-8", "replace")
            raise TrialError(self._code(head.status), f"the model's server answered {head.status}: {said}")
        try:
            return Answer.of(orjson.loads(content)["choices"][0])
        except (ValueError, LookupError, TypeError) as exc:
            raise TrialError("upstream", f"the model's server sent what is no chat completion: {exc}") from exc

    def _code(self, status: int) -> ErrorCode:
        if status in (401, 403, 408, 429) or status >= 500:
            return "upstream"
        return "rejected" if len(self.messages) > 2 else "setup"

    async def _tell(self, kind: EventType, data: dict[str, Any]) -> None:
        stamp = self.params.clock.now()
        event = Event(
            seq=len(self.events),
            ts=stamp.ts,
            mono_ms=stamp.mono_ms,
            type=kind,
            source="harness",
            session_id="",
            data=data,
        )
        self.events.append(event)
        for observer in self.params.observers:
            await observer.on_event(event)

    def _result(
        self,
        begun: float,
        text: str,
        *,
        stop_reason: str | None = None,
        error: TrialError | None = None,
    ) -> PromptResult:
        return PromptResult(
            text=text,
            metrics=PromptMetrics(
                tokens=None,  # the gateway meters
                timing=TimingBreakdown(wall_ms=round(self.params.clock.mono_ms() - begun, 3)),
                tool_calls=ToolCallBreakdown(),
                cost=CostBreakdown(total_usd=None),
            ),
            completion_reason="error" if error else "stop",
            stop_reason=stop_reason,
            error=str(error) if error else None,
            error_code=error.code if error else None,
        )
