"""Budgets in a session: a fake agent as a process, at a gateway with a scripted model, prompted as in a trial."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from acp_rig import Rig, fake_agent
from wire import Opened, opened

from benchflow.budgets.trial import TrialBudgets
from benchflow.contracts import Delivery, LimitHit, Limits, PromptResult
from benchflow.gateway.message import ToolUse
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer
from benchflow.hosting.prompting import Prompting
from benchflow.limits import default_wrap_up_message

CALL = ScriptedAnswer(tool_calls=(ToolUse(id="", name="shell", arguments={"command": "echo did >> did.txt"}),))
SIX = Limits(max_turns=6, grace_turns=2)
GRACE_S = 20.0
"""What an agent is left that ends its turn."""
SHORT_S = 0.2
"""What one is left that does not."""


def model(*, obeys: bool) -> list[ScriptedAnswer]:
    """A model that works on and on; one that obeys ends with its fifth answer."""
    return [CALL, CALL, CALL, CALL, ScriptedAnswer(text="This is what I have.")] if obeys else [CALL]


@dataclass
class Session:
    """A prompted agent, and what can be seen of it."""

    prompting: Prompting
    budgets: TrialBudgets
    gateway: Opened
    rig: Rig

    def turns(self) -> list[tuple[int | None, bool, int]]:
        """Of each main request: which turn it was, whether it was stopped, how many warnings were put into it."""
        return [
            (exchange.turn, exchange.stopped, sum(change.kind == "wrap_up" for change in exchange.changes))
            for exchange in sorted(self.gateway.tap.exchanges, key=lambda exchange: exchange.seq)
        ]

    @property
    def prompts(self) -> list[str]:
        asked = [frame for frame in self.rig.log.frames("out") if frame.get("method") == "session/prompt"]
        return [frame["params"]["prompt"][0]["text"] for frame in asked]


@asynccontextmanager
async def session(
    folder: Path,
    limits: Limits,
    delivery: Delivery = "inject",
    *,
    answers: Sequence[ScriptedAnswer] = (CALL,),
    behaviour: dict[str, Any] | str = "trivial",
    grace_s: float = GRACE_S,
) -> AsyncIterator[Session]:
    if not isinstance(behaviour, str):
        written = folder / "behaviour.json"
        written.write_text(json.dumps({"description": "made for a test", **behaviour}))
        behaviour = str(written)
    budgets = TrialBudgets(limits, delivery)
    made: list[Session] = []
    async with opened(Script(answers), folder, budgets=budgets) as gateway:
        url = f"http://127.0.0.1:{gateway.port}/v1"
        async with fake_agent(
            behaviour,
            folder,
            env={"BENCHFLOW_PROVIDER_BASE_URL": url},
            on_event=lambda kind, data, _: made[0].prompting.saw(kind, data) if made else None,
        ) as rig:
            await rig.open()
            budgets.meter.now = gateway.tap.agent_time.now
            prompting = Prompting(rig.client, gateway.tap, budgets, cancel_grace_s=grace_s)
            made.append(Session(prompting, budgets, gateway, rig))
            yield made[0]


def ended(result: PromptResult) -> tuple[str, bool]:
    return result.completion_reason, result.wrapped_up


def limit(phase: Any, used: float, counter: str = "main_exchanges", kind: str = "max_turns") -> LimitHit:
    return LimitHit(kind=kind, allowed=6, used=used, phase=phase, counter=counter)


async def test_injected_warning_is_first_in_the_fifth_request_and_an_obeying_model_wraps_up(tmp_path: Path) -> None:
    async with session(tmp_path, SIX, answers=model(obeys=True)) as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.limit) == (("stop", True), limit("soft", 5))
    assert it.turns() == [(0, False, 0), (1, False, 0), (2, False, 0), (3, False, 0), (4, False, 1)]
    assert it.prompts == ["go"]


async def test_model_that_ignores_the_injected_warning_is_stopped_after_exactly_six_turns(tmp_path: Path) -> None:
    async with session(tmp_path, SIX) as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.limit) == (("tool_limit", False), limit("hard", 6))
    assert it.turns() == [*((n, False, int(n > 3)) for n in range(6)), (None, True, 0)]
    assert (tmp_path / "did.txt").read_text() == "did\n" * 6
    assert result.metrics.tokens
    assert result.metrics.tokens.total > 0


async def test_first_request_after_the_wrap_up_prompt_is_the_fifth_turn_and_nothing_is_put_into_any(
    tmp_path: Path,
) -> None:
    async with session(tmp_path, SIX, "reprompt", answers=model(obeys=True)) as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.limit) == (("stop", True), limit("soft", 5))
    assert it.turns() == [*((n, False, 0) for n in range(4)), (None, True, 0), (4, False, 0)]
    assert it.prompts == ["go", default_wrap_up_message()]
    held, asked = it.gateway.log()[4:]
    assert (held.line["status"], held.line["limit"]["phase"]) == (None, "soft")
    assert default_wrap_up_message() in (asked.request_body or b"").decode()


async def test_model_that_ignores_the_wrap_up_prompt_is_stopped_after_exactly_six_turns(tmp_path: Path) -> None:
    async with session(tmp_path, SIX, "reprompt") as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.limit) == (("tool_limit", False), limit("hard", 6))
    assert it.turns() == [
        *((n, False, 0) for n in range(4)),
        (None, True, 0),
        (4, False, 0),
        (5, False, 0),
        (None, True, 0),
    ]


@pytest.mark.parametrize("delivery", ["inject", "reprompt"])
async def test_agent_that_ends_on_that_very_turn_is_not_warned(delivery: Delivery, tmp_path: Path) -> None:
    answers = [CALL, CALL, CALL, ScriptedAnswer(text="Done.")]
    async with session(tmp_path, SIX, delivery, answers=answers) as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.limit) == (("stop", False), None)
    assert it.prompts == ["go"]


async def test_held_request_goes_out_with_the_warning_where_cancel_is_not_answered(tmp_path: Path) -> None:
    deaf = {"deaf": True}
    async with session(tmp_path, SIX, "reprompt", answers=model(obeys=True), behaviour=deaf, grace_s=SHORT_S) as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.limit) == (("stop", True), limit("soft", 5))
    assert it.turns() == [*((n, False, 0) for n in range(4)), (4, False, 1)]
    assert it.prompts == ["go"]
    assert it.budgets.facts()["budgets"]["fell_back"] is True
    held = it.gateway.log()[4]
    assert held.line["held_ms"] >= SHORT_S * 1000
    assert (held.line["limit"]["phase"], held.line["stopped"]) == ("soft", False)


async def test_agent_that_follows_cancel_only_after_the_warning_went_out_has_not_wrapped_up(tmp_path: Path) -> None:
    async with session(
        tmp_path, SIX, "reprompt", answers=model(obeys=True), behaviour="late-cancel", grace_s=SHORT_S
    ) as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.limit) == (("tool_limit", False), limit("soft", 5))


async def test_agent_that_ignores_cancel_at_the_hard_cap_is_given_up_in_its_grace(tmp_path: Path) -> None:
    deaf = {"deaf": True, "on": {"session/prompt": [{"model": {"hide": True}}, {"hang": True}]}}
    async with session(tmp_path, Limits(max_turns=2), behaviour=deaf, grace_s=SHORT_S) as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.stop_reason) == (("tool_limit", False), None)
    assert it.turns() == [(0, False, 0), (1, False, 0), (None, True, 0)]


async def test_model_requests_are_refused_as_soon_as_the_time_is_up(tmp_path: Path) -> None:
    slow = ScriptedAnswer(tool_calls=(ToolUse(id="", name="shell", arguments={"command": "sleep 0.05"}),))
    deaf = {"deaf": True, "on": {"session/prompt": [{"model": {"hide": True}}, {"hang": True}]}}
    async with session(tmp_path, Limits(timeout_s=0.3), answers=[slow], behaviour=deaf, grace_s=SHORT_S) as it:
        result = await it.prompting.prompt("go", 0.3)
        await it.rig.log.until(lambda: "no further requests" in it.rig.said or it.turns()[-1][1])

    assert ended(result) == ("timeout", False)
    assert result.limit
    assert (result.limit.kind, result.limit.phase, result.limit.counter) == ("timeout_s", "hard", "wall_clock")
    assert result.limit.used >= 0.3
    assert [stopped for _, stopped, _ in it.turns()].count(True) == 1


def tool_calls(number: int, **more: Any) -> dict[str, Any]:
    shown = {
        "sessionUpdate": "tool_call",
        "toolCallId": "call-${n}-${id}",
        "title": "look",
        "status": "completed",
        **more,
    }
    return {"update": shown, "times": number}


WAIT_FOR_CANCEL: list[dict[str, Any]] = [{"hang": False}, {"answer": {"stopReason": "${stop}"}}]


async def test_tool_calls_stand_in_for_turns_where_the_gateway_sees_none(tmp_path: Path) -> None:
    behaviour = {"on": {"session/prompt": [tool_calls(4), *WAIT_FOR_CANCEL]}}
    async with session(tmp_path, SIX, "inject", behaviour=behaviour) as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.limit) == (("tool_limit", False), limit("hard", 8, "tool_calls"))
    assert it.prompts == ["go", default_wrap_up_message()]


async def test_tool_calls_beyond_their_budget_end_the_trial(tmp_path: Path) -> None:
    behaviour = {"on": {"session/prompt": [tool_calls(7), *WAIT_FOR_CANCEL]}}
    async with session(tmp_path, Limits(max_tool_calls=6), behaviour=behaviour) as it:
        result = await it.prompting.prompt("go", 30)

    assert (ended(result), result.limit) == (("tool_limit", False), limit("hard", 7, "tool_calls", "max_tool_calls"))
    assert result.stop_reason == "cancelled"


async def test_agent_of_which_nothing_is_heard_is_ended(tmp_path: Path) -> None:
    behaviour = {"on": {"session/prompt": [tool_calls(1, status="pending"), *WAIT_FOR_CANCEL]}}
    async with session(tmp_path, Limits(idle_timeout_s=0.2), behaviour=behaviour) as it:
        result = await it.prompting.prompt("go", 30)

    assert ended(result) == ("timeout", False)
    assert result.limit
    assert (result.limit.kind, result.limit.counter) == ("idle_timeout_s", "idle_clock")


async def test_time_in_an_open_tool_call_is_no_idle_time_where_that_is_asked_for(tmp_path: Path) -> None:
    behaviour = {
        "on": {
            "session/prompt": [tool_calls(1, status="pending"), {"sleep": 0.3}, {"answer": {"stopReason": "end_turn"}}]
        }
    }
    async with session(tmp_path, Limits(idle_timeout_s=0.1, idle_in_tools=False), behaviour=behaviour) as it:
        result = await it.prompting.prompt("go", 30)

    assert ended(result) == ("stop", False)


@pytest.mark.parametrize("kind", ["max_tokens", "max_output_tokens"])
async def test_tokens_have_a_soft_and_a_hard_limit(kind: str, tmp_path: Path) -> None:
    allowed = 1_500 if kind == "max_tokens" else 40
    limits = Limits(**{kind: allowed, "grace": 0.6})
    async with session(tmp_path, limits) as it:
        result = await it.prompting.prompt("go", 30)

    assert ended(result) == ("tool_limit", False)
    assert result.limit
    assert (result.limit.kind, result.limit.phase, result.limit.counter) == (kind, "hard", "usage")
    assert result.limit.used >= allowed
    warned = [warnings for _, _, warnings in it.turns()]
    assert warned[0] == 0
    assert sum(warned) > 0
    said = [change.after for line in it.gateway.log() for change in line.changes if change.kind == "wrap_up"]
    assert said[0].startswith(
        "You have used your token budget" if kind == "max_tokens" else "You have used your output"
    )


async def test_all_prompts_of_a_trial_share_its_budgets(tmp_path: Path) -> None:
    answers = [CALL, ScriptedAnswer(text="One."), CALL]
    async with session(tmp_path, Limits(max_turns=4), answers=answers) as it:
        first = await it.prompting.prompt("go", 30)
        second = await it.prompting.prompt("go on", 30)

    assert (ended(first), ended(second)) == (("stop", False), ("tool_limit", False))
    assert [turn for turn, _, _ in it.turns()] == [0, 1, 2, 3, None]
