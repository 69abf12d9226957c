"""`GracefulTurnLimit`: what it counts, when it gives its message, and what it never does."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.contracts import Event, EventObserver, EventType, SteeringSource
from benchflow.limits import GracefulTurnLimit, default_wrap_up_message


def event(type: EventType, seq: int = 0) -> Event:
    return Event(seq=seq, ts="", mono_ms=0.0, type=type, source="gateway", session_id="s")


def limit(max_turns: int, grace_turns: int, **providers: Any) -> GracefulTurnLimit:
    made = GracefulTurnLimit.from_hard_cap(max_turns, grace_turns, **providers)
    assert made is not None
    return made


async def turns(made: GracefulTurnLimit, number: int) -> list[str]:
    """Complete turns, with a poll after each; return what was said."""
    said: list[str] = []
    for _ in range(number):
        await made.on_event(event("turn_end"))
        said += await made.next_steering_messages()
    return said


def test_it_is_an_observer_and_a_steering_source() -> None:
    made = limit(6, 2)
    observer: EventObserver = made
    source: SteeringSource = made

    assert observer is source
    assert made.name == "graceful_turn_limit"


@pytest.mark.parametrize(("max_turns", "grace_turns"), [(10, 0), (10, 10), (10, 11), (1, 1), (1, 0), (5, -1)])
@pytest.mark.parametrize("grace_provider", [None, lambda: 3])
def test_there_is_none_without_room_for_a_warning_whatever_a_provider_would_return(
    max_turns: int, grace_turns: int, grace_provider: Callable[[], int] | None
) -> None:
    assert GracefulTurnLimit.from_hard_cap(max_turns, grace_turns, grace_provider=grace_provider) is None


async def test_it_counts_the_ends_of_turns_and_nothing_else() -> None:
    made = limit(3, 2)
    for _ in range(100):
        for type in ("turn_begin", "prompt_begin", "prompt_end", "tool_call", "agent_message", "usage", "limit"):
            await made.on_event(event(type))

    assert await made.next_steering_messages() == []
    assert await turns(made, 1) == [default_wrap_up_message()]


async def test_it_never_fires_before_the_first_turn() -> None:
    made = limit(10, 9)

    assert await made.next_steering_messages() == []
    assert not made.fired
    assert len(await turns(made, 1)) == 1


async def test_it_fires_when_the_count_reaches_the_soft_limit_and_only_once() -> None:
    made = limit(20, 3)

    assert made.soft_limit == 17
    assert await turns(made, 16) == []
    assert not made.fired
    assert await turns(made, 10) == [default_wrap_up_message()]
    assert made.fired


async def test_concurrent_polls_get_the_message_once() -> None:
    made = limit(4, 2)
    for _ in range(2):
        await made.on_event(event("turn_end"))

    polled = await asyncio.gather(*(made.next_steering_messages() for _ in range(50)))

    assert [text for texts in polled for text in texts] == [default_wrap_up_message()]


async def test_fired_is_true_from_the_moment_in_which_the_message_is_handed_out() -> None:
    made = limit(4, 2)
    for _ in range(4):
        await made.on_event(event("turn_end"))

    assert not made.fired
    await made.next_steering_messages()
    assert made.fired


@pytest.mark.parametrize(("grace", "soft_limit"), [(0, 9), (-5, 9), (1, 9), (4, 6), (9, 1), (10, 1), (999, 1)])
def test_what_a_grace_provider_returns_is_clamped(grace: int, soft_limit: int) -> None:
    assert limit(10, 2, grace_provider=lambda: grace).soft_limit == soft_limit


async def test_a_provider_that_returns_the_default_changes_nothing() -> None:
    plain, asked = limit(10, 3), limit(10, 3, grace_provider=lambda: 3)

    assert [len(await turns(plain, 1)) for _ in range(12)] == [len(await turns(asked, 1)) for _ in range(12)]


async def test_grace_that_is_widened_past_the_count_fires_at_the_very_next_poll() -> None:
    grace = 3
    made = limit(20, 3, grace_provider=lambda: grace)
    assert made.soft_limit == 17
    assert await turns(made, 16) == []

    grace = 8

    assert made.soft_limit == 12
    assert await made.next_steering_messages() == [default_wrap_up_message()]


async def test_grace_that_is_narrowed_puts_the_warning_off() -> None:
    grace = 5
    made = limit(10, 5, grace_provider=lambda: grace)
    await turns(made, 4)
    grace = 1

    assert await turns(made, 4) == []
    assert len(await turns(made, 1)) == 1


async def test_a_message_provider_is_called_when_the_warning_fires_and_used_verbatim() -> None:
    calls: list[int] = []

    def provider() -> str:
        calls.append(1)
        return "  Stop,\nplease. "

    made = limit(4, 2, message_provider=provider)
    assert await turns(made, 1) == []
    assert calls == []

    assert await turns(made, 5) == ["  Stop,\nplease. "]
    assert calls == [1]


def test_the_default_message_has_its_fixed_phrases() -> None:
    message = GracefulTurnLimit.default_wrap_up_message()

    assert message.startswith("You have used your turn budget.")
    assert "Stop calling work tools" in message
    assert "deliver your final result" in message
    for asked in ("accomplished", "remains", "partial", "then stop", "truly required"):
        assert asked in message


def test_grace_that_does_not_fit_is_refused_where_no_hard_cap_stands_in() -> None:
    with pytest.raises(ValueError, match="3 turns of grace do not fit into 3 turns"):
        GracefulTurnLimit(3, 3)


EVENTS: list[EventType] = ["turn_end", "turn_begin", "prompt_begin", "prompt_end", "tool_call", "error"]
STEPS = st.lists(st.one_of(st.sampled_from(EVENTS), st.just("poll"), st.integers(-3, 40)), max_size=120)


@settings(max_examples=150)
@given(data=st.data(), max_turns=st.integers(2, 30), steps=STEPS, asks=st.booleans())
def test_at_most_one_message_after_a_turn_and_before_the_cap(
    data: st.DataObject, max_turns: int, steps: list[EventType | int], asks: bool
) -> None:
    """Whatever comes in whatever order; an integer is what the grace provider returns from then on."""
    static = data.draw(st.integers(1, max_turns - 1))
    grace = static
    made = limit(max_turns, static, grace_provider=(lambda: grace) if asks else None)

    async def play() -> None:
        nonlocal grace
        done, said = 0, 0
        for step in steps:
            if isinstance(step, int):
                grace = step
            elif step == "poll":
                soft = max_turns - min(max(grace if asks else static, 1), max_turns - 1)
                assert 1 <= made.soft_limit == soft < max_turns
                found = await made.next_steering_messages()
                assert len(found) == (not said and done >= soft)
                said += len(found)
                assert made.fired == bool(said)
            else:
                await made.on_event(event(step))
                done += step == "turn_end"

    asyncio.run(play())
