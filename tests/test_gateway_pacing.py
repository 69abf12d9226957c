"""The pace of an upstream, which all trials of a run share: its limits, the waits that it asks for, and the queue."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from asking import Failing, Gated, ask, refusal
from wire import chat_body, client, opened, post, until

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.handling import Handling
from benchflow.gateway.message import Headers
from benchflow.gateway.upstream import Upstream
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer
from benchflow.gateway.wrapping.chain import build_chain
from benchflow.gateway.wrapping.limits import Limits, Pace
from benchflow.gateway.wrapping.pacing import Pacing
from benchflow.gateway.wrapping.waits import asked_wait_s

WAIT_S = 0.15
"""What these tests let an upstream ask: short, and long beside what a request takes."""


def paced(upstream: Upstream, pace: Pace) -> Upstream:
    return build_chain(upstream, pace=pace).upstream


async def test_no_more_requests_are_under_way_than_allowed_whoever_asks() -> None:
    upstream = Gated()
    chain = paced(upstream, Pace(max_requests=2))
    most = 0
    async with asyncio.TaskGroup() as tasks:
        for number in range(8):
            tasks.create_task(ask(chain, f"trial-{number % 3}"))
        for _ in range(8):
            await until(lambda: upstream.at_once > 0)
            most = max(most, upstream.at_once)
            upstream.gate.release()

    assert (most, len(upstream.begun)) == (2, 8)


async def test_first_come_is_first_served_and_who_leaves_leaves_the_queue() -> None:
    upstream = Gated()
    chain = paced(upstream, Pace(max_requests=1))
    async with asyncio.TaskGroup() as tasks:
        asking = {}
        for trial in ("c", "a", "d", "b"):
            asking[trial] = tasks.create_task(ask(chain, trial))
            await asyncio.sleep(0)
        asking["d"].cancel()
        for _ in range(3):
            upstream.gate.release()

    assert upstream.begun == ["c", "a", "b"]


async def test_client_that_leaves_while_it_waits_never_reaches_the_upstream(tmp_path: Path) -> None:
    upstream = Gated()
    chain = paced(upstream, Pace(max_requests=1))
    async with opened(chain, tmp_path) as gateway, client(gateway.port) as first, client(gateway.port) as second:
        first.writer.write(post(chat_body()))
        await until(lambda: upstream.at_once == 1)
        second.writer.write(post(chat_body()))
        await second.writer.drain()
        await asyncio.sleep(0)
        second.leave()
        await until(lambda: len(gateway.tap.exchanges) == 1)
        upstream.gate.release()
        await first.receive()

    assert [(exchange.end, exchange.held_ms > 0) for exchange in gateway.tap.exchanges] == [
        ("client_gone", True),
        ("complete", False),
    ]
    assert len(upstream.begun) == 1
    assert gateway.log()[0].line["request"]["sha256_forwarded"] is None


async def test_wait_that_one_trial_is_asked_for_holds_all_of_them_and_the_refusal_is_passed_on() -> None:
    chain = paced(Failing([refusal(429, "slow down", Retry_After=str(WAIT_S))]), Pace())

    begun = time.monotonic()
    refused = await ask(chain, "one")
    async with asyncio.TaskGroup() as tasks:
        others = [tasks.create_task(ask(chain, trial)) for trial in ("one", "two", "three")]

    assert (refused.status, refused.headers["retry-after"]) == (429, str(WAIT_S))
    assert refused.body == b'{"error": {"message": "slow down"}}'
    assert [other.result().status for other in others] == [200, 200, 200]
    assert time.monotonic() - begun >= WAIT_S * 0.9
    assert all(other.result().handling.held_ms > 0 for other in others)


async def test_wait_in_the_body_of_a_refusal_is_heeded_too() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{WAIT_S}s"}
    body = json.dumps({"error": {"code": 429, "details": [{"@type": "other"}, info]}}).encode()
    chain = paced(Failing([refusal(429, body=body)]), Pace())

    begun = time.monotonic()

    refused, answered = await ask(chain), await ask(chain)

    assert (refused.status, refused.body, answered.status) == (429, body, 200)
    assert answered.handling.held_ms > 0
    assert time.monotonic() - begun >= WAIT_S * 0.9


async def test_request_that_would_have_to_wait_too_long_is_refused_at_once_in_the_upstreams_name() -> None:
    upstream = Failing([refusal(429, "come back tomorrow", Retry_After="3600")])
    chain = paced(upstream, Pace(max_wait_s=300))

    await ask(chain)
    second = await ask(chain)

    assert (second.status, second.headers["retry-after"], len(upstream.begun)) == (429, "3600", 1)
    assert b"failing asked for a wait, of which 3600 s are left; no request is held for more than 300 s" in second.body


async def test_wait_that_grows_too_long_reaches_who_waits_already() -> None:
    upstream = Gated()
    limited = Pacing(upstream, Pace(max_requests=1, max_wait_s=300))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ask(limited))
        await asyncio.sleep(0)
        waiting = tasks.create_task(ask(limited))
        await asyncio.sleep(0)
        limited.heed(refusal(429, Retry_After="3600"))
        await until(waiting.done)
        upstream.gate.release()

    assert (waiting.result().status, len(upstream.begun)) == (429, 1)


async def test_lists_of_models_wait_for_nobody() -> None:
    upstream = Gated()
    chain = paced(upstream, Pace(max_requests=1))
    async with asyncio.TaskGroup() as tasks:
        for path in ("/v1/chat/completions", "/v1/models"):
            tasks.create_task(ask(chain, path=path, method="GET" if path.endswith("models") else "POST"))
        await until(lambda: upstream.at_once == 2)
        upstream.gate.release()
        upstream.gate.release()


def limits(**pace: int) -> Limits:
    return Limits(Pace(**pace))


def test_no_minute_has_more_requests_than_allowed() -> None:
    found = limits(rpm=3)
    now, begun = 1000.0, []
    for _ in range(9):
        now += found.wait_s(now, 1)
        found.begin(now, 1)
        begun.append(now)
        now += 1

    assert begun == [1000, 1001, 1002, 1060, 1061, 1062, 1120, 1121, 1122]


def test_tokens_are_estimated_first_and_corrected_when_they_are_known() -> None:
    found = limits(tpm=1000)
    spent = found.begin(0.0, 600)

    assert found.wait_s(1.0, 400) == 0
    assert found.wait_s(1.0, 401) == 59
    assert spent
    spent.amount = 100
    assert found.wait_s(1.0, 900) == 0
    spent.amount = 5000
    assert found.wait_s(1.0, 1) == 59


def test_request_larger_than_the_whole_limit_waits_until_nothing_is_spent_and_then_goes() -> None:
    found = limits(tpm=1000)
    found.begin(0.0, 10)

    assert found.wait_s(1.0, 5000) == 59
    assert found.wait_s(60.0, 5000) == 0


def test_waits_that_are_asked_for_do_not_shorten_each_other() -> None:
    found = limits()
    found.pause(10.0, 30.0)
    found.pause(11.0, 5.0)

    assert found.wait_s(12.0, 1) == 28


async def test_metered_usage_takes_the_place_of_the_estimate() -> None:
    chain = paced(Failing([]), Pace(tpm=10_000, minute_s=3600))
    heavy, light = Handling(), Handling()
    body = chat_body(note="x" * 36_000)

    await ask(chain, body=body, handling=heavy)
    assert heavy.on_metered
    heavy.on_metered(TokenBreakdown.of(input=10))
    async with asyncio.timeout(5):
        await ask(chain, body=body, handling=light)

    assert light.held_ms == 0


async def test_refused_request_has_used_no_tokens() -> None:
    chain = paced(Failing([refusal(400)]), Pace(tpm=10_000, minute_s=3600))
    body = chat_body(note="x" * 36_000)

    await ask(chain, body=body)
    async with asyncio.timeout(5):
        second = await ask(chain, body=body)

    assert (second.status, second.handling.held_ms) == (200, 0)


async def test_usage_of_an_exchange_reaches_the_limit_through_its_record(tmp_path: Path) -> None:
    script = Script([ScriptedAnswer(text="Hello")])
    chain = paced(script, Pace(tpm=100, minute_s=WAIT_S))
    async with opened(chain, tmp_path) as gateway, client(gateway.port) as agent:
        for _ in range(2):
            await agent.ask(post(chat_body(note="x" * 10_000)))

    assert [exchange.held_ms > 0 for exchange in gateway.tap.exchanges] == [False, True]


def in_half_an_hour(text: str) -> str:
    """Put a date that the test cannot know in advance into a header."""
    date = datetime.now(UTC) + timedelta(minutes=30)
    forms = {"HTTP": format_datetime(date, usegmt=True), "ISO": date.isoformat(), "EPOCH": f"{date.timestamp():.0f}"}
    for name, form in forms.items():
        text = text.replace(name, form)
    return text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ((("Retry-After", "20"),), 20),
        ((("retry-after", " 1.5 "),), 1.5),
        ((("retry-after-ms", "250"), ("Retry-After", "1")), 0.25),
        ((("Retry-After", "HTTP"),), 1800),
        ((("x-ratelimit-reset", "EPOCH"),), 1800),
        ((("X-RateLimit-Reset", "EPOCH000"),), 1800),
        ((("x-ratelimit-reset-requests", "6m0s"), ("x-ratelimit-remaining-requests", "0")), 360),
        ((("x-ratelimit-reset-tokens", "20ms"),), 0.02),
        (
            (
                ("x-ratelimit-remaining-requests", "99"),
                ("x-ratelimit-reset-requests", "1h2m3.5s"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "7.66s"),
            ),
            7.66,
        ),
        ((("anthropic-ratelimit-input-tokens-reset", "ISO"),), 1800),
        ((("Retry-After", "soon"),), None),
        ((("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"),), 0),
        ((), None),
    ],
)
def test_wait_is_read_in_every_usual_form(headers: Headers, seconds: float | None) -> None:
    said = asked_wait_s(429, tuple((name, in_half_an_hour(value)) for name, value in headers))

    assert said == (seconds if seconds != 1800 else pytest.approx(1800, abs=5))


def test_only_refusals_that_concern_everybody_ask_for_a_wait() -> None:
    headers = (("Retry-After", "7"),)

    assert [asked_wait_s(status, headers) for status in (200, 400, 429, 500, 503, 529)] == [None, None, 7, None, 7, 7]


def test_state_of_the_limits_alone_asks_for_no_wait_where_the_server_is_merely_busy() -> None:
    assert asked_wait_s(503, (("x-ratelimit-reset-requests", "60s"),)) is None
