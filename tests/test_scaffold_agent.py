import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from chat_server import ChatServer, Reply, chat_server
from command_line import Shell, open_shell
from sandboxes import needs_bubblewrap

from benchflow.authoring.scaffold_agent import Language, make_agent
from benchflow.errors import InputError
from benchflow.installing.runtimes import find_node
from benchflow.installing.versions import Constraint
from benchflow.machine.home import Home

LIMIT_S = 60
NODE = find_node(Constraint.parse(">=20"), os.environ, Home.find(os.environ))
LANGUAGES = ("python", pytest.param("node", marks=pytest.mark.skipif(NODE is None, reason="no Node 20")))
both_languages = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


@pytest.mark.parametrize(
    ("language", "sandbox"),
    [
        pytest.param("python", "bubblewrap", marks=needs_bubblewrap),
        pytest.param("node", "process", marks=pytest.mark.skipif(NODE is None, reason="no Node 20")),
    ],
)
def test_new_agent_is_wired_at_once(shell: Shell, language: str, sandbox: str) -> None:
    made = shell.run("register", "--scaffold", "fresh", "--lang", language)
    probed = shell.run("register", "./fresh", "--probe-only", "--sandbox", sandbox, "--json")

    assert (made.returncode, made.stdout, probed.returncode) == (0, "fresh\n", 0), probed.stderr
    done = json.loads(probed.stdout)
    verdicts = {step["name"]: step["verdict"] for step in done["evidence"]["steps"]}
    assert (done["name"], done["tier"], set(verdicts.values())) == ("fresh", "wired", {"pass"}), probed.stderr
    assert not (shell.folder / "home" / "agents").exists()


def test_new_agent_is_registered_and_then_run_by_its_name(shell: Shell) -> None:
    shell.run("register", "--scaffold", "fresh")

    first = shell.run("register", "./fresh")
    shutil.rmtree(shell.folder / "fresh")
    listed = json.loads(shell.run("agents", "--json").stdout)
    row = shell.row("fresh")

    assert first.returncode == 0, first.stderr
    assert [agent["tier"] for agent in listed if agent["name"] == "fresh"] == ["wired"]
    assert (row["success"], row["tier"]) == (True, "wired")


@both_languages
def test_scaffold_is_as_its_author_would_write_it(tmp_path: Path, language: Language) -> None:
    made = make_agent("some.agent-2", language, tmp_path)

    texts = {path.name: path.read_text() for path in made.iterdir()}
    assert sorted(texts) == ["register.py", "server.py" if language == "python" else "server.mjs"]
    assert all("some.agent-2" in text and "my-agent" not in text for text in texts.values())


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "two words", "quote'", "-x", "agent.toml", "mini", ""])
def test_bad_or_taken_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="choose another name" if name == "mini" else "no name for an agent"):
        make_agent(name, "python", tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "server.py").write_text("mine")

    with pytest.raises(InputError, match="is there already"):
        make_agent("mine", "python", tmp_path)

    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["server.py"]


def test_scaffold_goes_with_no_other_target(shell: Shell) -> None:
    ended = shell.run("register", "--scaffold", "fresh", "mini")

    assert ended.returncode == 2
    assert "leave TARGET" in ended.stderr
    assert not (shell.folder / "fresh").exists()


