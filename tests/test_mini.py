import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse
from chat_server import ChatServer, Reply, chat_server

from benchflow.agents.mini.tools import OUTPUT_HEAD, OUTPUT_TAIL, BoundedOutput, Shell, ToolError, read_call
from benchflow.limits import default_wrap_up_message

TIME_LIMIT_S = 60
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


class Client:
    """An ACP client that keeps what it is told, and answers permission requests by kind."""

    def __init__(self, permission: str = "allow_once") -> None:
        self.permission = permission
        self.updates: list[dict[str, Any]] = []
        self.asked: list[str] = []

    def on_connect(self, conn: Any) -> None:
        """Nothing to do."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(by_alias=True, exclude_none=True))

    async def request_permission(
        self, options: list[Any], session_id: str, tool_call: Any, **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call.title)
        if self.permission == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        (chosen,) = [option.option_id for option in options if option.kind == self.permission]
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"]["text"] for update in self.of_kind(kind))


class Conversation:
    """A started mini with one open session."""

    def __init__(self, agent: Any, process: asyncio.subprocess.Process, client: Client, session_id: str) -> None:
        self.agent = agent
        self.process = process
        self.client = client
        self.session_id = session_id

    async def prompt(self, text: str) -> Any:
        return await self.agent.prompt(session_id=self.session_id, prompt=[acp.text_block(text)])


@asynccontextmanager
async def started(
    server: ChatServer, cwd: Path, client: Client | None = None, **env: str
) -> AsyncIterator[Conversation]:
    client = client or Client()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_MODEL": "some-model",
        **env,
    }
    mini = ("-P", "-m", "benchflow.agents.mini")
    async with (
        asyncio.timeout(TIME_LIMIT_S),
        acp.spawn_agent_process(client, sys.executable, *mini, env=environ, cwd=cwd) as (agent, process),  # pyright: ignore[reportArgumentType]
    ):
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.agent_info is not None
        assert hello.agent_info.name == "mini"
        session = await agent.new_session(cwd=str(cwd), mcp_servers=[])
        yield Conversation(agent, process, client, session.session_id)


def shell(command: str, **more: Any) -> tuple[str, str]:
    return ("shell", json.dumps({"command": command, **more}))


def write(path: str, content: str) -> tuple[str, str]:
    return ("write_file", json.dumps({"path": path, "content": content}))


def results(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def running(marker: str) -> list[int]:
    """Return the processes whose command line has the marker."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if marker in command:
                found.append(int(folder.name))
    return found


async def until_running(marker: str, count: int) -> None:
    """Wait until just so many processes have the marker on their command line."""
    async with asyncio.timeout(TIME_LIMIT_S):
        while len(running(marker)) != count:  # noqa: ASYNC110 - nothing tells when a process of another comes or goes
            await asyncio.sleep(0.01)


async def test_turn_with_both_tools(tmp_path: Path) -> None:
    async with (
        chat_server(
            Reply(thought="Let me see.", text="I look.", calls=[shell("echo seen; exit 3")], usage=USAGE),
            Reply(calls=[write("a/b.txt", "héllo\n"), shell("cat a/b.txt")], usage=USAGE),
            Reply(text="All done.", usage=USAGE),
        ) as server,
        started(server, tmp_path) as mini,
    ):
        response = await mini.prompt("do it")

    assert response.stop_reason == "end_turn"
    assert (tmp_path / "a" / "b.txt").read_text() == "héllo\n"
    assert results(server.requests[2]) == [
        "seen\n[exit status 3]",
        "wrote 7 bytes to a/b.txt",
        "héllo\n[exit status 0]",
    ]
    assert [message["role"] for message in server.requests[0]["messages"]] == ["system", "user"]
    assert server.requests[0]["messages"][1]["content"] == "do it"
    assert server.requests[0]["model"] == "some-model"
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == ["shell", "write_file"]
    assert server.headers[0]["Authorization"] == "Bearer sk-test"
    client = mini.client
    assert (client.text(), client.text("agent_thought_chunk")) == ("I look.All done.", "Let me see.")
    assert [(call["title"], call["kind"], call["rawInput"]) for call in client.of_kind("tool_call")] == [
        ("echo seen; exit 3", "execute", {"command": "echo seen; exit 3", "timeout_s": 120.0}),
        ("Write a/b.txt", "edit", {"path": "a/b.txt", "content": "héllo\n"}),
        ("cat a/b.txt", "execute", {"command": "cat a/b.txt", "timeout_s": 120.0}),
    ]
    assert [update["status"] for update in client.of_kind("tool_call_update")] == [
        "in_progress",
        "failed",
        "in_progress",
        "completed",
        "in_progress",
        "completed",
    ]
    assert client.of_kind("tool_call_update")[1]["rawOutput"] == {"output": "seen\n[exit status 3]"}
    assert client.asked == ["echo seen; exit 3", "Write a/b.txt", "cat a/b.txt"]
    assert response.usage.model_dump(by_alias=True, exclude_none=True) == {
        "inputTokens": 180,
        "outputTokens": 21,
        "cachedReadTokens": 120,
        "thoughtTokens": 6,
        "totalTokens": 321,
    }
    assert [update["used"] for update in client.of_kind("usage_update")] == [107, 107, 107]


