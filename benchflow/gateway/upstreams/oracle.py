"""The upstream `oracle`: plays a scenario's solution as a model would, through whichever tools the agent offers.

It keeps no state: what it answers follows from the request alone.
"""

import re
from collections.abc import Sequence

from benchflow.gateway.message import ModelAnswer, ModelRequest, RawRequest, RawResponse, ToolUse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.oracle_steps import TRIES, Progress, Step, call_id, command_of, read_progress
from benchflow.gateway.upstreams.oracle_tools import find_finisher, find_shells, find_writer, finish_arguments
from benchflow.gateway.upstreams.playing import Played, play
from benchflow.scenario import WriteStep

_DIRECTORY = re.compile(
    r"(?:working[ _-]?dir(?:ectory)?|current[ _-]dir(?:ectory)?|workspace|project root|cwd)\b"
    r"[^\n/]{0,40}?[\s:=`'\"(>](/[^\s`'\"<>,;)]*)",
    re.IGNORECASE,
)
"""How agents tell their model where they work."""
_BLOCK = re.compile(r"^\s*```(bash|shell|sh)\s*$", re.MULTILINE)
"""How agents that read commands from the text show their model such a block."""


class Oracle:
    """Answers main requests with the next step of the solution, and with its answer once all are done."""

    name = "oracle"
    priced_as: str | None = None

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Answer the request."""
        return play(request, context, _answer)

    async def aclose(self) -> None:
        """Nothing is held."""


def _answer(request: ModelRequest, context: TrialContext) -> Played:
    if context.solution is None:
        return _unplayable("the scenario has no solution for the oracle to play; use another upstream")
    if request.continues is not None and not any(message.tool_results for message in request.messages):
        return _unplayable("the oracle cannot tell how far it is: the conversation is kept by the server, not sent")
    steps = context.solution.steps
    progress = read_progress(request, steps)
    if progress.failures >= TRIES:
        text = f"Step {progress.done + 1} of {len(steps)} failed twice. It said at the end:\n{progress.output}"
        return _ending(request, text)
    if progress.done == len(steps):
        return _ending(request, context.solution.answer)
    place = working_directory(request, context.workspace)
    return _play_step(request, steps, progress, place)


def _play_step(request: ModelRequest, steps: Sequence[Step], progress: Progress, place: str) -> Played:
    step, number = steps[progress.done], progress.done + 1
    note = f"Step {number} of {len(steps)}"
    command = command_of(step, number)
    if not request.tools:
        return Played(answer=ModelAnswer(text=f"{note}.\n\n```{shell_block(request)}\n{command}\n```"))
    shells = find_shells(request.tools)
    calls = [(shell.tool, shell.arguments(command, note, place)) for shell in shells]
    if isinstance(step, WriteStep) and (writer := find_writer(request.tools, step.content)):
        calls.insert(0, (writer.tool, writer.arguments(step.write, step.content, note, place)))
    if not calls:
        offered = ", ".join(tool.name for tool in request.tools)
        need = "writes files or runs commands" if isinstance(step, WriteStep) else "runs commands"
        return _unplayable(f"the oracle cannot play step {number}: none of the tools {need}: {offered}")
    tool, arguments = calls[min(progress.failures, len(calls) - 1)]
    call = ToolUse(id=call_id(number, progress.failures + 1), name=tool.name, arguments=arguments)
    return Played(answer=ModelAnswer(text=f"{note}.", tool_calls=(call,)))


def _ending(request: ModelRequest, text: str) -> Played:
    finisher = find_finisher(request.tools) if request.tool_choice == "required" else None
    if finisher is None:
        return Played(answer=ModelAnswer(text=text))
    call = ToolUse(id="call_end", name=finisher.name, arguments=finish_arguments(finisher, text))
    return Played(answer=ModelAnswer(tool_calls=(call,)))


def _unplayable(reason: str) -> Played:
    return Played(answer=ModelAnswer(text=reason), unplayable=reason)


def shell_block(request: ModelRequest) -> str:
    """Return what the agent's system text calls a block of shell commands most often; `bash` if it says nothing."""
    texts = [text for message in request.messages if message.role == "system" for text in message.texts]
    names = [name for text in texts for name in _BLOCK.findall(text)]
    return max(("bash", "shell", "sh"), key=names.count)


def working_directory(request: ModelRequest, known: str) -> str:
    """Return the directory that the agent works in, as the agent tells it to its model; else `known`."""
    texts = [text for message in request.messages if message.role in ("system", "user") for text in message.texts]
    if known and any(known in text for text in texts):
        return known
    found = (match[1] for text in texts if (match := _DIRECTORY.search(text)))
    return next(found, "").rstrip("/.") or known
