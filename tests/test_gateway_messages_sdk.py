"""Anthropic's own client as the gateway's peer: what it makes of what the gateway writes.

Run by hand, with the package `anthropic` installed: `pytest -m real tests/test_gateway_messages_sdk.py`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from wire import MODEL, PROMPT, opened

from benchflow.gateway.message import ToolUse
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer

pytestmark = pytest.mark.real

anthropic = pytest.importorskip("anthropic", reason="the package `anthropic` is not installed")

CALL = ToolUse(id="toolu_1", name="bash", arguments={"command": 'echo "é"\n'})
TOOL = {"name": "bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}
ASKED: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 64,
    "system": [{"type": "text", "text": "Be good.", "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": PROMPT}],
    "tools": [TOOL],
}


@asynccontextmanager
async def client_of(folder: Path, *answers: ScriptedAnswer) -> AsyncIterator[Any]:
    async with (
        opened(Script(answers), folder) as gateway,
        anthropic.AsyncAnthropic(api_key="trial", base_url=f"http://127.0.0.1:{gateway.port}", max_retries=0) as client,
    ):
        yield client


async def test_answers_are_read_streamed_and_not(tmp_path: Path) -> None:
    answer = ScriptedAnswer(text="Let me see.", tool_calls=(CALL,))
    async with client_of(tmp_path, answer) as client:
        whole = await client.messages.create(**ASKED)
        async with client.messages.stream(**ASKED) as stream:
            streamed = await stream.get_final_message()
        beta = await client.beta.messages.create(**ASKED, betas=["context-management-2025-06-27"])

    for message in (whole, streamed, beta):
        text, use = message.content
        assert (text.text, use.id, use.name, use.input) == ("Let me see.", CALL.id, CALL.name, CALL.arguments)
        assert (message.stop_reason, message.model, message.usage.output_tokens) == ("tool_use", MODEL, 11)


async def test_models_and_counts_are_read(tmp_path: Path) -> None:
    async with client_of(tmp_path, ScriptedAnswer(text="x")) as client:
        models = [model.id async for model in client.models.list()]
        counted = await client.messages.count_tokens(model=MODEL, messages=ASKED["messages"])

    assert (models, counted.input_tokens > 0) == ([MODEL], True)


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (404, "NotFoundError"),
        (429, "RateLimitError"),
        (529, "OverloadedError"),
    ],
)
async def test_refusals_are_the_clients_own_errors(status: int, name: str, tmp_path: Path) -> None:
    async with client_of(tmp_path, ScriptedAnswer(text="no", status=status)) as client:
        with pytest.raises(anthropic.APIStatusError, match="no") as raised:
            await client.messages.create(**ASKED)

    assert (type(raised.value).__name__, raised.value.status_code) == (name, status)
