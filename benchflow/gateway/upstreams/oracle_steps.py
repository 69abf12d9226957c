"""A solution's steps as an agent's tools play them: the commands, the marks that tell how one went, and how far it is.

All of it is read back from the conversation, which is the oracle's only memory.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from benchflow.gateway.message import ModelRequest, ToolResult, ToolUse
from benchflow.scenario import RunStep, WriteStep

Step = RunStep | WriteStep

TRIES = 2
"""How often a step is tried."""
TAIL = 600
"""Characters of a failed step's output that are told."""

_ASKED = re.compile(r"\[step (\d+): exit \$\?\]")
"""The mark as it stands in a command."""
_DONE = re.compile(r"\[step (\d+): exit (\d+)\]")
"""The mark as it comes back."""
_OWN_ID = re.compile(r"step_(\d+)_(\d+)")
_TROUBLE = re.compile(
    r"\W*(error|failed|failure|permission denied|denied|rejected|invalid|cannot|could not|unable to|exception"
    r"|traceback|tool \S+ (not found|failed)|\w+ verification failed|exit code: [1-9])\b",
    re.IGNORECASE,
)
"""How the result of a tool that failed begins."""
_REFUSED = re.compile(
    r"has not been read|must (first )?(be )?read|read it first|user (rejected|declined|denied|refused)"
    r"|was (denied|rejected)|not permitted|permission denied|already exists"
    r"|\"(error|is_?error)\":\s*(true|\"[^\"])|\"success\":\s*false",
    re.IGNORECASE,
)
"""What a short result of a tool that failed has in it."""
_SHORT = 2_000
_SHORTENED = re.compile(r"\b(truncated|omitted|abbreviated)\b", re.IGNORECASE)
"""Stands where an agent has cut an output, perhaps with the mark at its end: to do the step again could do harm."""


def command_of(step: Step, number: int) -> str:
    """Return the command that plays the step and prints how it went. The shell that it runs in stays as it was."""
    mark = f'echo "[step {number}: exit $?]"'
    if isinstance(step, RunStep):  # `env`, for there are agents that take a leading `bash -c` off and leave its quotes
        return f"env bash -c {_quote(step.run)}; {mark}"
    path, content = step.write, step.content
    parent = str(PurePosixPath(path).parent)
    ready = "" if parent == "." else f"mkdir -p {_quote(parent)} && "
    if not content.endswith("\n"):  # a here-document would add a newline
        return f"{ready}printf '%s' {_quote(content)} > {_quote(path)}; {mark}"
    end = "END_OF_FILE"
    while f"{end}\n" in content:
        end += "_"
    return f"{ready}cat > {_quote(path)} <<'{end}'; {mark}\n{content}{end}"


def call_id(number: int, attempt: int) -> str:
    """Return the id of the call that plays a step."""
    return f"call_step_{number}_{attempt}"


def _quote(text: str) -> str:
    """Quote for a POSIX shell, readably."""
    return "'" + text.replace("'", "'\\''") + "'"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the conversation has come."""

    done: int = 0
    """Steps that have succeeded."""
    failures: int = 0
    """How often the next one has failed."""
    output: str = ""
    """The end of what the last failure said."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How one try of a step went."""

    number: int
    """From 1."""
    passed: bool
    text: str
    attempt: int = 1
    """Which try of the step it was, as far as can be told."""


def read_progress(request: ModelRequest, steps: Sequence[Step]) -> Progress:
    """Read from the conversation how far the steps have been played."""
    progress = Progress()
    for outcome in _outcomes(request, steps):
        if outcome.passed and outcome.number > progress.done:
            progress = Progress(done=min(outcome.number, len(steps)))
        elif not outcome.passed and outcome.number == progress.done + 1:
            failures = max(progress.failures + 1, outcome.attempt)
            progress = Progress(done=progress.done, failures=failures, output=outcome.text[-TAIL:])
        elif not outcome.passed and outcome.number > progress.done and request.continues is not None:
            # The server keeps what came before: the step was tried, so those before it are done.
            progress = Progress(done=outcome.number - 1, failures=outcome.attempt, output=outcome.text[-TAIL:])
    return progress


def _outcomes(request: ModelRequest, steps: Sequence[Step]) -> Iterator[_Outcome]:
    calls: dict[str, tuple[int, bool]] = {}
    for message in request.messages:
        for use in message.tool_uses:
            if number := _number_of(use, steps):
                calls[use.id] = number, _ASKED.search(_joined(use.arguments)) is not None
        for result in message.tool_results:
            yield from _of_result(result, calls.get(result.call_id) or _of_own_id(result.call_id, steps))
        if message.role in ("user", "system"):
            yield from _of_marks("\n".join(message.texts))


def _number_of(use: ToolUse, steps: Sequence[Step]) -> int | None:
    """Say which step a call plays: by its id, else by the mark in its command, else by what it writes."""
    if match := _OWN_ID.search(use.id):
        return int(match[1])
    text = _joined(use.arguments)
    if match := _ASKED.search(text):
        return int(match[1])
    values = tuple(value for value in use.arguments.values() if isinstance(value, str))
    return next((number for number, step in enumerate(steps, start=1) if _writes(values, step)), None)


def _of_own_id(call_id: str, steps: Sequence[Step]) -> tuple[int, bool] | None:
    """Say which step a call that is not in the request has played, and whether by a command."""
    match = _OWN_ID.search(call_id)
    number = int(match[1]) if match else 0
    return (number, isinstance(steps[number - 1], RunStep)) if 0 < number <= len(steps) else None


def _writes(values: tuple[str, ...], step: Step) -> bool:
    """Whether a file tool's arguments are those that play the step."""
    return isinstance(step, WriteStep) and step.content in values and any(v.endswith(step.write) for v in values)


def _of_result(result: ToolResult, call: tuple[int, bool] | None) -> Iterator[_Outcome]:
    own = _OWN_ID.search(result.call_id)
    attempt = int(own[2]) if own else 1
    marked = list(_of_marks(result.text, attempt))
    if marked or call is None:
        yield from marked
        return
    number, is_command = call
    passed = bool(_SHORTENED.search(result.text)) if is_command else not _reads_as_failure(result)
    yield _Outcome(number, passed, result.text, attempt)


def _of_marks(text: str, attempt: int = 1) -> Iterator[_Outcome]:
    """Read the marks of a text; one that is repeated there counts once."""
    for number, status in dict.fromkeys(_DONE.findall(text)):
        yield _Outcome(int(number), status == "0", text, attempt)


def _reads_as_failure(result: ToolResult) -> bool:
    text = result.text.strip()
    return result.is_error or bool(_TROUBLE.match(text)) or (len(text) < _SHORT and bool(_REFUSED.search(text)))


def _joined(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(_joined(part) for part in value.values())
    if isinstance(value, list | tuple):
        return "\n".join(_joined(part) for part in value)
    return ""
