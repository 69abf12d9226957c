"""Which role a model request has in its trial: by rule, and as recorded requests of real agents have it."""

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from recorded import AGENTS, recorded_requests

from benchflow.gateway.classify import TrialSoFar, Verdict, classify
from benchflow.gateway.message import Message, ModelRequest, ToolDefinition, ToolResult, ToolUse

ROOT = Path(__file__).parents[1]

PROMPT = "Please repair the build."
BASH = ToolDefinition(name="bash", description="", parameters={})
EDIT = ToolDefinition(name="edit", description="", parameters={})
TRIAL = TrialSoFar(prompts=(PROMPT,), prompt_open=True, tools=frozenset({"bash", "edit"}))


def user(*texts: str) -> Message:
    return Message(role="user", texts=texts)


def request(
    *messages: Message, tools: tuple[ToolDefinition, ...] = (BASH, EDIT), choice: str | None = None
) -> ModelRequest:
    return ModelRequest(model="m", messages=messages, tools=tools, tool_choice=choice, stream=True)


ASKS = Message(role="assistant", tool_uses=(ToolUse(id="1", name="bash", arguments={}),))
RESULT = Message(role="tool", tool_results=(ToolResult(call_id="1", text="ok"),))
SAYS = Message(role="assistant", texts=("Done.",))
SYSTEM = Message(role="system", texts=("You are an agent.",))


@pytest.mark.parametrize(
    ("asked", "role"),
    [
        (request(SYSTEM, user(PROMPT)), "main"),
        (request(SYSTEM, user(f"<task>\n{PROMPT}\n</task>")), "main"),
        (request(SYSTEM, user("<env>linux</env>", PROMPT)), "main"),
        (request(SYSTEM, user(PROMPT.replace(" ", "\n  "))), "main"),
        (request(user(PROMPT), ASKS, RESULT), "main"),
        (request(user(PROMPT), ASKS, RESULT, user("<system-reminder>be quick</system-reminder>")), "main"),
        (request(user(PROMPT), ASKS, RESULT, SYSTEM), "main"),
        (request(user(PROMPT), SAYS, user("<note>a task has ended</note>")), "main"),
        (request(user(PROMPT), tools=(BASH, EDIT, replace(BASH, name="fetch"))), "main"),
        (request(user(PROMPT), choice="required"), "main"),
        (request(SYSTEM, user(PROMPT), tools=()), "auxiliary"),
        (request(SYSTEM, user(PROMPT), tools=(BASH,)), "auxiliary"),
        (request(SYSTEM, user(PROMPT), choice="edit"), "auxiliary"),
        (request(SYSTEM, user(PROMPT), tools=(BASH,), choice="required"), "auxiliary"),
        (request(user(PROMPT), SAYS, user("Suggest what the user may say next.")), "auxiliary"),
        (request(user(PROMPT), SAYS), "auxiliary"),
        (request(SYSTEM, user("Look for the cause.")), "subagent"),
        (request(SYSTEM, user("Look for the cause."), ASKS, RESULT, tools=(BASH,)), "subagent"),
        (request(SYSTEM, user("Is it safe?"), tools=(BASH,), choice="bash"), "auxiliary"),
        (request(SYSTEM, user("Name this chat."), tools=()), "auxiliary"),
    ],
)
def test_role_follows_from_prompt_tools_and_last_message(asked: ModelRequest, role: str) -> None:
    assert classify(asked, TRIAL).role == role


@pytest.mark.parametrize(
    ("trial", "verdict"),
    [
        (replace(TRIAL, prompts=()), Verdict("auxiliary", "came before any prompt")),
        (replace(TRIAL, prompt_open=False), Verdict("auxiliary", "came after the prompt's response")),
        (replace(TRIAL, tools=None), Verdict("main", "ends with a prompt that was sent")),
        (replace(TRIAL, auxiliary=(re.compile("an agent"),)), Verdict("auxiliary", "matches the quirk 'an agent'")),
        (replace(TRIAL, auxiliary=(re.compile("repair"),)), Verdict("auxiliary", "matches the quirk 'repair'")),
        (replace(TRIAL, prompts=("Another one.", PROMPT)), Verdict("main", "ends with a prompt that was sent")),
    ],
)
def test_role_follows_from_the_trial_so_far(trial: TrialSoFar, verdict: Verdict) -> None:
    assert classify(request(SYSTEM, user(PROMPT)), trial) == verdict


def test_first_request_of_the_trial_sets_no_trap_for_titles() -> None:
    trial = replace(TRIAL, tools=None)

    assert classify(request(user(f"Write a title for: {PROMPT}"), tools=()), trial).role == "auxiliary"


@pytest.mark.parametrize(
    ("messages", "role"),
    [
        ((SYSTEM, user(PROMPT)), "main"),
        ((SYSTEM, user(PROMPT), SAYS, user("output: 3 files")), "main"),
        ((SYSTEM, user(PROMPT), SAYS, Message(role="system", texts=("Ran: ls",))), "main"),
        ((SYSTEM, user(PROMPT), SAYS), "auxiliary"),
        ((SYSTEM, user("Name this chat.")), "auxiliary"),
    ],
)
def test_agent_with_its_tools_in_the_text_has_main_requests_without_tools(
    messages: tuple[Message, ...], role: str
) -> None:
    trial = replace(TRIAL, tools=frozenset(), tools_in_text=True)

    assert classify(request(*messages, tools=()), trial).role == role


@dataclass(frozen=True)
class Quirks:
    auxiliary: tuple[re.Pattern[str], ...]
    tools_in_text: bool


def quirks_of(agent: str) -> Quirks:
    manifest = tomllib.loads((ROOT / "acp" / agent / "manifest.toml").read_text())
    quirks = manifest.get("quirks", {})
    patterns = tuple(re.compile(pattern) for pattern in quirks.get("auxiliary", ()))
    return Quirks(patterns, quirks.get("tools_in_text", False))


@pytest.mark.parametrize("agent", AGENTS)
def test_recorded_requests_of_real_agents_have_their_roles(agent: str) -> None:
    quirks = quirks_of(agent)
    tools = None
    expected, found = [], []
    for recorded in recorded_requests(agent):
        trial = TrialSoFar(
            prompts=recorded.prompts,
            prompt_open=not recorded.prompt_answered,
            tools=tools,
            auxiliary=quirks.auxiliary,
            tools_in_text=quirks.tools_in_text,
        )
        verdict = classify(recorded.request, trial)
        if verdict.role == "main":
            tools = frozenset(tool.name for tool in recorded.request.tools)
        expected.append((recorded.seq, recorded.role))
        found.append((recorded.seq, verdict.role))

    assert found == expected


def test_there_are_recorded_requests() -> None:
    assert set(AGENTS) >= {"opencode", "qwen-code"}
