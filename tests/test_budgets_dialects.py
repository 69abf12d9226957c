"""The warning and the refusal in each dialect, as a model's server and an agent's client see them."""

import asyncio
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dialect_samples import SAMPLES, Ask, Sample, in_every_dialect
from wire import PROMPT, Provider, client, opened, post, provider, whole

from benchflow.budgets.trial import TrialBudgets
from benchflow.contracts import Limits
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.message import Message, RawRequest, ToolUse
from benchflow.gateway.records.exchanges import RecordedExchange
from benchflow.gateway.upstreams.forward import Forward, Target

WARNING = "You have used your turn budget. Stop."
LIMITS = Limits(max_turns=4, grace_turns=2, wrap_up_message=WARNING)


def steps(number: int) -> list[tuple[ToolUse, str]]:
    return [(ToolUse(id=f"call_{n}", name="bash", arguments={"command": f"echo {n}"}), str(n)) for n in range(number)]


def request_of(sample: Sample, turn: int, **headers: str) -> bytes:
    """The request of a turn: all that came before it, as agents send it."""
    ask = Ask(steps=steps(turn))
    named = ["Host: gateway", *(f"{name}: {value}" for name, value in headers.items())]
    return post(sample.body(ask), sample.path(ask) + (f"?{sample.query(ask)}" if sample.query(ask) else ""), named)


def target(sample: Sample, url: str) -> Forward:
    return Forward(Target(name="local", base_urls={sample.name: url}, key="sk-real-key-0001"))


def read(sample: Sample, body: bytes) -> list[Message]:
    ask = Ask()
    raw = RawRequest(method="POST", path=sample.path(ask), query=sample.query(ask), headers=(), body=body)
    return list(DIALECTS[sample.name].read(raw).messages)


def place_of(sample: Sample, body: bytes) -> tuple[int, int]:
    """Where the warning stands: how many results of tools come before it, and how often it is there."""
    results, places = 0, []
    for message in read(sample, body):
        results += len(message.tool_results)
        places += [results for text in message.texts if text == WARNING]
    return (places[0], len(places)) if places else (0, 0)


def cleared(sample: Sample, body: bytes) -> list[Message]:
    """The conversation without the warning."""
    kept = [replace(m, texts=tuple(text for text in m.texts if text != WARNING)) for m in read(sample, body)]
    return [m for m in kept if m.texts or m.tool_uses or m.tool_results]


@in_every_dialect
async def test_warning_comes_at_the_soft_limit_stays_where_it_is_and_then_all_is_refused(
    sample: Sample, tmp_path: Path
) -> None:
    budgets = TrialBudgets(LIMITS, "inject")
    answer = whole(sample.stream, headers=("Content-Type: text/event-stream",))
    async with (
        provider(answer) as upstream,
        opened(target(sample, upstream.url), tmp_path, budgets=budgets) as gateway,
        client(gateway.port) as agent,
    ):
        statuses = [(await agent.ask(request_of(sample, turn))).status for turn in range(4)]
        refused = await agent.ask(request_of(sample, 4))

    assert statuses == [200] * 4
    sent = [asked.body for asked in upstream.asked]
    assert [body == sample.body(Ask(steps=steps(turn))) for turn, body in enumerate(sent)] == [True, True, False, False]
    assert [place_of(sample, body) for body in sent] == [(0, 0), (0, 0), (2, 1), (2, 1)]
    assert [cleared(sample, body) for body in sent] == [
        read(sample, sample.body(Ask(steps=steps(turn)))) for turn in range(4)
    ]
    assert refused.status == 400
    error = DIALECTS[sample.name].assembler()
    error.feed(refused.body)
    assert "budget of this run is used up" in (error.result().error or "")
    assert b"x-should-retry: false" in refused.headers
    logged = gateway.log()
    assert [_changed(line) for line in logged] == [[], [], ["wrap_up"], ["wrap_up"], []]
    assert [(line.line["turn"], line.line["origin"], line.line["stopped"]) for line in logged] == [
        *((turn, "upstream", False) for turn in range(4)),
        (None, "gateway", True),
    ]
    assert [hit and (hit["kind"], hit["phase"], hit["used"]) for hit in (line.line["limit"] for line in logged)] == [
        None,
        None,
        ("max_turns", "soft", 2),
        None,
        ("max_turns", "hard", 4),
    ]


def _changed(line: RecordedExchange) -> list[str]:
    return [change.kind for change in line.changes if change.path.startswith("body.")]


