"""Faults that are played on purpose: their description, what is played on which request, and what it looks like."""

import asyncio
import time
from pathlib import Path

import pytest
from asking import Failing, Got, ask
from dialect_samples import Ask, Sample, in_every_dialect
from wire import ask as ask_at
from wire import chat_body, client, opened, post, until

from benchflow.errors import InputError
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.handling import PlayedFault
from benchflow.gateway.upstream import Upstream
from benchflow.gateway.wrapping.chain import build_chain
from benchflow.gateway.wrapping.fault_plan import FaultPlan, read_faults
from benchflow.gateway.wrapping.retrying import Retries


def faulty(text: str, *, upstream: Upstream | None = None, times: int = 0) -> Upstream:
    retries = Retries(times=times, backoff_s=0.001)
    return build_chain(upstream or Failing([]), faults=read_faults(text), retries=retries).upstream


def test_description_in_one_line_is_read() -> None:
    plan = read_faults("429=0.2, retry_after_s=1,5xx=0.1,stall=0.05,cut=0.05,slow=0.1,first=3,requests=all,seed=7")

    assert plan == FaultPlan(
        rates={"429": 0.2, "5xx": 0.1, "stall": 0.05, "cut": 0.05, "slow": 0.1}, first=3, requests="all", seed=7
    )


def test_description_in_a_file_is_read_and_can_be_given_again_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "faults.toml"
    file.write_text('429 = 0.25\nretry_after_s = 2\ncut = 0.1\ncut_at = 0.9\nrequests = "all"\nseed = 3\n')

    plan = read_faults(str(file))

    assert plan == FaultPlan(rates={"429": 0.25, "cut": 0.1}, retry_after_s=2, cut_at=0.9, requests="all", seed=3)
    assert plan.text == "429=0.25,cut=0.1,retry_after_s=2,cut_at=0.9,requests=all,seed=3"
    assert read_faults(plan.text) == plan


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stal=0.2", "--faults: unknown key `stal`; did you mean `stall` or `stall_s`?"),
        ("492=0.2", "unknown key `492`; did you mean `429`"),
        ("nowhere.toml", "--faults nowhere.toml: no such file, and no faults either; write them as in 429=0.2,cut=0.1"),
        ("429=0.2,cut", "'cut' has no value"),
        ("429=0.2,429=0.3", "429 is there twice"),
        ("429=often", "429 is 'often'; it must be a number from 0 to 1"),
        ("429=1.5", "429 is 1.5; it must be a number from 0 to 1"),
        ("429=nan", "429 is nan; it must be a number from 0 to 1"),
        ("429=0.6,cut=0.6", "the rates add up to 1.2; together they can be 1 at most"),
        ("retry_after_s=3", "no fault has a rate; give one of 429, 5xx, stall, cut, slow, as in 429=0.2"),
        ("cut=0.1,cut_at=2", "cut_at is 2; it must be a number from 0 to 1"),
        ("slow=0.1,slow_bytes_per_s=0", "slow_bytes_per_s is 0; it must be a number of at least 1"),
        ("cut=0.1,first=0", "first is 0; it must be a whole number of at least 1"),
        ("cut=0.1,requests=some", "requests is 'some'; it must be main or all"),
        ("cut=0.1,seed=x", "seed is 'x'; it must be a whole number of at least 0"),
    ],
)
def test_mistake_in_a_description_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_faults(text)

    assert message in str(caught.value)


async def outcome(upstream: Upstream, trial: str) -> str:
    got = await ask(upstream, trial, scenario_id=trial)
    return got.handling.fault.kind if got.handling.fault else "none"


async def test_what_is_played_does_not_depend_on_what_else_goes_on() -> None:
    text = "429=0.3,retry_after_s=0,5xx=0.2,cut=0.2"
    apart = faulty(text)
    expected = {trial: [await outcome(apart, trial) for _ in range(12)] for trial in ("a", "b", "c")}

    mixed = faulty(text)
    found: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    for _ in range(12):
        for trial in ("c", "a", "b"):
            found[trial].append(await outcome(mixed, trial))

    assert found == expected
    assert expected["a"] != expected["b"]
    assert {kind for kinds in found.values() for kind in kinds} == {"429", "5xx", "cut", "none"}


def test_shares_are_as_the_plan_says_and_each_seed_has_its_own() -> None:
    plan, other = read_faults("429=0.2,slow=0.1"), read_faults("429=0.2,slow=0.1,seed=1")
    places = [("scenario", 0, 1, number) for number in range(4000)]
    kinds = [plan.roll(*place)[0] for place in places]

    assert kinds.count("429") / 4000 == pytest.approx(0.2, abs=0.03)
    assert kinds.count("slow") / 4000 == pytest.approx(0.1, abs=0.03)
    assert kinds != [other.roll(*place)[0] for place in places]


