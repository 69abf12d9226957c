"""OpenAI's chat completions, streamed: one request, one answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchflow.agents.mini.http import HttpError, Response, post

ATTEMPTS = 3
_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 30.0

Listener = Callable[[str], Awaitable[None]]


class ModelError(Exception):
    """The model's API refused, failed, or broke off."""

    def __init__(
        self, message: str, *, status: int | None = None, retryable: bool = False, retry_after: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    id: str
    name: str
    arguments: str
    """As the model wrote them; to be JSON."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one answer, or of several. `input` includes what was read from a cache."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cached=self.cached + other.cached,
            reasoning=self.reasoning + other.reasoning,
        )


@dataclass(kw_only=True)
class Answer:
    """A model's answer; grows while it comes."""

    text: str = ""
    thought: str = ""
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    finish: str | None = None
    usage: Usage | None = None

    @property
    def is_empty(self) -> bool:
        """Nothing of it has come yet."""
        return not (self.text or self.thought or self.calls)

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls, in the order in which the model made them."""
        return [ToolCall(**call) for _, call in sorted(self.calls.items())]

    def add_call(self, delta: dict[str, Any], position: int) -> None:
        """Take a piece of a tool call."""
        index = delta.get("index", position)
        call = self.calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        function = delta.get("function") or {}
        call["id"] = delta.get("id") or call["id"] or f"call_{index}"
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""


@dataclass(frozen=True, kw_only=True)
class ChatApi:
    """A server of chat completions."""

    base_url: str
    api_key: str

    async def complete(
        self,
        *,
        model: str,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
        on_text: Listener,
        on_thought: Listener,
    ) -> Answer:
        """Ask for an answer, and hand on its text as it comes. Raises ModelError.

        What failed before the answer began, and may work the next time, is tried again.
        """
        body = {"model": model, "messages": messages, "tools": tools, "stream": True}
        body["stream_options"] = {"include_usage": True}
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        for attempt in range(1, ATTEMPTS + 1):
            answer = Answer()
            try:
                await self._ask(content, answer, on_text, on_thought)
            except ModelError as error:
                if attempt == ATTEMPTS or not error.retryable or not answer.is_empty:
                    raise
                await asyncio.sleep(_wait_s(error.retry_after, attempt))
            else:
                return answer
        raise AssertionError("the last attempt returns or raises")

    async def _ask(self, content: bytes, answer: Answer, on_text: Listener, on_thought: Listener) -> None:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", "User-Agent": "benchflow-mini"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        try:
            async with post(f"{self.base_url.rstrip('/')}/chat/completions", headers, content) as response:
                await _read(response, answer, on_text, on_thought)
        except HttpError as exc:
            raise ModelError(f"the model's API failed: {exc}", retryable=True) from exc


async def _read(response: Response, answer: Answer, on_text: Listener, on_thought: Listener) -> None:
    if response.status >= 400:
        text = (await response.text())[:2_000]
        raise ModelError(
            f"the model's API answered {response.status}: {_error_text(text)}",
            status=response.status,
            retryable=response.status in _RETRIED,
            retry_after=response.headers.get("retry-after"),
        )
    async for event in _events(response):
        await _take(event, answer, on_text, on_thought)
    if answer.finish is None:
        raise ModelError("the model's API ended its answer before it was complete", retryable=True)


async def _events(response: Response) -> AsyncIterator[dict[str, Any]]:
    """Yield the JSON values of an event stream, or of a response that is one JSON value."""
    if "event-stream" not in response.headers.get("content-type", ""):
        yield _parse(await response.text())
        return
    async for line in response.lines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            yield _parse(data)


async def _take(event: dict[str, Any], answer: Answer, on_text: Listener, on_thought: Listener) -> None:
    if error := event.get("error"):
        raise ModelError(f"the model's API failed: {error.get('message') if isinstance(error, dict) else error}")
    if usage := event.get("usage"):
        answer.usage = _usage(usage)
    for choice in event.get("choices") or ():
        delta = choice.get("delta") or choice.get("message") or {}
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            answer.thought += thought
            await on_thought(thought)
        if text := delta.get("content"):
            answer.text += text
            await on_text(text)
        for position, call in enumerate(delta.get("tool_calls") or ()):
            answer.add_call(call, position)
        answer.finish = choice.get("finish_reason") or answer.finish


def _usage(usage: dict[str, Any]) -> Usage:
    prompt, completion = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
    return Usage(
        input=usage.get("prompt_tokens") or 0,
        output=usage.get("completion_tokens") or 0,
        cached=prompt.get("cached_tokens") or 0,
        reasoning=completion.get("reasoning_tokens") or 0,
    )


def _parse(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise ModelError(f"the model's API sent what is not JSON: {text[:200]!r}") from exc
    if not isinstance(value, dict):
        raise ModelError(f"the model's API sent what is no object: {text[:200]!r}")
    return value


def _error_text(body: str) -> str:
    try:
        error = json.loads(body)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        return body.strip() or "nothing"


def _wait_s(retry_after: str | None, attempt: int) -> float:
    try:
        return min(float(retry_after or ""), _LONGEST_WAIT_S)
    except ValueError:
        return 0.5 * 2**attempt