async def test_second_prompt_goes_on_with_the_conversation(tmp_path: Path) -> None:
    async with chat_server(Reply(text="One."), Reply(text="Two.")) as server, started(server, tmp_path) as mini:
        await mini.prompt("first")
        await mini.prompt("second")

    said = [(message["role"], message["content"]) for message in server.requests[1]["messages"][1:]]
    assert said == [("user", "first"), ("assistant", "One."), ("user", "second")]


async def test_refused_call_is_not_carried_out_and_the_model_is_told(tmp_path: Path) -> None:
    async with (
        chat_server(Reply(calls=[write("x", "x")]), Reply(text="As you wish.")) as server,
        started(server, tmp_path, Client("reject_once")) as mini,
    ):
        response = await mini.prompt("do it")

    assert response.stop_reason == "end_turn"
    assert not (tmp_path / "x").exists()
    assert results(server.requests[1]) == ["error: the user did not allow this call"]
    assert [update["status"] for update in mini.client.of_kind("tool_call_update")] == ["failed"]


async def test_tool_that_is_always_allowed_is_asked_about_once(tmp_path: Path) -> None:
    async with (
        chat_server(Reply(calls=[shell("true"), shell("true")]), Reply(calls=[shell("true")]), Reply()) as server,
        started(server, tmp_path, Client("allow_always")) as mini,
    ):
        await mini.prompt("do it")

    assert mini.client.asked == ["true"]


async def test_cancel_while_the_model_answers(tmp_path: Path) -> None:
    async with (
        chat_server(Reply(text="Well", hangs=True), Reply(text="Again.")) as server,
        started(server, tmp_path) as mini,
    ):
        turn = asyncio.create_task(mini.prompt("do it"))
        await server.reached.wait()
        await mini.agent.cancel(session_id=mini.session_id)
        response = await turn
        await server.left.wait()
        after = await mini.prompt("go on")

    assert (response.stop_reason, after.stop_reason) == ("cancelled", "end_turn")


async def test_cancel_while_a_command_runs_kills_all_of_it(tmp_path: Path) -> None:
    marker = f"99.{os.getpid()}1"
    async with (
        chat_server(Reply(calls=[shell(f"sleep {marker} & sleep {marker}; true"), shell("true")]), Reply()) as server,
        started(server, tmp_path) as mini,
    ):
        turn = asyncio.create_task(mini.prompt("do it"))
        await until_running(marker, 3)
        await mini.agent.cancel(session_id=mini.session_id)
        response = await turn
        await until_running(marker, 0)
        await mini.prompt("go on")

    assert response.stop_reason == "cancelled"
    assert [update["status"] for update in mini.client.of_kind("tool_call_update")] == ["in_progress", "failed"]
    assert results(server.requests[1]) == ["cancelled", "cancelled"]


