"""The files that upstream makes for trainers: a Verifiers record and an ADP record. ATIF has its own home."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchflow.report.exports.facts import without_none
from benchflow.report.exports.record import Act, Call, Prompt, TrialRecord, Turn
from benchflow.row import ProfileRow

ADP_SCHEMA = "1.3.1"


def verifiers_record(
    row: ProfileRow, rewards: Mapping[str, Any] | None, prompts: Sequence[str], lines: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Make the record of `trainer/verifiers.jsonl`; None for what is unscored: a record there has a reward."""
    if rewards is None:
        return None
    items = {"score": rewards["score"], **{item["name"]: item["score"] for item in rewards["rubric"]}}
    return {
        "example_id": 0,
        "prompt": [{"role": "user", "content": text} for text in prompts[:1]],
        "completion": [message for line in _after_first_prompt(lines) if (message := _message(line))],
        "reward": rewards["reward"],
        "metrics": items,
        "is_completed": row.completion_reason == "stop",
        "is_truncated": row.completion_reason in ("timeout", "tool_limit"),
        "info": {
            "task_id": row.scenario_id,
            "environment": row.scenario_id,
            "model": row.model,
            "reward_valid": True,
            "reward_metadata": {
                "items": items,
                "events": [],
                "error": None,
                "space": "output",
                "granularity": "terminal",
            },
        },
    }


def _after_first_prompt(lines: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    begin = next((number for number, line in enumerate(lines, start=1) if line["type"] == "user_message"), 0)
    return lines[begin:]


def _message(line: Mapping[str, Any]) -> dict[str, str] | None:
    match line["type"]:
        case "user_message":
            return {"role": "user", "content": line["text"]}
        case "agent_message" | "agent_thought":
            return {"role": "assistant", "content": line["text"]}
        case "tool_call":
            texts = [text for block in line["content"] if (text := _text(block))]
            return {
                "role": "assistant",
                "content": "\n".join([f"[tool_call: {line['title'] or line['kind']}]", *texts]),
            }
    return None


def _text(block: Any) -> str:
    inner = block.get("content") if isinstance(block, dict) else None
    text = inner.get("text") if isinstance(inner, dict) else inner
    return text if isinstance(text, str) else ""


def adp_record(record: TrialRecord, name: str, rewards: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Make the record of `trainer/adp.jsonl`; None where nothing was said. The last action has the reward."""
    content = [item for step in record.steps for item in _adp_items(step)]
    actions = [item for item in content if item["class_"] != "text_observation"]
    if not content:
        return None
    details = {"task_id": record.row.scenario_id, "environment": record.row.scenario_id, "model": record.row.model}
    if rewards is not None and actions:
        actions[-1]["reward"] = rewards["reward"]
    elif rewards is not None:
        details["terminal_reward"] = rewards["reward"]
    _name_calls(content)
    return {"schema_version": ADP_SCHEMA, "id": name, "content": content, "details": details}


def _adp_items(step: Prompt | Turn | Act) -> Iterator[dict[str, Any]]:
    if isinstance(step, Prompt):
        yield {"class_": "text_observation", "content": step.text, "source": "user"}
        return
    answer = step.exchange.answer if isinstance(step, Turn) else step
    thought = answer.thought or None
    if answer.text or (thought and not step.calls):
        yield without_none({"class_": "message_action", "content": answer.text, "reasoning_content": thought})
        thought = None
    for call in step.calls:
        yield _action(call, thought)
        observed = {"class_": "text_observation", "tool_call_id": call.id, "content": call.output or ""}
        yield {**observed, "source": "environment"}
        thought = None


def _action(call: Call, thought: str | None) -> dict[str, Any]:
    return without_none(
        {
            "class_": "api_action",
            "tool_call_id": call.id,
            "function": call.name,
            "kwargs": dict(call.object),
            "description": call.title or None,
            "reasoning_content": thought,
        }
    )


def _name_calls(content: Sequence[dict[str, Any]]) -> None:
    """Give each call an id that no other has: an action and the observation after it share theirs."""
    used: set[str] = set()
    for action, observation in pairwise(content):
        if action["class_"] != "api_action":
            continue
        id, number = action["tool_call_id"], 2
        while id in used:
            id, number = f"{action['tool_call_id']}#{number}", number + 1
        used.add(id)
        action["tool_call_id"] = observation["tool_call_id"] = id
