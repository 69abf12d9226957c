"""How a turn is ended from our side."""

from pathlib import Path

import anyio
import pytest
from acp_rig import fake_agent

from benchflow.session.turn import PromptOutcome


async def test_a_prompt_whose_time_is_up_is_cancelled_over_the_protocol(tmp_path: Path) -> None:
    async with fake_agent("hangs", tmp_path) as rig:
        await rig.open()
        outcome = await rig.client.prompt(["go"], timeout_s=0.1)

    assert outcome == PromptOutcome(stop_reason="cancelled", cancelled=True, timed_out=True)
    assert rig.log.frames("out")[-1]["method"] == "session/cancel"


async def test_an_agent_deaf_to_cancel_is_given_up(tmp_path: Path) -> None:
    async with fake_agent("deaf", tmp_path) as rig:
        await rig.open()
        outcome = await rig.client.prompt(["go"], timeout_s=0.1, cancel_grace_s=0.1)

    assert outcome == PromptOutcome(stop_reason=None, ended=False, cancelled=True, timed_out=True)


@pytest.mark.parametrize(
    ("behaviour", "outcome"),
    [
        ("hangs", PromptOutcome(stop_reason="cancelled", cancelled=True)),
        ("error-on-cancel", PromptOutcome(stop_reason=None, cancelled=True)),
        ("dies-on-cancel", PromptOutcome(stop_reason=None, ended=False, cancelled=True)),
    ],
)
async def test_cancel_ends_the_prompt_that_another_task_waits_for(
    behaviour: str, outcome: PromptOutcome, tmp_path: Path
) -> None:
    outcomes: list[PromptOutcome] = []
    async with fake_agent(behaviour, tmp_path) as rig, anyio.create_task_group() as tasks:
        await rig.open()

        async def prompt() -> None:
            outcomes.append(await rig.client.prompt(["go"]))

        tasks.start_soon(prompt)
        await rig.log.until(lambda: rig.log.frames("out")[-1]["method"] == "session/prompt")
        assert await rig.client.cancel(20)

    assert outcomes == [outcome]


async def test_a_cancelled_call_ends_the_turn_before_it_returns(tmp_path: Path) -> None:
    async with fake_agent("hangs", tmp_path) as rig:
        await rig.open()
        with anyio.move_on_after(0.1) as scope:
            await rig.client.prompt(["go"])
        assert scope.cancelled_caught
        assert rig.of("prompt_end") == [{"index": 0, "stop_reason": "cancelled"}]

        outcome = await rig.client.prompt(["again"], timeout_s=0.1)
        assert outcome.stop_reason == "cancelled"


async def test_permissions_that_are_asked_for_after_a_cancel_are_answered_cancelled(tmp_path: Path) -> None:
    async with fake_agent("works-after-cancel", tmp_path) as rig:
        await rig.open()
        outcome = await rig.client.prompt(["go"], timeout_s=0.1, cancel_grace_s=20)

    assert outcome == PromptOutcome(stop_reason="cancelled", cancelled=True, timed_out=True)
    assert [data["outcome"] for data in rig.of("permission")] == ["cancelled"]
    assert (tmp_path / "after.txt").exists()


async def test_there_is_nothing_to_cancel_between_turns(tmp_path: Path) -> None:
    async with fake_agent("trivial", tmp_path) as rig:
        await rig.open()
        assert await rig.client.cancel(0)
    assert len(rig.log.frames("out")) == 2