async def test_cancelled_permission_ends_the_turn(tmp_path: Path) -> None:
    async with (
        chat_server(Reply(calls=[shell("true")])) as server,
        started(server, tmp_path, Client("cancelled")) as mini,
    ):
        response = await mini.prompt("do it")

    assert response.stop_reason == "cancelled"
    assert [update["status"] for update in mini.client.of_kind("tool_call_update")] == ["failed"]


@pytest.mark.parametrize("ending", ["stdin", "SIGTERM"])
async def test_end_of_mini_is_the_end_of_its_command(tmp_path: Path, ending: str) -> None:
    marker = f"99.{os.getpid()}2{len(ending)}"
    async with chat_server(Reply(calls=[shell(f"sleep {marker}; true")])) as server, started(server, tmp_path) as mini:
        turn = asyncio.create_task(mini.prompt("do it"))
        await until_running(marker, 2)
        if ending == "stdin":
            assert mini.process.stdin is not None
            mini.process.stdin.close()
        else:
            mini.process.send_signal(signal.SIGTERM)
        await mini.process.wait()
        await until_running(marker, 0)
        with pytest.raises(ConnectionError):
            await turn


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ([Reply(status=401, text="no such key")], "answered 401: no such key"),
        ([Reply(status=400, text="context too long")], "answered 400: context too long"),
        ([Reply(text="Well", cut=True)], "broke off"),
        ([Reply(status=503, text="busy", headers={"Retry-After": "0"})] * 3, "answered 503: busy"),
    ],
)
async def test_failure_of_the_model_is_an_error_of_the_prompt(tmp_path: Path, replies: list[Reply], said: str) -> None:
    async with chat_server(*replies, Reply(text="Fine.")) as server, started(server, tmp_path) as mini:
        with pytest.raises(acp.RequestError) as caught:
            await mini.prompt("do it")
        after = await mini.prompt("again")

    assert caught.value.code == -32603
    assert said in str(caught.value)
    assert after.stop_reason == "end_turn"
    assert len(server.requests) == len(replies) + 1


async def test_server_that_is_not_there_is_an_error_of_the_prompt(tmp_path: Path) -> None:
    async with started(ChatServer([], url="http://127.0.0.1:1/v1"), tmp_path) as mini:
        with pytest.raises(acp.RequestError, match=r"no connection to 127\.0\.0\.1:1"):
            await mini.prompt("do it")


async def test_what_may_pass_is_tried_again(tmp_path: Path) -> None:
    busy = Reply(status=429, text="slow down", headers={"Retry-After": "0"})
    async with chat_server(busy, busy, Reply(text="Fine.")) as server, started(server, tmp_path) as mini:
        response = await mini.prompt("do it")

    assert (response.stop_reason, mini.client.text()) == ("end_turn", "Fine.")


@pytest.mark.parametrize(
    ("reply", "stop_reason"),
    [
        (Reply(text="Whole.", plain=True), "end_turn"),
        (Reply(text="Too lo", finish="length"), "max_tokens"),
        (Reply(text="", finish="content_filter"), "refusal"),
    ],
)
async def test_ends_of_an_answer(tmp_path: Path, reply: Reply, stop_reason: str) -> None:
    async with chat_server(reply) as server, started(server, tmp_path) as mini:
        response = await mini.prompt("do it")

    assert (response.stop_reason, mini.client.text()) == (stop_reason, reply.text)


async def test_mini_warns_itself_and_stops_where_it_is_told_how_many_turns_it_has(tmp_path: Path) -> None:
    replies = [Reply(calls=[shell("true")], finish="tool_calls")] * 4
    async with (
        chat_server(*replies) as server,
        started(server, tmp_path, MINI_MAX_TURNS="4", MINI_GRACE_TURNS="1") as mini,
    ):
        response = await mini.prompt("go")

    assert response.stop_reason == "max_turn_requests"
    told = [default_wrap_up_message() in [m["content"] for m in request["messages"]] for request in server.requests]
    assert told == [False, False, False, True]


async def test_model_is_set_over_acp_in_both_ways(tmp_path: Path) -> None:
    async with chat_server(*[Reply(text="Yes.")] * 3) as server, started(server, tmp_path) as mini:
        await mini.prompt("one")
        await mini.agent.set_config_option(config_id="model", session_id=mini.session_id, value="other")
        await mini.prompt("two")
        answer = await mini.agent._conn.send_request(
            "session/set_model", {"sessionId": mini.session_id, "modelId": "third"}
        )
        await mini.prompt("three")

    assert answer == {}
    assert [request["model"] for request in server.requests] == ["some-model", "other", "third"]


