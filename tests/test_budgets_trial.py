"""What the budgets of a trial say of model requests and of the open turn, whatever comes in whatever order."""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.budgets.budget import Budget
from benchflow.budgets.choosing import choose_delivery, choose_limits, notes_of
from benchflow.budgets.trial import TrialBudgets
from benchflow.contracts import CostBreakdown, Delivery, EventType, LimitHit, Limits, TokenBreakdown
from benchflow.gateway.handling import Handling
from benchflow.gateway.message import Assembled, Exchange, Role


def exchange(number: int, role: Role = "main", *, completed: bool = True, **more: Any) -> Exchange:
    known = {"tokens": TokenBreakdown.of(input=90, output=10), "cost": CostBreakdown(total_usd=0.25), **more}
    return Exchange(
        id=f"e-{number}",
        seq=number,
        kind="generate",
        path="/v1/chat/completions",
        ts="",
        mono_ms=0.0,
        duration_ms=1.0,
        ttft_ms=None,
        role=role,
        role_reason="",
        turn=number if completed and role == "main" else None,
        origin="upstream",
        status=200 if completed else 503,
        end="complete",
        model_asked="m",
        model_sent="m",
        model_answered="m",
        answer=Assembled(body=None),
        **known,
    )


class Agent:
    """Sends one model request after the other to budgets."""

    def __init__(self, limits: Limits, delivery: Delivery = "inject") -> None:
        self.budgets = TrialBudgets(limits, delivery)
        self.sent = 0
        self.cancels = 0
        self.budgets.on_call = self._cancelled

    def _cancelled(self) -> None:
        self.cancels += 1

    async def ask(self, role: Role = "main", *, completed: bool = True, **more: Any) -> tuple[bool, bool]:
        """Say whether the request went on, and whether with the warning."""
        handling = Handling(number=self.sent)
        self.sent += 1
        self.budgets.meter.exchange_began()
        ruling = await self.budgets.rule(role, handling)
        self.budgets.exchange_ended(exchange(handling.number, role, completed=completed and ruling.passes, **more))
        return ruling.passes, ruling.warning is not None

    async def asks(self, number: int, role: Role = "main", **more: Any) -> list[tuple[bool, bool]]:
        return [await self.ask(role, **more) for _ in range(number)]


GOES, WARNED, REFUSED = (True, False), (True, True), (False, False)


async def test_failed_requests_are_no_turns() -> None:
    agent = Agent(Limits(max_turns=2))

    assert await agent.asks(5, completed=False) == [GOES] * 5
    assert await agent.asks(3) == [GOES, GOES, REFUSED]


async def test_subagents_are_counted_and_capped_apart_and_never_warned() -> None:
    agent = Agent(Limits(max_turns=4, grace_turns=2, max_subagent_turns=3))

    assert await agent.asks(5, "subagent") == [GOES, GOES, GOES, REFUSED, REFUSED]
    assert await agent.asks(2) == [GOES, GOES]
    assert await agent.ask("subagent") == REFUSED
    assert await agent.asks(3) == [WARNED, WARNED, REFUSED]
    assert agent.budgets.facts()["budgets"]["subagent_turns"] == 3


async def test_subagents_have_as_many_turns_as_the_agent_where_nobody_says_how_many() -> None:
    agent = Agent(Limits(max_turns=2))

    assert await agent.asks(3, "subagent") == [GOES, GOES, REFUSED]
    assert agent.budgets.hit is None


async def test_once_the_trial_has_ended_everything_is_refused() -> None:
    agent = Agent(Limits(max_turns=1))
    await agent.asks(2)

    assert [await agent.ask(role) for role in ("main", "subagent", "auxiliary")] == [REFUSED] * 3
    assert agent.cancels == 1


async def test_requests_beside_the_work_are_let_through_until_then() -> None:
    agent = Agent(Limits(max_turns=1))
    await agent.ask()

    assert await agent.asks(3, "auxiliary") == [GOES] * 3


async def test_cost_is_a_budget_with_a_soft_and_a_hard_limit() -> None:
    agent = Agent(Limits(max_cost_usd=1.0, grace=0.5))

    assert await agent.asks(5) == [GOES, GOES, WARNED, WARNED, REFUSED]
    assert agent.budgets.hit
    assert (agent.budgets.hit.kind, agent.budgets.hit.used, agent.budgets.hit.counter) == (
        "max_cost_usd",
        1.0,
        "prices",
    )


