"""Every trap that real agents set, one test each, against the fake agent as a process."""

import json
from pathlib import Path
from typing import Any

import pytest
from acp_rig import Rig, fake_agent

from benchflow.contracts import McpServer, PermissionConfig
from benchflow.errors import TrialError
from benchflow.session.model import ModelChoice
from benchflow.session.turn import PromptOutcome

DONE = PromptOutcome(stop_reason="end_turn")


async def one_turn(behaviour: str, folder: Path, **options: Any) -> tuple[PromptOutcome, Rig]:
    """Open a session with the fake agent and do one prompt. What its log tells must be what observers were told."""
    async with fake_agent(behaviour, folder, **options) as rig:
        await rig.open()
        outcome = await rig.client.prompt(["go"], timeout_s=20)
    assert rig.log.replayed() == rig.events
    return outcome, rig


async def failed_turn(behaviour: str, folder: Path, **options: Any) -> TrialError:
    with pytest.raises(TrialError) as caught:
        await one_turn(behaviour, folder, **options)
    return caught.value


# What is printed


async def test_a_well_behaved_agent_is_driven_through_a_turn(tmp_path: Path) -> None:
    async with fake_agent("trivial", tmp_path) as rig:
        info = await rig.client.initialize()
        session = await rig.client.new_session(str(tmp_path), [McpServer(name="m", command="c", env={"A": "b"})])
        outcome = await rig.client.prompt(["one", "two"])

    assert (info.name, info.title, info.version) == ("fake", "Fake agent", "1")
    assert session.id.startswith("fake-")
    assert outcome == DONE
    assert rig.events == [
        ("prompt_begin", {"index": 0, "text": "one\ntwo"}),
        ("prompt_end", {"index": 0, "stop_reason": "end_turn"}),
    ]
    initialize, new, prompt = rig.log.frames("out")
    assert initialize["params"]["protocolVersion"] == 1
    assert initialize["params"]["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    }
    assert new["params"] == {
        "cwd": str(tmp_path),
        "mcpServers": [{"name": "m", "command": "c", "args": [], "env": [{"name": "A", "value": "b"}]}],
    }
    assert prompt["params"]["prompt"] == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]


async def test_stdout_noise_is_logged_and_ignored(tmp_path: Path) -> None:
    outcome, rig = await one_turn("noise", tmp_path)

    assert outcome == DONE
    assert rig.log.noise()[:4] == [
        "Welcome to the agent!",
        "\x1b[1;33mwarning\x1b[0m: this version is retired",
        "",
        "loading {config} [1/3]",
    ]
    assert [entry["seq"] for entry in rig.log.entries] == list(range(len(rig.log.entries)))


async def test_text_glued_in_front_of_json_is_cut_off(tmp_path: Path) -> None:
    outcome, rig = await one_turn("noise-glued", tmp_path)

    assert (outcome, rig.said) == (DONE, "gluedonetwo")
    assert rig.log.noise() == ["starting... ", "\x1b[2K\x1b[0m", '50 % {"half": ', "done "]


async def test_json_that_is_no_object_is_noise(tmp_path: Path) -> None:
    outcome, rig = await one_turn("noise-json", tmp_path)

    assert outcome == DONE  # and not the `refusal` inside a list
    assert {"123", "[]", "null", '"ready"', "true", "1.5"} <= set(rig.log.noise())


async def test_objects_that_are_no_messages_are_ignored(tmp_path: Path) -> None:
    outcome, rig = await one_turn("noise-logs", tmp_path)

    assert outcome == DONE
    assert ("unknown", {"kind": None, "update": {"level": "warn", "msg": "slow", "id": None}}) in rig.events


async def test_invalid_utf8_is_replaced_and_kept(tmp_path: Path) -> None:
    outcome, rig = await one_turn("noise-bytes", tmp_path)

    assert (outcome, rig.said) == (DONE, "caf\ufffd")
    assert rig.log.noise() == ["\\xff\\xfe\\x80\\x81"]
    assert [entry["raw"][-11:] for entry in rig.log.entries if "raw" in entry] == ['af\\xe9"}}}}']


async def test_lone_surrogates_and_nan_are_cleaned(tmp_path: Path) -> None:
    outcome, rig = await one_turn("noise-surrogates", tmp_path)

    assert (outcome, rig.said) == (DONE, "half \ufffd of ittab\there")
    assert rig.of("usage") == [{"used": None, "size": None, "cost": None}]