class Talk:
    """A started server, line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin
        assert process.stdout
        self.process, self._stdin, self._stdout = process, process.stdin, process.stdout
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.permission = "allow_once"

    def send(self, *messages: Mapping[str, Any] | str) -> None:
        """Write lines, all at once."""
        lines = [text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in messages]
        self._stdin.write("".join(f"{line}\n" for line in lines).encode())

    async def answer(self, id: int | None) -> dict[str, Any]:
        """Return the answer to a request; take what comes before it."""
        while True:
            message = json.loads(await self._stdout.readline())
            assert message["jsonrpc"] == "2.0"
            if message.get("method") == "session/request_permission":
                self.asked.append(message["params"])
                outcome = {"outcome": "selected", "optionId": self.permission}
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"outcome": outcome}})
            elif message.get("method") == "session/update":
                self.updates.append(message["params"]["update"])
            elif message["id"] == id:
                return message

    async def ask(self, id: int, method: str, **params: Any) -> dict[str, Any]:
        self.send(request(id, method, **params))
        return await self.answer(id)

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]


def request(id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def prompt(id: int, session: str, text: str = "do it") -> dict[str, Any]:
    return request(id, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


def cancel(session: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}


@asynccontextmanager
async def talking(language: Language, folder: Path, server: ChatServer) -> AsyncIterator[tuple[Talk, str]]:
    """Start a new agent's server; give it with the id of a session in `folder`."""
    made = make_agent("fresh", language, folder / "made")
    program = sys.executable if language == "python" else str(NODE.path if NODE else "")
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
    environ |= {"BENCHFLOW_PROVIDER_BASE_URL": server.url, "BENCHFLOW_PROVIDER_API_KEY": "key"}
    (work := folder / "work").mkdir()
    (script,) = made.glob("server.*")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(program, script, cwd=folder, env=environ, stdin=pipe, stdout=pipe)
    try:
        with anyio.fail_after(LIMIT_S):
            talk = Talk(process)
            hello = await talk.ask(0, "initialize", protocolVersion=99)
            assert hello["result"]["protocolVersion"] == 1
            opened = await talk.ask(1, "session/new", cwd=str(work), mcpServers=[])
            yield talk, opened["result"]["sessionId"]
            assert process.stdin
            process.stdin.close()
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@both_languages
async def test_turn_is_told_as_it_happens(tmp_path: Path, language: Language) -> None:
    call = ("shell", json.dumps({"command": "pwd; echo out >&2"}))
    usage = {"prompt_tokens": 10, "completion_tokens": 3}
    replies = Reply(thought="hm", text="Look.", calls=[call], usage=usage), Reply(text="Done…", usage=usage)
    async with chat_server(*replies) as server, talking(language, tmp_path, server) as (talk, session):
        changed = await talk.ask(2, "session/set_model", sessionId=session, modelId="other")
        talk.send(prompt(3, session, "one\u2028line"))
        ended = await talk.answer(3)

    assert changed["result"] == {}
    tokens = {"inputTokens": 20, "outputTokens": 6, "totalTokens": 26}
    assert ended["result"] == {"stopReason": "end_turn", "usage": tokens}
    assert [body["model"] for body in server.requests] == ["other", "other"]
    assert server.requests[0]["messages"][-1]["content"] == "one\u2028line"
    assert "".join(chunk["content"]["text"] for chunk in talk.of_kind("agent_message_chunk")) == "Look.Done…"
    assert "".join(chunk["content"]["text"] for chunk in talk.of_kind("agent_thought_chunk")) == "hm"
    (announced,), (permission,) = talk.of_kind("tool_call"), talk.asked
    assert (announced["title"], announced["kind"]) == (f"shell {call[1]}", "execute")
    assert announced["rawInput"] == {"name": "shell", "arguments": json.loads(call[1])}
    assert permission["toolCall"]["toolCallId"] == announced["toolCallId"]
    last = talk.of_kind("tool_call_update")[-1]
    assert last["status"] == "completed"
    assert last["content"][0]["content"]["text"] == f"{tmp_path / 'work'}\nout\n\n[exit status 0]"


