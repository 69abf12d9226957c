"""What the gateway repeats for the agent, what is on record of it, and whose time the waiting is not."""

import asyncio
import random
import time
from pathlib import Path

import pytest
from asking import Failing, ask, refusal
from wire import Provider, chat_body, client, forward_to, opened, post, provider, whole
from wire import ask as ask_at

from benchflow.gateway.message import Chunks, RawResponse, UpstreamCut
from benchflow.gateway.upstream import Upstream
from benchflow.gateway.wrapping.chain import build_chain
from benchflow.gateway.wrapping.limits import Pace
from benchflow.gateway.wrapping.retrying import Retries

QUICK = Retries(times=3, backoff_s=0.001)


def repeated(upstream: Upstream, retries: Retries = QUICK, pace: Pace | None = None) -> Upstream:
    return build_chain(upstream, retries=retries, pace=pace).upstream


async def test_what_fails_is_repeated_until_it_is_answered_and_every_attempt_is_on_record(tmp_path: Path) -> None:
    upstream = Failing([refusal(429, "slow down"), refusal(503, "busy"), UpstreamCut("gone")])
    async with opened(repeated(upstream), tmp_path) as gateway:
        answer = await ask_at(gateway.port, post(chat_body()))

    line = gateway.log()[0].line
    attempts = line["attempts"]
    assert answer.status == 200
    assert [(attempt["status"], attempt["error"]) for attempt in attempts] == [
        (429, "slow down"),
        (503, "busy"),
        (None, "gone"),
        (200, None),
    ]
    assert attempts[0]["waited_ms"] < attempts[1]["waited_ms"]
    assert sorted(attempt["ts"] for attempt in attempts) == [attempt["ts"] for attempt in attempts]
    assert line["ts"] <= attempts[0]["ts"]
    assert 0 < line["held_ms"] <= line["duration_ms"]
    (exchange,) = gateway.tap.exchanges
    assert (exchange.succeeded, exchange.failed_upstream, len(exchange.attempts)) == (True, False, 4)
    again = gateway.log()[0].exchange
    assert (again.attempts, again.held_ms, again.fault) == (exchange.attempts, exchange.held_ms, None)


async def test_last_failure_is_passed_on_unchanged_when_all_repetitions_failed() -> None:
    upstream = Failing([refusal(503, f"busy {number}", X_Number=str(number)) for number in range(5)])

    got = await ask(repeated(upstream))

    assert (got.status, got.body, got.headers["x-number"]) == (503, b'{"error": {"message": "busy 3"}}', "3")
    assert len(upstream.begun) == 4


async def test_connection_that_fails_for_good_is_a_failure_for_good() -> None:
    with pytest.raises(UpstreamCut, match="gone 3"):
        await ask(repeated(Failing([UpstreamCut(f"gone {number}") for number in range(5)])))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_another_attempt_cannot_help_is_not_repeated(status: int) -> None:
    upstream = Failing([refusal(status)])

    got = await ask(repeated(upstream))

    assert (got.status, len(upstream.begun)) == (status, 1)


async def test_answer_that_breaks_off_before_its_first_byte_is_repeated_and_one_that_does_later_is_not(
    tmp_path: Path,
) -> None:
    talks = iter([b"", b"data: x\n\n", b"data: y\n\n"])

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        part = next(talks)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n" + part)
        await writer.drain()
        writer.close()

    async with (
        provider(talk) as upstream,
        opened(repeated(forward_to(upstream.url)), tmp_path) as gateway,
        client(gateway.port) as agent,
    ):
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await agent.ask(post(chat_body()))

    assert len(upstream.asked) == 2


async def test_chunks_of_a_good_answer_pass_as_they_come() -> None:
    chunks = [b"data: 1\n\n", b"", b"data: 2\n\n"]
    got = await ask(repeated(Failing([RawResponse(status=200, headers=(), chunks=Chunks(chunks))])))

    assert got.chunks == tuple(chunks)


async def test_wait_that_the_upstream_asks_for_is_kept_and_no_longer_one() -> None:
    upstream = Failing([refusal(429, Retry_After="0.1")])
    begun = time.monotonic()

    got = await ask(repeated(upstream, Retries(times=1, backoff_s=3600)))

    assert got.status == 200
    assert time.monotonic() - begun >= 0.09


@pytest.mark.parametrize("answer", [refusal(429, Retry_After="61"), refusal(503)])
async def test_failure_whose_repetition_would_wait_too_long_is_passed_on_at_once(answer: RawResponse) -> None:
    upstream = Failing([answer])

    got = await ask(repeated(upstream, Retries(times=5, backoff_s=200, longest_backoff_s=200, max_wait_s=60)))

    assert (got.status, len(upstream.begun)) == (answer.status, 1)


async def test_repetition_keeps_its_place_before_those_who_came_later() -> None:
    upstream = Failing([refusal(429, Retry_After="0.05")])
    chain = repeated(upstream, pace=Pace(max_requests=1))
    async with asyncio.TaskGroup() as tasks:
        for trial in ("first", "second", "third"):
            tasks.create_task(ask(chain, trial))
            await asyncio.sleep(0)

    assert upstream.begun == ["first", "first", "second", "third"]


async def test_client_that_leaves_ends_the_repetitions(tmp_path: Path) -> None:
    async with (
        provider(whole(b"{}", status="503 Busy")) as upstream,
        opened(
            repeated(forward_to(upstream.url), Retries(times=9, backoff_s=3600, max_wait_s=9e9)), tmp_path
        ) as gateway,
        client(gateway.port) as agent,
    ):
        agent.writer.write(post(chat_body()))
        await asyncio.wait_for(_asked(upstream), 10)
        agent.leave()

    assert len(upstream.asked) == 1
    (exchange,) = gateway.tap.exchanges
    assert (exchange.end, exchange.status, exchange.failed_upstream) == ("client_gone", None, True)


async def _asked(upstream: Provider) -> None:
    while not upstream.asked:  # noqa: ASYNC110 - what is waited for tells nobody
        await asyncio.sleep(0)


def test_waits_grow_vary_and_are_the_same_each_time() -> None:
    retries = Retries(times=9, backoff_s=1, longest_backoff_s=8)
    waits = [retries.backoff(number, random.Random(number)) for number in range(1, 8)]

    assert waits == [retries.backoff(number, random.Random(number)) for number in range(1, 8)]
    for wait, whole_s in zip(waits, [1, 2, 4, 8, 8, 8, 8], strict=True):
        assert whole_s / 2 <= wait <= whole_s * 1.5