async def test_windows_line_ends_are_accepted_and_not_logged(tmp_path: Path) -> None:
    outcome, rig = await one_turn("noise-crlf", tmp_path)

    assert outcome == DONE
    assert not any(b"\r" in block for block in rig.log.blocks)


async def test_a_line_of_20_mb_is_read(tmp_path: Path) -> None:
    outcome, rig = await one_turn("huge-line", tmp_path)

    assert (outcome, len(rig.said)) == (DONE, 20_000_000)


async def test_a_line_without_end_is_a_protocol_error(tmp_path: Path) -> None:
    error = await failed_turn("absurd-line", tmp_path, max_line_bytes=5_000_000)

    assert error.code == "protocol"
    assert "sent a line of more than 5,000,000 bytes" in str(error)


async def test_a_full_stderr_pipe_does_not_block_the_agent(tmp_path: Path) -> None:
    outcome, rig = await one_turn("full-stderr", tmp_path)

    assert outcome == DONE
    assert (rig.folder / "stderr.log").stat().st_size == 3_000_003


# When it is sent


async def test_updates_before_the_session_and_after_the_turn_are_kept(tmp_path: Path) -> None:
    _, early = await one_turn("early-updates", tmp_path)
    assert [data["kind"] for data in early.of("notice")] == ["available_commands_update", "current_mode_update"]

    async with fake_agent("late-updates", tmp_path) as rig:
        await rig.open()
        assert await rig.client.prompt(["go"]) == DONE
        await rig.log.until(lambda: len(rig.log.frames("out")) == 4)
    assert [data["kind"] for data in rig.of("notice")] == ["session_info_update"]
    assert rig.of("usage") == [{"used": 100, "size": 200, "cost": {"amount": 0.01, "currency": "USD"}}]
    assert rig.log.frames("out")[-1]["error"]["code"] == -32601  # a request after the turn is answered too


async def test_2000_chunks_arrive_in_order(tmp_path: Path) -> None:
    outcome, rig = await one_turn("chatty", tmp_path)

    assert (outcome, rig.said) == (DONE, "".join(f"chunk {n} " for n in range(2000)))


# What the protocol does not know


async def test_unknown_requests_are_refused_with_their_own_id(tmp_path: Path) -> None:
    outcome, rig = await one_turn("unknown-request", tmp_path)

    assert outcome == DONE
    answers = {frame["id"]: frame["error"]["code"] for frame in rig.log.frames("out") if "error" in frame}
    assert answers == {0: -32601, "own-1": -32601}
    assert json.loads(rig.said)["code"] == -32601


async def test_unknown_notifications_and_updates_are_kept_as_unknown(tmp_path: Path) -> None:
    outcome, rig = await one_turn("unknown-notification", tmp_path)
    assert outcome == DONE
    assert [data["kind"] for data in rig.of("unknown")] == ["_auth/status", "fake/progress", "elicitation/complete"]

    outcome, rig = await one_turn("unknown-update", tmp_path)
    assert outcome == DONE
    assert [data["kind"] for data in rig.of("unknown")] == ["hologram", None, None, None]
    assert rig.of("agent_message") == [{"text": "", "content": {"type": "smell", "data": "rose"}}]


