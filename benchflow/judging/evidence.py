"""What a judge is shown of a trial: the task, the agent's answer, what changed in the workspace, and what it did.

Every text is bounded and has no secret in it. What they mean to a judge, the prompt says.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import anyio.to_thread
import orjson

from benchflow.contracts import Event, ScorerContext
from benchflow.scenario import Scenario
from benchflow.trajectories.cutting import until_limit
from benchflow.trajectories.output import output_text
from benchflow.trajectories.tools import ToolCall, ToolLedger

TASK_SHOWN = 8_000
ANSWER_SHOWN = 8_000
DIFF_SHOWN = 40_000
TRAJECTORY_SHOWN = 40_000
"""Characters of each text that a judge is shown at most. Of a longer one the middle is left out, and that is said."""
MESSAGE_SHOWN = 1_000
CALL_SHOWN = 600
"""Characters of a message, and of a tool call's input or output, in the trajectory."""

Redact = Callable[[bytes], bytes]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The material of a case."""

    task: str
    answer: str
    changes: str
    """The workspace's diff."""
    trajectory: str

    def texts(self) -> dict[str, str]:
        """Return the texts by the names that the prompt gives them, in its order."""
        return {"task": self.task, "answer": self.answer, "changes": self.changes, "trajectory": self.trajectory}


async def gather(scenario: Scenario, context: ScorerContext, redact: Redact) -> Evidence:
    """Collect the material of a trial that has ended."""
    stored = context.metadata.get("diff")
    diff = stored if isinstance(stored, str) else await anyio.to_thread.run_sync(context.workspace.diff)

    def shown(text: str, limit: int) -> str:
        """Redact before the cut, which could split a secret."""
        return clip(redact(text.encode("utf-8", "replace")).decode("utf-8", "replace"), limit)

    steps = describe_steps(until_limit(context.trace.events) if context.trace else (), shown)
    return Evidence(
        task=shown("\n\n".join(scenario.prompts), TASK_SHOWN),
        answer=shown(context.agent_output.strip(), ANSWER_SHOWN),
        changes=shown(diff, DIFF_SHOWN),
        trajectory=clip("\n".join(steps), TRAJECTORY_SHOWN),
    )


def clip(text: str, limit: int) -> str:
    """Return a text of at most about `limit` characters: of a longer one its beginning and, half as long, its end."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    head = limit - tail
    return f"{text[:head]}\n[... {len(text) - limit} characters are left out here ...]\n{text[-tail:]}"


def describe_steps(events: Iterable[Event], shown: Callable[[str, int], str]) -> Iterator[str]:
    """Yield what an agent said and did, a numbered entry each: messages, tool calls with input and output, errors.

    `shown` makes a text fit to be shown within a number of characters.
    """
    for number, entry in enumerate(_entries(events), start=1):
        if isinstance(entry, ToolCall):
            yield f"{number}. tool call {shown(_named(entry), CALL_SHOWN)}: {entry.status}"
            for what, value in (("input", entry.raw_input), ("output", output_text(entry))):
                if text := _text(value).strip():
                    yield f"   {what}: {shown(text, CALL_SHOWN)}"
        else:
            kind, pieces = entry
            yield f"{number}. {kind}: {shown(''.join(pieces).strip(), MESSAGE_SHOWN)}"


def _entries(events: Iterable[Event]) -> list[ToolCall | tuple[str, list[str]]]:
    """Join the pieces of messages, and put each tool call where it began, as it ended."""
    ledger = ToolLedger()
    entries: list[ToolCall | tuple[str, list[str]]] = []
    for event in events:
        known = len(ledger.calls)
        ledger.see(event)
        entries += ledger.calls[known:]
        match event.type:
            case "agent_message":
                text = str(event.data.get("text", ""))
                last = entries[-1] if entries else None
                if isinstance(last, tuple) and last[0] == "the agent says":
                    last[1].append(text)
                elif text:
                    entries.append(("the agent says", [text]))
            case "prompt_begin":
                entries.append(("the agent is prompted", [str(event.data.get("text", ""))]))
            case "error" | "limit":
                entries.append((event.type, [str(event.data.get("message") or event.data.get("kind") or "")]))
    return entries


def _named(call: ToolCall) -> str:
    name = call.name or call.kind
    return f"{name} ({call.title})" if call.title and call.title != name else name


def _text(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return orjson.dumps(value).decode()
