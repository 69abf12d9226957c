"""The fake agent: what ships with it, how a user's own behaviour is played, and that it can really work."""

import ast
import json
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp_rig import FAKE, Rig, fake_agent

from benchflow.agents.fake.behaviour import known, load
from benchflow.agents.fake.steps import VERBS
from benchflow.contracts import PermissionConfig
from benchflow.errors import TrialError
from benchflow.gateway.http.server import serve
from benchflow.gateway.message import RawRequest, RawResponse, ToolUse
from benchflow.gateway.upstream import TrialContext, Upstream
from benchflow.gateway.upstreams.oracle import Oracle
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer
from benchflow.scenario import RunStep, Solution, WriteStep
from benchflow.session.turn import PromptOutcome

MANIFEST = Path(__file__).parent.parent / "acp" / "fake" / "manifest.toml"
DONE = PromptOutcome(stop_reason="end_turn")
SOLUTION = Solution(
    steps=(WriteStep(write="sub/a.txt", content="a\n"), RunStep(run="cp sub/a.txt b.txt && test -f b.txt")),
    answer="It is done.",
)
CONTEXT = TrialContext(trial="t", attempt=1, model="m", prompts=("go",), solution=SOLUTION)


def test_the_manifest_lists_every_behaviour() -> None:
    assert tomllib.loads(MANIFEST.read_text())["variants"] == known()


@pytest.mark.parametrize("name", known())
def test_every_behaviour_can_be_played(name: str) -> None:
    behaviour = load(name)
    steps = [step for steps in behaviour.get("on", {}).values() for step in steps]

    assert len(behaviour["description"]) > 10
    for step in steps:
        (verb,) = step.keys() - {"times"}
        assert verb in VERBS


def run_fake(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchflow.agents.fake", *arguments]
    return subprocess.run(
        command, input="", env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=60
    )


def test_an_unknown_behaviour_is_an_error_that_lists_the_known_ones() -> None:
    ended = run_fake("nope")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert all(f"\n  {name} " in ended.stderr for name in known())


def test_the_variant_of_the_environment_is_played() -> None:
    assert run_fake(BENCHFLOW_AGENT_VARIANT="crash-at-start").returncode == 3
    assert run_fake(BENCHFLOW_AGENT_VARIANT="").returncode == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Expecting property name"),
        ("[]", "not an object"),
        ('{"on": {}}', "`description`"),
        ('{"description": "x", "when": {}}', "unknown key 'when'"),
    ],
)
def test_a_behaviour_that_cannot_be_read_is_an_error(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(text)
    ended = run_fake(str(tmp_path / "mine.json"))

    assert (ended.returncode, "mine.json: " in ended.stderr, message in ended.stderr) == (2, True, True)


async def test_a_behaviour_of_the_users_own_is_played_by_path(tmp_path: Path) -> None:
    greeting = {
        "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "${prompt} ${n}."}}
    }
    behaviour = {
        "description": "greets twice",
        "on": {"session/prompt": [{**greeting, "times": 2}, {"answer": {"stopReason": "${stop}"}}]},
    }
    (tmp_path / "mine.json").write_text(json.dumps(behaviour))
    async with fake_agent(str(tmp_path / "mine.json"), tmp_path) as rig:
        await rig.open()
        assert await rig.client.prompt(["hello"]) == DONE

    assert rig.said == "hello 0.hello 1."


async def test_a_step_that_does_not_exist_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"description": "mistaken", "on": {"session/prompt": [{"sing": 1}]}}')
    async with fake_agent(str(tmp_path / "mine.json"), tmp_path) as rig:
        await rig.open()
        with pytest.raises(TrialError, match="no such step"):
            await rig.client.prompt(["go"])