async def test_cost_that_nobody_knows_uses_nothing_up() -> None:
    agent = Agent(Limits(max_cost_usd=0.1))

    assert await agent.asks(3, cost=CostBreakdown(total_usd=None)) == [GOES] * 3
    assert agent.budgets.facts()["budgets"]["used"]["max_cost_usd"]["amount"] is None


async def test_time_has_a_soft_limit_that_the_next_request_meets() -> None:
    agent, now = Agent(Limits(timeout_s=100, grace=0.25)), 0.0
    agent.budgets.meter.now = lambda: now
    agent.budgets.meter.began()
    await agent.ask()
    now = 74.0
    assert await agent.ask() == GOES
    now = 76.0

    assert await agent.ask() == WARNED
    assert agent.budgets.warned
    assert agent.budgets.warned.text.startswith("You have used your time budget.")


async def test_no_soft_limit_fires_before_the_first_turn() -> None:
    agent = Agent(Limits(max_tokens=1_000, grace=0.9))

    assert await agent.asks(3, "auxiliary") == [GOES] * 3
    assert await agent.asks(2) == [GOES, WARNED]


async def test_one_warning_stands_for_all_budgets() -> None:
    agent = Agent(Limits(max_turns=9, grace_turns=2, max_tokens=900, grace=0.7))
    await agent.asks(9)

    assert agent.budgets.warned
    assert agent.budgets.warned.budget.kind == "max_tokens"


async def test_two_requests_at_once_do_not_pass_the_cap_together() -> None:
    budgets = TrialBudgets(Limits(max_turns=2), "inject")
    first, second, third = (Handling(number=number) for number in range(3))
    passed: list[int] = []

    async def ask(handling: Handling) -> None:
        if (await budgets.rule("main", handling)).passes:
            passed.append(handling.number)

    async with anyio.create_task_group() as tasks:
        for handling in (first, second, third):
            tasks.start_soon(ask, handling)
        await anyio.wait_all_tasks_blocked()
        assert passed == [0, 1]
        budgets.exchange_ended(exchange(0, completed=False))
        await anyio.wait_all_tasks_blocked()
        assert passed == [0, 1, 2]
    assert third.held_ms > 0


async def test_refusals_and_the_cancel_wait_until_what_is_there_is_kept() -> None:
    agent = Agent(Limits(max_turns=1))
    await agent.ask()
    kept, told = anyio.Event(), []

    async def keep(hit: LimitHit) -> None:
        told.append(hit.kind)
        await kept.wait()

    async def tell(what: str, work: Awaitable[object]) -> None:
        await work
        told.append(what)

    agent.budgets.on_hit = keep
    agent.budgets.on_call = lambda: told.append("cancel")
    async with anyio.create_task_group() as tasks:
        for what, work in (("main", agent.ask()), ("aside", agent.ask("auxiliary")), ("call", agent.budgets.call())):
            tasks.start_soon(tell, what, work)
        await anyio.wait_all_tasks_blocked()
        assert told == ["max_turns"]
        kept.set()

    assert told[:2] == ["max_turns", "cancel"]
    assert sorted(told[2:]) == ["aside", "call", "main"]


async def test_what_is_there_is_kept_although_the_agent_takes_its_request_back() -> None:
    agent = Agent(Limits(max_turns=1))
    await agent.ask()
    done: list[str] = []

    async def keep(hit: LimitHit) -> None:
        await anyio.lowlevel.checkpoint()
        done.append(hit.kind)

    agent.budgets.on_hit = keep
    with anyio.CancelScope() as scope:
        agent.budgets.on_call = lambda: done.append("cancel")
        scope.cancel()
        await agent.budgets.end(Budget(kind="max_turns", allowed=1))

    assert done == ["max_turns", "cancel"]


async def test_warning_waits_for_the_turn_before_that_is_answered_and_not_yet_counted() -> None:
    budgets = TrialBudgets(Limits(max_turns=3, grace_turns=2), "inject")
    await budgets.rule("main", Handling(number=0))
    warnings: list[str | None] = []

    async def ask() -> None:
        warnings.append((await budgets.rule("main", Handling(number=1))).warning)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert not warnings
        budgets.exchange_ended(exchange(0))

    assert warnings[0] is not None