@both_languages
async def test_cancel_ends_whatever_a_turn_waits_for(tmp_path: Path, language: Language) -> None:
    command = json.dumps({"command": "echo > ../began; sleep 1000"})
    both = [("shell", command), ("shell", command)]
    replies = Reply(text="Well,", hangs=True), Reply(calls=both), Reply(text="Again.")
    os.mkfifo(began := tmp_path / "began")
    async with chat_server(*replies) as server, talking(language, tmp_path, server) as (talk, session):
        talk.send(prompt(2, session))
        await server.reached.wait()
        talk.send(cancel(session))
        in_answer = await talk.answer(2)
        await server.left.wait()

        talk.permission = "allow_always"
        talk.send(prompt(3, session))
        waiting = asyncio.create_task(talk.answer(3))
        await anyio.Path(began).read_text()
        talk.send(cancel(session))
        in_command = await waiting

        talk.send(prompt(4, session))
        after = await talk.answer(4)

    reasons = [answer["result"]["stopReason"] for answer in (in_answer, in_command, after)]
    assert reasons == ["cancelled", "cancelled", "end_turn"]
    results = [message for message in server.requests[-1]["messages"] if message["role"] == "tool"]
    assert [message["content"] for message in results] == ["cancelled", "cancelled"]


@both_languages
async def test_cancel_in_the_same_breath_as_the_prompt_is_heard(tmp_path: Path, language: Language) -> None:
    async with chat_server(Reply(hangs=True)) as server, talking(language, tmp_path, server) as (talk, session):
        talk.send(prompt(2, session), cancel(session))
        ended = await talk.answer(2)

    assert ended["result"]["stopReason"] == "cancelled"


@both_languages
async def test_what_fails_is_an_error_and_no_turn_that_ended(tmp_path: Path, language: Language) -> None:
    replies = Reply(status=401, text="who are you?"), Reply(text="We", cut=True), Reply(text="Well.")
    async with chat_server(*replies) as server, talking(language, tmp_path, server) as (talk, session):
        answers = []
        for id in (2, 3, 4):
            talk.send(prompt(id, session))
            answers.append(await talk.answer(id))

    refused, cut, well = answers
    assert "401" in refused["error"]["message"]
    assert "who are you?" in refused["error"]["message"]
    assert cut["error"]["code"] == -32603
    assert well["result"]["stopReason"] == "end_turn"


@both_languages
async def test_mistakes_of_the_model_are_told_to_it(tmp_path: Path, language: Language) -> None:
    calls = [("shell", "{no json"), ("fly", "{}"), ("write_file", '{"path": ".", "content": ""}')]
    replies = Reply(calls=calls), Reply(text="Oh.")
    async with chat_server(*replies) as server, talking(language, tmp_path, server) as (talk, session):
        talk.send(prompt(2, session))
        ended = await talk.answer(2)

    assert ended["result"]["stopReason"] == "end_turn"
    results = [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "tool"]
    assert len(results) == 3
    assert all(result.startswith("error: ") for result in results)
    assert {update["status"] for update in talk.of_kind("tool_call_update")} <= {"in_progress", "failed"}


@both_languages
async def test_mistakes_of_the_client_are_errors(tmp_path: Path, language: Language) -> None:
    async with chat_server() as server, talking(language, tmp_path, server) as (talk, session):
        talk.send("no json", '{"jsonrpc": "2.0", "method": "_unknown/notice"}')
        stray = await talk.answer(None)
        unknown = await talk.ask(2, "session/fly")
        nobody = await talk.ask(3, "session/set_model", sessionId="nobody", modelId="m")
        changed = await talk.ask(4, "session/set_model", sessionId=session, modelId="m")

    assert [answer["error"]["code"] for answer in (stray, unknown, nobody)] == [-32700, -32601, -32602]
    assert changed["result"] == {}


@both_languages
async def test_refused_call_is_not_carried_out(tmp_path: Path, language: Language) -> None:
    call = ("write_file", '{"path": "new/file.txt", "content": "x"}')
    replies = Reply(calls=[call]), Reply(text="No."), Reply(calls=[call]), Reply(text="Yes.")
    async with chat_server(*replies) as server, talking(language, tmp_path, server) as (talk, session):
        talk.permission = "reject_once"
        talk.send(prompt(2, session))
        await talk.answer(2)
        refused = (tmp_path / "work" / "new").exists()
        talk.permission = "allow_once"
        talk.send(prompt(3, session))
        await talk.answer(3)

    assert (refused, (tmp_path / "work" / "new" / "file.txt").read_text()) == (False, "x")