def test_it_needs_nothing_but_the_standard_library() -> None:
    frozen = "import sys; sys.argv = ['fake', '--help']; import runpy; runpy.run_path(sys.path.pop(0)); "
    code = "print([name for name in sys.modules if name.startswith(('benchflow.', 'orjson', 'anyio', 'pydantic'))])"
    ended = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(FAKE)!r}); {frozen}{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    modules = set(ast.literal_eval(ended.stdout))

    assert {name for name in modules if not name.startswith("benchflow.agents")} == set()


# At work


@asynccontextmanager
async def at_work(behaviour: str, folder: Path, upstream: Upstream, **options: Any) -> AsyncIterator[Rig]:
    """Open a session with the fake agent, with an upstream behind it."""
    sock = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{sock.getsockname()[1]}/v1"
    env = {"BENCHFLOW_PROVIDER_BASE_URL": url, "BENCHFLOW_PROVIDER_MODEL": "m", "PATH": os.environ["PATH"]}
    async with (
        serve(upstream, [sock], context=CONTEXT),
        fake_agent(behaviour, folder, env=env, **options) as rig,
    ):
        await rig.open()
        yield rig


async def work(behaviour: str, folder: Path, upstream: Upstream, **options: Any) -> tuple[Any, Rig]:
    """Let the fake agent do one prompt; return the outcome, or the error, and what was seen."""
    async with at_work(behaviour, folder, upstream, **options) as rig:
        try:
            return await rig.client.prompt(["go"], timeout_s=30), rig
        except TrialError as error:
            return error, rig


class Waiting:
    """An upstream that answers when it is released."""

    name = "waiting"
    priced_as: str | None = None

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.release = anyio.Event()

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        self.asked.set()
        await self.release.wait()
        return await Oracle().send(request, context)

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("behaviour", ["trivial", "noise", "silent", "asks-permission", "ids-as-text"])
async def test_the_oracle_drives_it_to_the_end(behaviour: str, tmp_path: Path) -> None:
    outcome, rig = await work(behaviour, tmp_path, Oracle())

    assert outcome == DONE
    assert ((tmp_path / "sub/a.txt").read_text(), (tmp_path / "b.txt").read_text()) == ("a\n", "a\n")
    if behaviour == "silent":
        assert [type_ for type_, _ in rig.events] == ["prompt_begin", "prompt_end"]
        return
    assert rig.said.endswith("It is done.")
    assert [(call["kind"], call["status"]) for call in rig.of("tool_call")] == [
        ("edit", "pending"),
        ("execute", "pending"),
    ]
    assert [update["status"] for update in rig.of("tool_call_update")] == ["completed", "completed"]
    assert [data["option_id"] for data in rig.of("permission")] == ["yes"] * 2 * (behaviour == "asks-permission")


async def test_an_upstream_failure_ends_the_turn_with_an_error(tmp_path: Path) -> None:
    error, _ = await work("trivial", tmp_path, Script([ScriptedAnswer(text="no such key", status=401)]))

    assert error.code == "crash"
    assert "the model failed: status 401" in str(error)
    assert "no such key" in str(error)


async def test_an_upstream_failure_can_be_hidden_behind_an_ended_turn(tmp_path: Path) -> None:
    outcome, rig = await work(
        "hides-upstream-error", tmp_path, Script([ScriptedAnswer(text="no such key", status=401)])
    )

    assert outcome == DONE
    assert "no such key" in rig.said


async def test_a_refused_tool_call_is_not_done(tmp_path: Path) -> None:
    deny = PermissionConfig(auto_approve=False)
    outcome, rig = await work("asks-permission", tmp_path, Oracle(), permissions=deny)

    assert outcome == DONE
    assert {update["status"] for update in rig.of("tool_call_update")} == {"failed"}
    assert os.listdir(tmp_path) == ["stderr.log"]


async def test_cancel_ends_a_running_command(tmp_path: Path) -> None:
    call = ToolUse(id="c", name="shell", arguments={"command": "echo $$ > shell.pid; exec sleep 600"})
    async with at_work("trivial", tmp_path, Script([ScriptedAnswer(tool_calls=(call,))])) as rig:
        outcomes: list[PromptOutcome] = []

        async def prompt() -> None:
            outcomes.append(await rig.client.prompt(["go"]))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prompt)
            await rig.log.until(lambda: bool(rig.of("tool_call")))
            assert await rig.client.cancel(20)

    assert outcomes == [PromptOutcome(stop_reason="cancelled", cancelled=True)]
    assert [update["status"] for update in rig.of("tool_call_update")] == ["failed"]


@pytest.mark.parametrize(("behaviour", "ends"), [("trivial", True), ("late-cancel", False)])
async def test_cancel_breaks_off_the_wait_for_the_model_unless_the_agent_is_slow(
    behaviour: str, ends: bool, tmp_path: Path
) -> None:
    upstream = Waiting()
    outcomes: list[PromptOutcome] = []
    ended: bool | None = None
    async with at_work(behaviour, tmp_path, upstream) as rig, anyio.create_task_group() as tasks:

        async def prompt() -> None:
            outcomes.append(await rig.client.prompt(["go"]))

        tasks.start_soon(prompt)
        await upstream.asked.wait()
        ended = await rig.client.cancel(20 if ends else 0.1)
        upstream.release.set()

    assert (ended, outcomes[0].ended) == (ends, ends)
    assert rig.said == ""


async def test_the_daemon_is_out_of_its_process_group(tmp_path: Path) -> None:
    async with fake_agent("daemon", tmp_path) as rig:
        await rig.open()
        assert await rig.client.prompt(["go"]) == DONE
        daemon = int((tmp_path / "daemon.pid").read_text())
        assert os.getsid(daemon) not in (os.getsid(0), daemon)