def test_what_the_user_asks_for_goes_before_what_the_scenario_says() -> None:
    scenario = Limits(timeout_s=900, max_turns=20, grace_turns=4)

    assert choose_limits(scenario, Limits(max_turns=6, wrap_up="reprompt")) == Limits(
        timeout_s=900, max_turns=6, grace_turns=4, wrap_up="reprompt"
    )


def test_agent_is_warned_in_its_own_request_where_those_are_captured() -> None:
    found = {
        tier: choose_delivery(None, tier=tier, captured=True) for tier in ("wired", "native", "runnable", "unmeasured")
    }

    assert found == {"wired": "inject", "native": "inject", "runnable": "reprompt", "unmeasured": "inject"}
    assert choose_delivery("inject", tier="wired", captured=False) == "reprompt"
    assert choose_delivery("reprompt", tier="wired", captured=True) == "reprompt"


def test_user_is_told_where_there_is_no_room_for_a_warning() -> None:
    assert notes_of(Limits(max_turns=5, grace_turns=2)) == ()
    assert notes_of(Limits(max_turns=5)) == ()
    assert list(notes_of(Limits(max_turns=5, grace_turns=5))) == [
        "max_turns 5, grace_turns 5: no room for a warning; hard cap only"
    ]
    assert list(notes_of(Limits(grace_turns=5))) == ["grace_turns 5: there is no max_turns to be warned of"]


ROLES: list[Role] = ["main", "main", "main", "subagent", "auxiliary"]
REQUESTS = st.lists(st.tuples(st.sampled_from(ROLES), st.booleans()), max_size=40)


@settings(max_examples=120)
@given(
    requests=REQUESTS,
    max_turns=st.integers(1, 12),
    grace_turns=st.integers(0, 13),
    max_tokens=st.one_of(st.none(), st.integers(1, 2_000)),
    grace=st.one_of(st.none(), st.floats(0.01, 0.99)),
)
def test_soft_comes_strictly_before_hard_and_neither_before_the_first_turn(
    requests: list[tuple[Role, bool]], max_turns: int, grace_turns: int, max_tokens: int | None, grace: float | None
) -> None:
    agent = Agent(Limits(max_turns=max_turns, grace_turns=grace_turns, max_tokens=max_tokens, grace=grace))

    async def play() -> None:
        turns = warnings_at = 0
        for role, completed in requests:
            ended = agent.budgets.hit is not None
            passed, warned = await agent.ask(role, completed=completed)
            assert not (ended and passed)
            if warned:
                assert passed
                assert role == "main"
                assert 0 < turns < max_turns
                warnings_at = warnings_at or turns
            elif warnings_at and role == "main":
                assert not passed
            turns += passed and completed and role == "main"
        assert turns == agent.budgets.meter.counts.turns <= max_turns
        if warnings_at and 0 < grace_turns < max_turns:
            assert warnings_at <= max_turns - grace_turns

    run(play())


@settings(max_examples=60)
@given(
    turns=st.integers(1, 12),
    max_turns=st.integers(2, 12),
    data=st.data(),
    delivery=st.sampled_from(["inject", "reprompt"]),
    floods=st.lists(st.sampled_from(["tool_call", "tool_call_update", "agent_message", "usage", "plan"]), max_size=8),
)
def test_agent_that_ended_by_itself_on_or_before_the_soft_limit_is_never_warned(
    turns: int, max_turns: int, data: st.DataObject, delivery: Delivery, floods: list[EventType]
) -> None:
    """Also one that shows more, or asks for more beside its work, after its last turn."""
    grace_turns = data.draw(st.integers(1, max_turns - 1))
    soft = max_turns - grace_turns
    agent = Agent(Limits(max_turns=max_turns, grace_turns=grace_turns), delivery)
    prompted: list[str | None] = []

    async def heed() -> None:
        while await agent.budgets.call() == "cancelling":
            prompted.append(agent.budgets.turn_over(prompted=True))

    async def play() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heed)
            for _ in range(turns):
                await agent.ask()
            for number, kind in enumerate(floods):
                agent.budgets.acp_event(kind, {"id": f"late-{number}", "status": "completed"})
                await agent.ask("auxiliary")
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        warned = turns > soft
        assert (agent.budgets.warned is not None) == warned
        assert (agent.budgets.limit is not None) == warned
        assert len(prompted) == (warned and delivery == "reprompt")

    run(play())


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)
