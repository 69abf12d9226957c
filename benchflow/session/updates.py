"""What each kind of ACP frame means as an event: a pure projection, used live and again on a stored log.

Everything an agent sends is tolerated: unknown kinds are kept as `unknown`; a key that was not sent, or null, is left
out.
"""

from collections.abc import Mapping
from typing import Any

from benchflow.contracts import EventType

Event = tuple[EventType, dict[str, Any]]
"""The type of an event, and its data."""

_MESSAGES: dict[str, EventType] = {
    "user_message_chunk": "user_message",
    "agent_message_chunk": "agent_message",
    "agent_thought_chunk": "agent_thought",
}
_TOOL_KEYS = {
    "toolCallId": "id",
    "title": "title",
    "kind": "kind",
    "status": "status",
    "rawInput": "raw_input",
    "rawOutput": "raw_output",
    "content": "content",
    "locations": "locations",
}
_NAME_KEYS = ("toolName", "tool_name", "name")
_NOTICES = {
    "available_commands_update": "the list of commands changed",
    "current_mode_update": "the mode changed",
    "config_option_update": "the configuration options changed",
    "session_info_update": "the session's information changed",
    "compaction_update": "the conversation is being compacted",
    "compaction_summary_chunk": "summary of the compacted conversation",
}


def read_update(params: Any) -> Event:
    """Read the params of a `session/update` notification."""
    update = params.get("update") if isinstance(params, dict) else None
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    if not isinstance(update, dict) or not isinstance(kind, str):
        return "unknown", {"kind": None, "update": params if update is None else update}
    if kind in _MESSAGES:  # nearly all are
        return _MESSAGES[kind], _message(update)
    match kind:
        case "tool_call" | "tool_call_update":
            return kind, read_tool_call(update)
        case "plan" | "plan_update" | "plan_removed":
            return "plan", _plan(update)
        case "usage_update":
            return "usage", {key: update.get(key) for key in ("used", "size", "cost")}
        case "notice":
            return "notice", _notice(update)
        case _ if kind in _NOTICES:
            return "notice", {"text": _NOTICES[kind], "kind": kind, "update": _brief(update)}
        case _:
            return "unknown", {"kind": kind, "update": update}


def read_tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Read a tool call as it is announced, updated, or shown in a permission request."""
    data = {ours: call[theirs] for theirs, ours in _TOOL_KEYS.items() if call.get(theirs) is not None}
    name = tool_name(call)
    if name:
        data["name"] = name
    return data


def tool_name(call: Mapping[str, Any]) -> str | None:
    """Return the tool's own name, which ACP has no field for: agents put it beside the title, or into `_meta`."""
    meta = call.get("_meta")
    places = [call]
    if isinstance(meta, dict):
        places += [meta, *(value for value in meta.values() if isinstance(value, dict))]
    for place in places:
        for key in _NAME_KEYS:
            name = place.get(key)
            if isinstance(name, str) and name:
                return name
    return None


def read_permission(params: Any, result: Any) -> Event:
    """Read a permission request together with the answer it got."""
    params = params if isinstance(params, dict) else {}
    call = params.get("toolCall")
    call = call if isinstance(call, dict) else {}
    outcome = result.get("outcome") if isinstance(result, dict) else None
    outcome = outcome if isinstance(outcome, dict) else {}
    return "permission", {
        "tool_call_id": call.get("toolCallId"),
        "title": call.get("title"),
        "kind": call.get("kind"),
        "options": params.get("options") or [],
        "outcome": outcome.get("outcome"),
        "option_id": outcome.get("optionId"),
        **{key: value for key, value in read_tool_call(call).items() if key in ("name", "raw_input")},
    }


def prompt_text(params: Any) -> str:
    """Return the text of a `session/prompt` request."""
    blocks = params.get("prompt") if isinstance(params, dict) else None
    blocks = blocks if isinstance(blocks, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def stop_reason(result: Any) -> str | None:
    """Return the stop reason of a prompt's response in the agent's own word, known or not; None where it gives none."""
    reason = result.get("stopReason") if isinstance(result, dict) else None
    return reason if isinstance(reason, str) else None


def prompt_usage(result: Any) -> dict[str, Any] | None:
    """Return the usage of a prompt's response as sent. Whether it is per turn or cumulative is the agent's secret."""
    usage = result.get("usage") if isinstance(result, dict) else None
    return usage if isinstance(usage, dict) else None


def _message(update: Mapping[str, Any]) -> dict[str, Any]:
    content = update.get("content")
    text = content.get("text") if isinstance(content, dict) else content
    if isinstance(text, str) and (not isinstance(content, dict) or content.get("type", "text") == "text"):
        return {"text": text}
    return {"text": text if isinstance(text, str) else "", "content": content}


def _plan(update: Mapping[str, Any]) -> dict[str, Any]:
    """A stable plan has its entries beside the kind; an unstable one in an object, or as text or a file."""
    plan = update.get("plan")
    source = plan if isinstance(plan, dict) else update
    entries = source.get("entries")
    data: dict[str, Any] = {"entries": entries if isinstance(entries, list) else []}
    if isinstance(plan, dict) and not isinstance(entries, list):
        data["plan"] = plan
    return data


def _notice(update: Mapping[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in update.items() if key not in ("sessionUpdate", "text") and value is not None}
    content = update.get("content")
    spoken = content.get("text") if isinstance(content, dict) else content
    candidates = (update.get("text"), update.get("message"), spoken, update.get("title"))
    return {"text": next((text for text in candidates if isinstance(text, str)), ""), **rest}


def _brief(update: Mapping[str, Any]) -> dict[str, Any]:
    """An update without its kind. Lists of commands run to half a megabyte: of those, the names."""
    data = {key: value for key, value in update.items() if key != "sessionUpdate"}
    commands = data.get("availableCommands")
    if isinstance(commands, list):
        data["availableCommands"] = [command.get("name") for command in commands if isinstance(command, dict)]
    return data
