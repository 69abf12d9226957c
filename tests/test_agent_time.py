"""The time of an agent, which stands still while the gateway holds what it waits for, and budgets that go by it."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from acp_rig import fake_agent
from asking import Failing, Gated, refusal
from wire import ask as ask_at
from wire import chat_body, opened, post, until

from benchflow.gateway.handling import AgentTime, Handling, stood_still
from benchflow.gateway.wrapping.chain import build_chain
from benchflow.gateway.wrapping.retrying import Retries
from benchflow.session.turn import PromptOutcome


def request(arrived: float, ended: float | None, *holds: tuple[float, float]) -> Handling:
    return Handling(arrived_s=arrived, ended_s=ended, holds=list(holds))


@pytest.mark.parametrize(
    ("requests", "seconds"),
    [
        ([request(0, 10)], 0),
        ([request(0, 10, (0, 4))], 4),
        ([request(0, 10, (0, 2), (3, 7))], 6),
        ([request(0, None, (5, float("inf")))], 15),
        ([request(0, 10, (0, 4)), request(0, 10, (0, 4))], 4),
        ([request(0, 10, (0, 4)), request(2, 6)], 2),
        ([request(0, 10, (0, 4)), request(2, 6, (2, 3))], 3),
        ([request(0, 2, (0, 2)), request(5, 9, (5, 6))], 3),
    ],
    ids=[
        "never held",
        "held once",
        "held twice",
        "held still",
        "two held together",
        "one held beside one that is answered",
        "one held for longer",
        "one after the other",
    ],
)
def test_time_stands_still_while_all_that_is_under_way_is_held(requests: Sequence[Handling], seconds: float) -> None:
    assert stood_still(requests, 20.0) == seconds


async def test_clock_of_the_agent_stands_still_between_what_fails_and_what_is_answered(tmp_path: Path) -> None:
    upstream = Failing([refusal(429, Retry_After="0.1"), refusal(503)])
    chain = build_chain(upstream, retries=Retries(times=2, backoff_s=0.1)).upstream
    async with opened(chain, tmp_path) as gateway:
        wall, agent = anyio.current_time(), gateway.tap.agent_time.now()
        await ask_at(gateway.port, post(chat_body()))
        wall, agent = anyio.current_time() - wall, gateway.tap.agent_time.now() - agent

    (exchange,) = gateway.tap.exchanges
    assert exchange.held_ms >= 140
    assert wall - agent == pytest.approx(exchange.held_ms / 1000, abs=0.001)


async def test_clock_of_the_agent_runs_while_the_upstream_thinks(tmp_path: Path) -> None:
    upstream = Gated()
    async with opened(build_chain(upstream).upstream, tmp_path) as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(ask_at, gateway.port, post(chat_body()))
        await until(lambda: upstream.at_once == 1)
        begun = gateway.tap.agent_time.now()
        await until(lambda: gateway.tap.agent_time.now() > begun)
        upstream.gate.release()


async def test_settled_requests_are_not_kept(tmp_path: Path) -> None:
    clock = AgentTime()
    first, second = clock.begin(), clock.begin()
    with first.held():
        pass
    clock.end(first)
    clock.end(second)

    assert (first.number, second.number) == (0, 1)
    assert clock.begin().number == 2


async def test_budget_of_a_prompt_goes_by_a_clock_that_may_stand_still(tmp_path: Path) -> None:
    looked, standing = [], True

    def now() -> float:
        looked.append(anyio.current_time())
        return 0.0 if standing else 1.0

    outcomes: list[PromptOutcome] = []

    async def prompt() -> None:
        outcomes.append(await rig.client.prompt(["go"], timeout_s=0.01, now=now))

    async with fake_agent("hangs", tmp_path) as rig, anyio.create_task_group() as tasks:
        await rig.open()
        tasks.start_soon(prompt)
        await until(lambda: len(looked) > 5)
        assert not outcomes
        standing = False

    assert outcomes == [PromptOutcome(stop_reason="cancelled", cancelled=True, timed_out=True)]
    assert outcomes[0].waited_s == 1.0