@in_every_dialect
async def test_warning_is_put_into_a_compressed_body(sample: Sample, tmp_path: Path) -> None:
    budgets = TrialBudgets(Limits(max_turns=2, grace_turns=1, wrap_up_message=WARNING), "inject")
    ask = Ask(steps=steps(1))
    packed = post(
        gzip.compress(sample.body(ask)),
        sample.path(ask) + (f"?{sample.query(ask)}" if sample.query(ask) else ""),
        ["Host: gateway", "Content-Encoding: gzip"],
    )
    async with (
        provider(whole(sample.whole)) as upstream,
        opened(target(sample, upstream.url), tmp_path, budgets=budgets) as gateway,
        client(gateway.port) as agent,
    ):
        await agent.ask(request_of(sample, 0))
        await agent.ask(packed)

    assert place_of(sample, upstream.asked[1].body) == (1, 1)
    assert upstream.asked[1].named(b"Content-Encoding") == []


@in_every_dialect
async def test_warning_is_put_into_a_body_too_long_for_memory(sample: Sample, tmp_path: Path) -> None:
    budgets = TrialBudgets(Limits(max_turns=2, grace_turns=1, wrap_up_message=WARNING), "inject")
    long = [(call, "A" * 17_000_000) for call, _ in steps(1)]
    ask = Ask(steps=long)
    path = sample.path(ask) + (f"?{sample.query(ask)}" if sample.query(ask) else "")
    async with (
        provider(whole(sample.whole)) as upstream,
        opened(target(sample, upstream.url), tmp_path, budgets=budgets) as gateway,
        client(gateway.port) as agent,
    ):
        await agent.ask(request_of(sample, 0))
        await agent.ask(post(sample.body(ask), path))

    assert cleared(sample, upstream.asked[1].body) == read(sample, sample.body(ask))
    assert place_of(sample, upstream.asked[1].body) == (1, 1)


@in_every_dialect
async def test_conversation_that_was_shortened_has_the_warning_once_behind_what_it_stood_behind(
    sample: Sample, tmp_path: Path
) -> None:
    budgets = TrialBudgets(replace(LIMITS, max_turns=9, grace_turns=8), "inject")
    shorter = Ask(steps=steps(5)[1:4])
    path = sample.path(shorter) + (f"?{sample.query(shorter)}" if sample.query(shorter) else "")
    async with (
        provider(whole(sample.whole)) as upstream,
        opened(target(sample, upstream.url), tmp_path, budgets=budgets) as gateway,
        client(gateway.port) as agent,
    ):
        await agent.ask(request_of(sample, 0))
        await agent.ask(request_of(sample, 2))
        await agent.ask(post(sample.body(shorter), path))
        await agent.ask(post(sample.body(Ask(steps=steps(5)[3:])), path))

    assert [place_of(sample, asked.body) for asked in upstream.asked] == [(0, 0), (2, 1), (1, 1), (2, 1)]


def response_request(**more: Any) -> bytes:
    tools = [{"type": "function", "name": "bash", "parameters": {"type": "object"}}]
    return post(json.dumps({"model": "gpt-4.1", "tools": tools, **more}).encode(), "/v1/responses")


@pytest.mark.parametrize("kept", ["previous_response_id", "conversation"])
async def test_warning_is_not_sent_twice_where_the_server_keeps_the_conversation(kept: str, tmp_path: Path) -> None:
    budgets = TrialBudgets(replace(LIMITS, max_turns=9, grace_turns=8), "inject")
    sample = next(sample for sample in SAMPLES if sample.name == "openai-responses")
    output = [{"type": "function_call_output", "call_id": "call_1", "output": "1"}]
    answered = 0

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        writer.write(whole(sample.whole.replace(b"resp_1", b"resp_%d" % answered)))
        answered += 1
        await writer.drain()

    def more(turn: int) -> dict[str, Any]:
        if kept == "conversation":
            return {"conversation": {"id": "conv_1"}, "input": output if turn else PROMPT}
        return {"previous_response_id": f"resp_{turn - 1}", "input": output} if turn else {"input": PROMPT}

    async with (
        provider(talk) as upstream,
        opened(target(sample, upstream.url), tmp_path, budgets=budgets) as gateway,
        client(gateway.port) as agent,
    ):
        for turn in range(4):
            assert (await agent.ask(response_request(**more(turn)))).status == 200

    assert [asked.body.count(WARNING.encode()) for asked in upstream.asked] == [0, 1, 0, 0]
