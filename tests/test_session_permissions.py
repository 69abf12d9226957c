"""How permission requests are answered."""

from typing import Any

import pytest

from benchflow.contracts import PermissionConfig
from benchflow.session.permissions import PermissionDesk, choose_option


def option(kind: str) -> dict[str, str]:
    return {"optionId": f"id of {kind}", "name": "Allow", "kind": kind}


@pytest.mark.parametrize(
    ("kinds", "allow", "chosen"),
    [
        (["reject_once", "allow_always", "allow_once"], True, "allow_once"),
        (["allow_always", "reject_always"], True, "allow_always"),
        (["reject_always", "allow_once", "reject_once"], False, "reject_once"),
        (["allow_session", "reject_forever"], True, "allow_session"),
        (["allow_session", "deny"], False, "deny"),
        (["ponder"], True, None),
        (["reject_once"], True, None),
        (["allow_once"], False, None),
        ([], True, None),
    ],
)
def test_an_option_is_chosen_by_its_kind_alone(kinds: list[str], allow: bool, chosen: str | None) -> None:
    found = choose_option([option(kind) for kind in kinds], allow=allow)

    assert (found["kind"] if found else None) == chosen


ALL = [option("reject_once"), option("allow_once")]


def ask(desk: PermissionDesk, call: Any, options: Any = ALL) -> str | None:
    return desk.answer({"toolCall": call, "options": options})["outcome"].get("optionId")


@pytest.mark.parametrize(
    ("policy", "call", "allowed"),
    [
        (PermissionConfig(), {"toolCallId": "t"}, True),
        (PermissionConfig(auto_approve=False), {"toolCallId": "t", "kind": "read"}, False),
        (PermissionConfig(allowed_tools=["read"]), {"toolCallId": "t", "kind": "read"}, True),
        (PermissionConfig(allowed_tools=["READ"]), {"toolCallId": "t", "kind": "edit"}, False),
        (PermissionConfig(allowed_tools=["Bash"]), {"toolCallId": "t", "title": "bash: ls -l"}, True),
        (PermissionConfig(allowed_tools=["Bash"]), {"toolCallId": "t", "_meta": {"toolName": "bash"}}, True),
        (PermissionConfig(allowed_tools=[]), {"toolCallId": "t", "kind": "read"}, False),
        (PermissionConfig(allowed_tools=["read"]), {"toolCallId": "t"}, False),
    ],
)
def test_the_policy_decides(policy: PermissionConfig, call: dict[str, Any], allowed: bool) -> None:
    assert ask(PermissionDesk(policy), call) == f"id of {'allow_once' if allowed else 'reject_once'}"


def test_a_request_may_name_only_the_id_of_a_call_announced_before() -> None:
    desk = PermissionDesk(PermissionConfig(allowed_tools=["edit"]))
    desk.note({"update": {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "edit", "title": "Write a"}})
    desk.note({"update": {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress"}})
    desk.note({"update": {"sessionUpdate": "tool_call", "toolCallId": "done", "kind": "edit", "status": "completed"}})

    assert ask(desk, {"toolCallId": "t"}) == "id of allow_once"
    assert ask(desk, {"toolCallId": "done"}) == "id of reject_once"


@pytest.mark.parametrize(
    "params", [None, [], {"toolCall": 3, "options": "none"}, {"options": [None, {"kind": "allow"}]}]
)
def test_a_request_that_cannot_be_read_is_answered_cancelled(params: Any) -> None:
    assert PermissionDesk(PermissionConfig()).answer(params) == {"outcome": {"outcome": "cancelled"}}


def test_after_a_cancel_every_request_is_answered_cancelled() -> None:
    desk = PermissionDesk(PermissionConfig())
    desk.turn_cancelled = True

    assert desk.answer({"toolCall": {}, "options": ALL}) == {"outcome": {"outcome": "cancelled"}}
