"""Decides whether a model request is the agent's main work, something beside it, or a subagent's. One pure function.

It is asked when a request arrives, and its verdict is never revised. What it gets wrong for an agent, that agent's
quirks correct.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from benchflow.gateway.message import ModelRequest, Role


class Quirks(Protocol):
    """Where an agent is not what the general rules expect."""

    @property
    def auxiliary(self) -> Sequence[str]:
        """Regular expressions; a request whose system text or last message matches one is auxiliary."""
        ...

    @property
    def tools_in_text(self) -> bool:
        """It writes its tool calls into the text, and offers no tools to the model's API."""
        ...


@dataclass(frozen=True, kw_only=True)
class TrialSoFar:
    """What is known of a trial when a request arrives."""

    prompts: tuple[str, ...]
    """What the client has sent in `session/prompt`, in order."""
    prompt_open: bool
    """The last of them is not answered yet."""
    tools: frozenset[str] | None
    """Names of the tools that the last main request offered; None: there was none yet."""
    auxiliary: tuple[re.Pattern[str], ...] = ()
    tools_in_text: bool = False
    answers: tuple[str, ...] = ()
    """Ids of the last responses to main requests, and of their conversations, where the server keeps those."""


@dataclass(frozen=True, slots=True)
class Verdict:
    role: Role
    reason: str


_REMINDER = re.compile(r"\s*<([A-Za-z][\w.:-]*)[^>]*>.*</\1>\s*", re.DOTALL)
"""A text that is one tagged block as a whole: agents add such notes around what the user said."""


def classify(request: ModelRequest, trial: TrialSoFar) -> Verdict:
    """Say which role a generate request has in its trial."""
    if pattern := _quirk(request, trial.auxiliary):
        return Verdict("auxiliary", f"matches the quirk {pattern.pattern!r}")
    if not trial.prompts:
        return Verdict("auxiliary", "came before any prompt")
    if not trial.prompt_open:
        return Verdict("auxiliary", "came after the prompt's response")
    offered = frozenset(tool.name for tool in request.tools)
    if request.tool_choice in offered or (request.tool_choice == "required" and len(offered) == 1):
        return Verdict("auxiliary", "forces a tool")
    if request.compacts:
        return Verdict("auxiliary", "asks for a shorter conversation")
    if not offered and not trial.tools_in_text:
        return Verdict("auxiliary", "offers no tools")
    kept = not {request.continues, request.conversation}.isdisjoint(trial.answers)
    if not kept and not _carries_prompt(request, trial.prompts):
        if not offered:
            return Verdict("auxiliary", "carries no prompt that was sent")
        return Verdict("subagent", "another conversation with tools")
    if trial.tools is not None and not trial.tools <= offered:
        return Verdict("auxiliary", "offers another set of tools")
    return _by_last_message(request, trial)


def _by_last_message(request: ModelRequest, trial: TrialSoFar) -> Verdict:
    reminded = False
    for message in reversed(request.messages):
        if message.tool_results:
            return Verdict("main", "ends with a tool result")
        if message.role == "system":
            reminded = reminded or trial.tools_in_text  # it may be a tool's result
            continue
        if message.role == "assistant" and reminded:
            said = (
                "a text, as tool results of this agent do" if trial.tools_in_text else "a reminder of the agent's own"
            )
            return Verdict("main", f"ends with {said}")
        if message.role == "assistant":
            return Verdict("auxiliary", "ends with the assistant's own text")
        if _any_prompt_in(message.texts, trial.prompts):
            return Verdict("main", "ends with a prompt that was sent")
        if all(_REMINDER.fullmatch(text) or not text.strip() for text in message.texts):
            reminded = True
            continue
        if trial.tools_in_text:
            return Verdict("main", "ends with a text, as tool results of this agent do")
        return Verdict("auxiliary", "ends with a text that no prompt sent")
    return Verdict("auxiliary", "has no message to answer")


def _quirk(request: ModelRequest, patterns: Sequence[re.Pattern[str]]) -> re.Pattern[str] | None:
    return next((pattern for pattern in patterns for text in _telling(request) if pattern.search(text)), None)


def _telling(request: ModelRequest) -> Iterator[str]:
    """The texts that say what a request is for: those of the system, and the last message's."""
    for message in request.messages:
        if message.role == "system":
            yield from message.texts
    if request.messages:
        yield from request.messages[-1].texts


def _carries_prompt(request: ModelRequest, prompts: Sequence[str]) -> bool:
    return any(_any_prompt_in(message.texts, prompts) for message in request.messages if message.role == "user")


def _any_prompt_in(texts: Sequence[str], prompts: Sequence[str]) -> bool:
    return any(_contains(text, prompt) for text in texts for prompt in prompts)


def _contains(text: str, prompt: str) -> bool:
    """Whether the text has the prompt in it, however the agent broke its lines."""
    words = prompt.split()
    if prompt in text:
        return True
    if not words or words[0] not in text or words[-1] not in text:
        return False
    return " ".join(words) in " ".join(text.split())