async def test_bad_requests_are_refused_and_noise_is_passed_over(tmp_path: Path) -> None:
    async with chat_server(Reply(text="Yes.")) as server, started(server, tmp_path) as mini:
        assert mini.process.stdin is not None
        mini.process.stdin.write(b'noise\n123\nnull\n[]\n"x"\n\n')
        refused: list[Callable[[], Any]] = [
            lambda: mini.agent.new_session(cwd=str(tmp_path / "nowhere"), mcp_servers=[]),
            lambda: mini.agent.new_session(
                cwd=str(tmp_path), mcp_servers=[{"name": "x", "command": "x", "args": [], "env": []}]
            ),
            lambda: mini.agent.prompt(session_id="nobody", prompt=[acp.text_block("x")]),
            lambda: mini.agent.prompt(session_id=mini.session_id, prompt=[acp.image_block("aGk=", "image/png")]),
            lambda: mini.agent.set_config_option(config_id="mood", session_id=mini.session_id, value="x"),
            lambda: mini.agent._conn.send_request("session/unheard_of", {}),
        ]
        for request in refused:
            with pytest.raises(acp.RequestError):
                await request()
        response = await mini.prompt("still there?")

    assert response.stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("shell", "{", "not valid JSON"),
        ("shell", "[]", "no JSON object"),
        ("shell", "{}", "command must be a text"),
        ("shell", '{"command": "x", "timeout_s": "soon"}', "timeout_s"),
        ("shell", '{"command": "x", "timeout_s": 0}', "timeout_s"),
        ("write_file", '{"path": "x"}', "content must be a text"),
        ("read_file", "{}", "there is no tool 'read_file'"),
    ],
)
def test_wrong_call_is_explained_to_the_model(name: str, arguments: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        read_call(name, arguments)


async def test_wrong_calls_reach_the_model_as_results(tmp_path: Path) -> None:
    async with (
        chat_server(Reply(calls=[("shell", "{"), write("\0", "x"), ("fly", "{}")]), Reply()) as server,
        started(server, tmp_path) as mini,
    ):
        await mini.prompt("do it")

    assert [text.split(":")[0] for text in results(server.requests[1])] == ["error"] * 3
    assert [call["title"] for call in mini.client.of_kind("tool_call")] == ["shell", "Write \0", "fly"]


async def test_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    marker = f"99.{os.getpid()}3"

    output = await Shell(command=f"echo begun; sleep {marker}", timeout_s=2).run(tmp_path)

    assert (output.text, output.failed) == ("begun\n[killed after 2 s]", True)
    await until_running(marker, 0)


async def test_command_ends_although_something_that_it_started_holds_its_output(tmp_path: Path) -> None:
    marker = f"30.{os.getpid()}4"

    output = await Shell(command=f"echo begun; sleep {marker} &", timeout_s=TIME_LIMIT_S).run(tmp_path)
    (left,) = running(marker)
    os.kill(left, signal.SIGKILL)

    assert output.text == "begun\n[exit status 0]"


async def test_output_is_bounded(tmp_path: Path) -> None:
    output = await Shell(
        command="echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end", timeout_s=60
    ).run(tmp_path)

    assert len(output.text) < OUTPUT_HEAD + OUTPUT_TAIL + 100
    assert output.text.startswith("begin\nxxx")
    assert output.text.endswith("xxx\nend\n[exit status 0]")
    assert "[2,970,011 bytes left out]" in output.text


@pytest.mark.parametrize("size", [1, 100, OUTPUT_HEAD, 70_000])
def test_output_that_fits_is_whole(size: int) -> None:
    output = BoundedOutput()
    text = "".join(str(number % 10) for number in range(OUTPUT_HEAD + OUTPUT_TAIL))
    for at in range(0, len(text), size):
        output.add(text[at : at + size].encode())

    assert output.text() == text
