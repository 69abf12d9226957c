"""What each kind of frame means as an event."""

from typing import Any

import pytest

from benchflow.session.projection import Projection
from benchflow.session.updates import read_update

TEXT = {"type": "text", "text": "hello"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
ENTRY = {"content": "look", "priority": "high", "status": "pending"}


@pytest.mark.parametrize(
    ("update", "event"),
    [
        ({"sessionUpdate": "user_message_chunk", "content": TEXT}, ("user_message", {"text": "hello"})),
        ({"sessionUpdate": "agent_message_chunk", "content": TEXT}, ("agent_message", {"text": "hello"})),
        ({"sessionUpdate": "agent_thought_chunk", "content": TEXT}, ("agent_thought", {"text": "hello"})),
        (
            {"sessionUpdate": "agent_message_chunk", "content": IMAGE},
            ("agent_message", {"text": "", "content": IMAGE}),
        ),
        ({"sessionUpdate": "agent_message_chunk", "content": None}, ("agent_message", {"text": "", "content": None})),
        (
            {"sessionUpdate": "tool_call", "toolCallId": "t", "title": None, "kind": "read", "rawInput": {"path": "a"}},
            ("tool_call", {"id": "t", "kind": "read", "raw_input": {"path": "a"}}),
        ),
        (
            {"sessionUpdate": "tool_call_update", "toolCallId": "t", "_meta": {"vendor": {"toolName": "Bash"}}},
            ("tool_call_update", {"id": "t", "name": "Bash"}),
        ),
        ({"sessionUpdate": "plan", "entries": [ENTRY]}, ("plan", {"entries": [ENTRY]})),
        (
            {"sessionUpdate": "plan_update", "plan": {"type": "items", "entries": [ENTRY]}},
            ("plan", {"entries": [ENTRY]}),
        ),
        (
            {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "content": "# A"}},
            ("plan", {"entries": [], "plan": {"type": "markdown", "content": "# A"}}),
        ),
        ({"sessionUpdate": "plan_removed", "id": "p"}, ("plan", {"entries": []})),
        ({"sessionUpdate": "usage_update", "used": 5, "size": 9}, ("usage", {"used": 5, "size": 9, "cost": None})),
        ({"sessionUpdate": "notice", "message": "mind", "level": "warn"}, None),
        ({"sessionUpdate": "hologram"}, ("unknown", {"kind": "hologram", "update": {"sessionUpdate": "hologram"}})),
        ({"no": "kind"}, ("unknown", {"kind": None, "update": {"no": "kind"}})),
        ([], ("unknown", {"kind": None, "update": []})),
    ],
)
def test_every_update_becomes_an_event(update: Any, event: tuple[str, dict[str, Any]] | None) -> None:
    expected = event or ("notice", {"text": "mind", "message": "mind", "level": "warn"})

    assert read_update({"sessionId": "s", "update": update}) == expected


@pytest.mark.parametrize("params", [None, [], "text", {"sessionId": "s"}, {"update": None}])
def test_params_that_hold_no_update_are_kept_as_unknown(params: Any) -> None:
    assert read_update(params) == ("unknown", {"kind": None, "update": params})


def test_a_long_list_of_commands_is_shown_by_name() -> None:
    commands = [{"name": "compact", "description": "x" * 1000}, {"name": "init", "description": "y"}]

    kind, data = read_update({"update": {"sessionUpdate": "available_commands_update", "availableCommands": commands}})

    assert (kind, data["update"]) == ("notice", {"availableCommands": ["compact", "init"]})


def test_requests_and_their_answers_make_one_event_each() -> None:
    projection = Projection()
    call = {"toolCallId": "t", "title": "Write a", "kind": "edit"}
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    frames = [
        ("out", {"id": 1, "method": "initialize", "params": {}}),
        ("in", {"id": 1, "result": {}}),
        ("out", {"id": 2, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": "go"}]}}),
        ("in", {"id": "a", "method": "session/request_permission", "params": {"toolCall": call, "options": options}}),
        ("out", {"id": "a", "result": {"outcome": {"outcome": "selected", "optionId": "y"}}}),
        ("out", {"method": "session/cancel", "params": {}}),
        ("in", {"id": "2", "result": {"stopReason": "bored", "usage": {"totalTokens": 3}}}),
        ("in", {"id": 2, "result": {"stopReason": "again"}}),
        ("out", {"id": 3, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": "more"}]}}),
        ("in", {"id": 3, "error": {"code": -32603, "message": "broke", "data": {"why": "x"}}}),
        ("out", {"id": 4, "method": "session/set_model", "params": {}}),
        ("in", {"id": 4, "error": {"code": -32602, "message": "no"}}),
    ]

    events = [event for direction, frame in frames if (event := projection.read(direction, frame))]  # type: ignore[arg-type]

    assert events == [
        ("prompt_begin", {"index": 0, "text": "go"}),
        (
            "permission",
            {
                "tool_call_id": "t",
                "title": "Write a",
                "kind": "edit",
                "options": options,
                "outcome": "selected",
                "option_id": "y",
            },
        ),
        ("notice", {"text": "the client cancels the turn"}),
        ("prompt_end", {"index": 0, "stop_reason": "bored", "usage": {"totalTokens": 3}}),
        ("notice", {"text": "a response to no open request (id 2)"}),
        ("prompt_begin", {"index": 1, "text": "more"}),
        ("prompt_end", {"index": 1, "stop_reason": None, "error": 'broke (-32603): {"why":"x"}'}),
        ("error", {"message": "session/set_model: no (-32602)"}),
    ]