async def test_all_known_updates_are_events(tmp_path: Path) -> None:
    outcome, rig = await one_turn("all-updates", tmp_path)

    assert outcome.usage == {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
    assert rig.of("unknown") == []
    assert [type_ for type_, _ in rig.events] == [
        *("prompt_begin", "user_message", "agent_thought", "agent_message", "plan", "plan", "plan"),
        *("notice", "notice", "notice", "notice", "usage", "notice", "notice", "notice", "prompt_end"),
    ]


async def test_an_unknown_stop_reason_is_kept_and_a_missing_one_is_none(tmp_path: Path) -> None:
    assert (await one_turn("unknown-stop-reason", tmp_path))[0] == PromptOutcome(stop_reason="bored")
    assert (await one_turn("no-stop-reason", tmp_path))[0] == PromptOutcome(stop_reason=None)


async def test_options_of_unknown_kinds_are_chosen_only_where_they_say_what_they_are(tmp_path: Path) -> None:
    outcome, rig = await one_turn("odd-permissions", tmp_path)

    assert outcome == DONE
    assert [data["option_id"] for data in rig.of("permission")] == ["s", None, None, "once", None]
    assert [data["outcome"] for data in rig.of("permission")] == [
        *("selected", "cancelled", "cancelled", "selected", "cancelled")
    ]


async def test_nulls_stand_for_what_was_left_out(tmp_path: Path) -> None:
    async with fake_agent("nulls", tmp_path) as rig:
        info = await rig.client.initialize()
        await rig.client.new_session(str(tmp_path))
        choice = await rig.client.set_model("m")
        outcome = await rig.client.prompt(["go"])

    assert (info.name, info.title, info.version, info.capabilities, info.auth_methods) == (None, None, None, {}, ())
    assert (choice.how, outcome) == ("not_offered", DONE)
    assert rig.of("tool_call") == [{"id": "t1"}]


# Responses


async def test_ids_that_come_back_as_text_are_matched(tmp_path: Path) -> None:
    assert (await one_turn("ids-as-text", tmp_path))[0] == DONE


async def test_responses_to_nothing_are_ignored(tmp_path: Path) -> None:
    async with fake_agent("duplicate-response", tmp_path) as rig:
        await rig.open()
        assert await rig.client.prompt(["one"]) == DONE
        assert await rig.client.prompt(["two"]) == DONE

    assert len(rig.of("prompt_end")) == 2


# Tool calls


async def test_tool_calls_are_kept_however_they_come(tmp_path: Path) -> None:
    outcome, rig = await one_turn("tool-call-traps", tmp_path)

    assert outcome == DONE
    assert [data.get("id") for data in rig.of("tool_call")] == ["open", "twice", "twice"]
    assert [data.get("id") for data in rig.of("tool_call_update")] == ["late", "nobody", None]
    assert [(data["tool_call_id"], data["option_id"]) for data in rig.of("permission")] == [
        ("asked", "y"),
        ("0:call_x", "y"),
    ]


async def test_a_denied_permission_is_rejected_once(tmp_path: Path) -> None:
    deny = PermissionConfig(auto_approve=False)
    _, rig = await one_turn("tool-call-traps", tmp_path, permissions=deny)
    assert [data["option_id"] for data in rig.of("permission")] == ["n", "n"]

    only_edit = PermissionConfig(allowed_tools=["edit"])
    _, rig = await one_turn("tool-call-traps", tmp_path, permissions=only_edit)
    assert [data["option_id"] for data in rig.of("permission")] == ["y", "n"]


# No answer


@pytest.mark.parametrize(
    ("behaviour", "code", "method"),
    [
        ("hangs-on-initialize", "handshake", "initialize"),
        ("hangs-on-session-new", "handshake", "session/new"),
        ("hangs-on-set-model", "model", "session/set_model"),
    ],
)
async def test_every_request_has_a_deadline(behaviour: str, code: str, method: str, tmp_path: Path) -> None:
    async with fake_agent(behaviour, tmp_path) as rig:
        with pytest.raises(TrialError, match=f"gave no answer to {method} within 0.5 s") as caught:  # noqa: PT012
            await rig.client.initialize(20 if method != "initialize" else 0.5)
            await rig.client.new_session(str(tmp_path), timeout_s=20 if method != "session/new" else 0.5)
            await rig.client.set_model("m", timeout_s=0.5)
        await rig.log.until(lambda: rig.log.frames("out")[-1]["method"] == "$/cancel_request")

    assert caught.value.code == code


# Death


@pytest.mark.parametrize(
    ("behaviour", "code", "cause"),
    [
        ("crash-at-start", "launch", "before it answered initialize, the agent exited with status 3"),
        ("crash-on-initialize", "launch", "before it answered initialize, the agent exited with status 3"),
        ("crash-on-session-new", "handshake", "before it answered session/new, the agent exited with status 4"),
        ("crash-on-prompt", "crash", "before it answered session/prompt, the agent exited with status 6"),
    ],
)
async def test_a_crash_is_told_with_exit_status_and_stderr(
    behaviour: str, code: str, cause: str, tmp_path: Path
) -> None:
    error = await failed_turn(behaviour, tmp_path)

    assert error.code == code
    assert str(error) == f"{cause}; its stderr ends:\nTraceback: something broke"


async def test_a_crash_while_the_model_is_chosen_is_told_so(tmp_path: Path) -> None:
    async with fake_agent("crash-on-set-model", tmp_path) as rig:
        await rig.open()
        with pytest.raises(TrialError, match="exited with status 5") as caught:
            await rig.client.set_model("m")

    assert caught.value.code == "model"


async def test_a_killed_agent_leaves_half_a_message_as_noise(tmp_path: Path) -> None:
    async with fake_agent("killed", tmp_path) as rig:
        await rig.open()
        with pytest.raises(TrialError, match="was ended by SIGKILL; its stderr is empty") as caught:
            await rig.client.prompt(["go"])

    assert caught.value.code == "crash"
    assert rig.log.noise() == ['{"jsonrpc":"2.0","method":"session/upd']


async def test_leaving_is_no_end_of_the_turn(tmp_path: Path) -> None:
    error = await failed_turn("leaves", tmp_path)

    assert (error.code, "exited with status 0" in str(error)) == ("crash", True)


async def test_a_crash_after_the_turn_is_told_to_the_next_prompt(tmp_path: Path) -> None:
    async with fake_agent("crash-after-prompt", tmp_path) as rig:
        await rig.open()
        assert await rig.client.prompt(["go"]) == DONE
        with pytest.raises(TrialError, match="exited with status 7") as caught:
            await rig.client.prompt(["again"])

    assert caught.value.code == "crash"


async def test_an_exit_is_seen_while_a_child_holds_stdout_open(tmp_path: Path) -> None:
    error = await failed_turn("stdout-held", tmp_path)

    assert (error.code, "exited with status 8" in str(error)) == ("crash", True)


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
async def test_an_agent_that_hangs_up_breaks_the_protocol(stream: str, tmp_path: Path) -> None:
    error = await failed_turn(f"closes-{stream}", tmp_path)

    assert (error.code, f"closed its {stream}" in str(error)) == ("protocol", True)


# Refusals


@pytest.mark.parametrize(
    ("behaviour", "code", "message"),
    [
        (
            "error-on-initialize",
            "handshake",
            'initialize with an error: Internal error (-32603): {"details":"no home"}',
        ),
        ("error-on-session-new", "handshake", "session/new with an error: no configuration (-31002)"),
        ("error-on-prompt", "crash", "session/prompt with an error: Internal error (-32603)"),
        ("bad-params-on-prompt", "protocol", "session/prompt with an error: Invalid params (-32602)"),
        ("wants-login-late", "auth", "session/prompt with an error: Authentication required (-32000)"),
        ("wants-login", "auth", "oauth-personal (Log in with your browser)"),
        ("other-version", "handshake", "version 2 of ACP"),
        ("no-version", "handshake", "no version of ACP"),
        ("no-session-id", "handshake", "no sessionId"),
    ],
)
async def test_a_refusal_says_what_the_agent_said(behaviour: str, code: str, message: str, tmp_path: Path) -> None:
    error = await failed_turn(behaviour, tmp_path)

    assert (error.code, message in str(error)) == (code, True), error


async def test_an_agent_that_wants_a_key_is_authenticated(tmp_path: Path) -> None:
    outcome, rig = await one_turn("wants-key", tmp_path)

    assert outcome == DONE
    assert [frame["method"] for frame in rig.log.frames("out")] == [
        *("initialize", "session/new", "authenticate", "session/new", "session/prompt")
    ]


# The model


@pytest.mark.parametrize(
    ("behaviour", "choice"),
    [
        ("model-option", ModelChoice(how="config_option", value="vendor/new", listed=True)),
        ("model-list", ModelChoice(how="set_model", value="vendor/new", listed=True)),
        ("model-refused", ModelChoice(how="refused", value="vendor/new", listed=True, error="unknown model (-32602)")),
        ("trivial", ModelChoice(how="not_offered", value="new")),
    ],
)
async def test_the_model_is_chosen_by_whatever_way_is_offered(
    behaviour: str, choice: ModelChoice, tmp_path: Path
) -> None:
    async with fake_agent(behaviour, tmp_path) as rig:
        await rig.open()
        assert await rig.client.set_model("new") == choice
        assert await rig.client.prompt(["go"]) == DONE


async def test_a_model_that_is_already_chosen_is_left_alone(tmp_path: Path) -> None:
    async with fake_agent("model-option", tmp_path) as rig:
        await rig.open()
        assert await rig.client.set_model("old") == ModelChoice(how="already", value="old", listed=True)
    assert len(rig.log.frames("out")) == 2