def raw(sample: Sample, *, stream: bool = True) -> bytes:
    query = sample.query(Ask(stream=stream))
    path = sample.path(Ask(stream=stream)) + (f"?{query}" if query else "")
    return post(sample.body(Ask(stream=stream)), path=path)


@in_every_dialect
@pytest.mark.parametrize("text", ["429=1,retry_after_s=1.5", "5xx=1"])
async def test_errors_are_in_the_dialects_own_form_and_count_as_the_upstreams(
    sample: Sample, text: str, tmp_path: Path
) -> None:
    async with opened(faulty(text), tmp_path) as gateway:
        answer = await ask_at(gateway.port, raw(sample))

    (exchange,) = gateway.tap.exchanges
    assembler = DIALECTS[sample.name].assembler()
    assembler.feed(answer.body)
    assert "(a fault, played on purpose)" in (assembler.result().error or "")
    assert (exchange.failed_upstream, exchange.origin, exchange.model_sent) == (True, "upstream", None)
    if text.startswith("429"):
        assert (answer.status, exchange.fault) == (429, PlayedFault(kind="429", value=1.5))
        assert b"Retry-After: 1.5" in answer.headers
    else:
        assert exchange.fault == PlayedFault(kind="5xx", value=answer.status)
        assert answer.status in (500, 502, 503, 504)


@in_every_dialect
@pytest.mark.parametrize("stream", [True, False])
async def test_cut_answer_is_cut_for_the_agent_after_its_share(sample: Sample, stream: bool, tmp_path: Path) -> None:
    async with opened(faulty("cut=1,cut_at=0.4"), tmp_path) as gateway, client(gateway.port) as agent:
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await agent.ask(raw(sample, stream=stream))
        await until(lambda: bool(gateway.tap.exchanges))

    (exchange,) = gateway.tap.exchanges
    assert (exchange.end, exchange.failed_upstream) == ("upstream_cut", True)
    assert exchange.answer.error == "the answer broke off (a fault, played on purpose)"
    assert gateway.log()[0].line["response"]["bytes"] > 0
    assert gateway.log()[0].line["fault"] == {"kind": "cut", "value": 0.4}


async def get(text: str) -> tuple[Got, float]:
    begun = time.monotonic()
    return await ask(faulty(text)), time.monotonic() - begun


@pytest.mark.parametrize(("part", "left_out"), [("0", 1.0), ("0.5", 0.5), ("1", 0.0)])
async def test_cut_answer_is_never_whole(part: str, left_out: float) -> None:
    whole, got = await ask(Failing([])), await ask(faulty(f"cut=1,cut_at={part}"))

    assert got.cut
    assert got.body == whole.body[: len(got.body)]
    assert 1 - len(got.body) / len(whole.body) == pytest.approx(left_out, abs=0.01)
    assert got.body != whole.body


async def test_stalled_answer_comes_whole_after_its_time() -> None:
    got, seconds = await get("stall=1,stall_s=0.1")

    assert (got.status, b"Hello" in got.body, got.handling.held_ms) == (200, True, 0)
    assert seconds >= 0.09


async def test_slow_answer_comes_whole_in_small_pieces() -> None:
    got, seconds = await get("slow=1,slow_bytes_per_s=2000")
    quick = await ask(Failing([]))

    assert got.body == quick.body
    assert len(got.chunks) > len(quick.chunks)
    assert seconds >= 0.9 * len(got.body) / 2000


async def test_faults_hit_the_first_requests_alone_where_the_plan_says_so() -> None:
    upstream = faulty("5xx=1,first=2")

    assert [await outcome(upstream, "a") for _ in range(4)] == ["5xx", "5xx", "none", "none"]


@pytest.mark.parametrize(("requests", "played"), [("main", None), ("all", "5xx")])
async def test_auxiliary_requests_are_hit_only_where_the_plan_says_so(requests: str, played: str | None) -> None:
    got = await ask(faulty(f"5xx=1,requests={requests}"), role="auxiliary")

    assert (got.handling.fault.kind if got.handling.fault else None) == played


async def test_faults_that_the_gateway_repeats_are_counted_by_attempt(tmp_path: Path) -> None:
    chain = faulty("429=1,retry_after_s=0.01,first=2", times=5)
    async with opened(chain, tmp_path) as gateway:
        answer = await ask_at(gateway.port, post(chat_body()))

    (exchange,) = gateway.tap.exchanges
    assert (answer.status, exchange.fault, exchange.succeeded) == (200, None, True)
    assert [attempt.fault for attempt in exchange.attempts] == ["429", "429", None]


async def test_asked_for_wait_of_a_played_fault_slows_the_whole_run() -> None:
    upstream = faulty("429=1,retry_after_s=0.1,first=1")
    begun = time.monotonic()

    first, other = await ask(upstream, "a"), await ask(upstream, "b", scenario_id="b")

    assert (first.status, first.handling.held_ms, other.handling.held_ms > 0) == (429, 0, True)
    assert time.monotonic() - begun >= 0.09
