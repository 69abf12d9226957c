"""The client capability `terminal`: commands in the trial's sandbox."""

import json
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp_rig import fake_agent
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.sandbox.interface import Folders, LaunchSpec, SandboxedProcess
from benchflow.sandbox.process import ProcessSandbox
from benchflow.session.rpc import RpcError
from benchflow.session.terminals import Output, Terminals


@pytest.fixture
async def terminals(tmp_path: Path) -> AsyncIterator[Terminals]:
    folders = Folders(workspace=tmp_path / "work", home=tmp_path / "home", tmp=tmp_path / "tmp")
    for folder in (folders.workspace, folders.home, folders.tmp):
        folder.mkdir()
    async with ProcessSandbox() as sandbox:

        async def start(argv: tuple[str, ...], env: Mapping[str, str], cwd: str | None) -> SandboxedProcess:
            variables = {"PATH": "/usr/bin:/bin", **env}
            return await sandbox.start(LaunchSpec(argv=argv, env=variables, folders=folders, cwd=cwd))

        terminals = Terminals(start)
        yield terminals
        await terminals.aclose()


async def run(terminals: Terminals, **params: Any) -> dict[str, Any]:
    """Run a command to its end; return its output and status."""
    opened = await terminals.create({"sessionId": "s", **params})
    with anyio.fail_after(20):
        status = await terminals.wait_for_exit(opened)
    output = terminals.output(opened)
    assert output["exitStatus"] == status
    await terminals.release(opened)
    return output


@pytest.mark.parametrize(
    ("params", "output", "exit_code"),
    [
        ({"command": "echo", "args": ["a  b", "$HOME"]}, "a  b $HOME\n", 0),
        ({"command": "echo out; echo err >&2; exit 3"}, "out\nerr\n", 3),
        ({"command": "pwd", "args": None}, "{work}\n", 0),
        ({"command": "pwd", "cwd": "/"}, "/\n", 0),
        ({"command": "sh", "args": ["-c", "echo $A"], "env": [{"name": "A", "value": "1"}, None]}, "1\n", 0),
        ({"command": "cat"}, "", 0),
        ({"command": "sleep 60 & echo left"}, "left\n", 0),
    ],
)
async def test_a_command_is_run(
    terminals: Terminals, tmp_path: Path, params: dict[str, Any], output: str, exit_code: int
) -> None:
    assert await run(terminals, **params) == {
        "output": output.format(work=tmp_path / "work"),
        "truncated": False,
        "exitStatus": {"exitCode": exit_code, "signal": None},
    }


async def test_only_the_end_of_a_long_output_is_kept(terminals: Terminals) -> None:
    printed = await run(terminals, command="seq 100000", outputByteLimit=10)

    assert printed["output"] == "99\n100000\n"
    assert printed["truncated"]


async def test_a_killed_command_keeps_its_output(terminals: Terminals, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "work" / "ready")
    opened = await terminals.create({"command": "echo begun; echo > ready; exec sleep 600"})
    with anyio.fail_after(20):
        await anyio.Path(tmp_path / "work" / "ready").read_text()
        assert terminals.output(opened)["exitStatus"] is None
        await terminals.kill(opened)
        status = await terminals.wait_for_exit(opened)

    assert status["signal"] in ("SIGTERM", "SIGKILL")
    assert terminals.output(opened)["output"] == "begun\n"


async def test_a_released_terminal_is_gone(terminals: Terminals) -> None:
    opened = await terminals.create({"command": "sleep", "args": ["600"]})
    await terminals.release(opened)

    with pytest.raises(RpcError, match="no terminal") as caught:
        terminals.output(opened)
    assert caught.value.code == -32002


async def test_closing_ends_every_command(terminals: Terminals) -> None:
    for _ in range(3):
        await terminals.create({"command": "sleep 600"})

    with anyio.fail_after(20):
        await terminals.aclose()


@pytest.mark.parametrize("params", [None, {}, {"command": ""}, {"command": 3}])
async def test_a_request_without_a_command_is_refused(terminals: Terminals, params: Any) -> None:
    with pytest.raises(RpcError):
        await terminals.create(params)


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=20), st.integers(0, 50))
def test_output_is_cut_between_characters(texts: list[str], limit: int) -> None:
    output = Output(limit)
    for text in texts:
        output.add(text.encode())
    whole = "".join(texts)

    kept, truncated = output.read()

    assert whole.endswith(kept)
    assert len(kept.encode()) <= limit
    assert truncated == (kept != whole)


async def test_an_agent_uses_the_terminal_when_it_is_offered(terminals: Terminals, tmp_path: Path) -> None:
    async with fake_agent("uses-terminal", tmp_path, terminals=terminals) as rig:
        await rig.open()
        await rig.client.prompt(["go"])

    waited, output, released = [json.loads(answer) for answer in rig.said.rstrip(";").split(";")]
    status = {"exitCode": 3, "signal": None}
    assert (waited, released) == (status, {})
    assert output == {"output": "out\nerr\n", "truncated": False, "exitStatus": status}
