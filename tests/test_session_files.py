"""The client capability `fs`: the workspace's text files, and nothing outside it."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from acp_rig import fake_agent

from benchflow.session.files import WorkspaceFiles
from benchflow.session.rpc import RpcError


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "outside.txt").write_text("secret")
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"one\r\ntwo\nthree")
    (folder / "bytes.txt").write_bytes(b"caf\xe9")
    (folder / "in").symlink_to("sub")
    (folder / "out").symlink_to("..")
    (folder / "out.txt").symlink_to("../outside.txt")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    return folder


def read(workspace: Path, path: str, **more: Any) -> str:
    return WorkspaceFiles(workspace, "/workspace").read({"sessionId": "s", "path": path, **more})["content"]


def write(workspace: Path, path: str, content: Any) -> None:
    WorkspaceFiles(workspace, "/workspace").write({"sessionId": "s", "path": path, "content": content})


@pytest.mark.parametrize(
    ("more", "content"),
    [
        ({}, "one\r\ntwo\nthree"),
        ({"line": 2}, "two\nthree"),
        ({"line": 2, "limit": 1}, "two\n"),
        ({"limit": 0}, ""),
        ({"line": 0, "limit": 1}, "one\r\n"),
        ({"line": 9}, ""),
        ({"line": None, "limit": None}, "one\r\ntwo\nthree"),
    ],
)
def test_a_file_is_read_whole_or_by_lines(workspace: Path, more: dict[str, Any], content: str) -> None:
    assert read(workspace, "/workspace/a.txt", **more) == content


def test_paths_are_the_agents_own(workspace: Path) -> None:
    assert read(workspace, "a.txt", limit=1) == "one\r\n"
    assert read(workspace, "/workspace/sub/../a.txt", limit=1) == "one\r\n"
    assert read(workspace, "/workspace/bytes.txt") == "caf\ufffd"


def test_a_written_file_replaces_the_old_one_and_gets_its_folders(workspace: Path) -> None:
    write(workspace, "/workspace/new/deep/b.txt", "b\r\n")
    write(workspace, "/workspace/a.txt", "1")
    write(workspace, "/workspace/in/c.txt", "c")

    assert (workspace / "new/deep/b.txt").read_bytes() == b"b\r\n"
    assert (workspace / "a.txt").read_text() == "1"
    assert (workspace / "sub/c.txt").read_text() == "c"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/workspace/missing.txt", -32002),
        ("/workspace/a.txt/below", -32603),
        ("/workspace/out.txt", -32602),
        ("/workspace/out/outside.txt", -32602),
        ("/workspace/../outside.txt", -32602),
        ("/etc/passwd", -32602),
        ("/workspace", -32602),
        ("/workspace/sub", -32602),
        ("/workspace/pipe", -32602),
        ("/workspace/loop", -32603),
        ("/workspace/nul\0byte", -32602),
        ("", -32602),
    ],
)
def test_everything_else_is_refused(workspace: Path, path: str, code: int) -> None:
    with pytest.raises(RpcError) as caught:
        read(workspace, path)

    assert caught.value.code == code


@pytest.mark.parametrize(
    "path",
    ["/workspace/out.txt", "/workspace/out/x.txt", "/tmp/x.txt", "/workspace/sub", "/workspace/pipe", "/workspace"],
)
def test_nothing_is_written_outside(workspace: Path, path: str) -> None:
    with pytest.raises(RpcError):
        write(workspace, path, "x")

    assert (workspace.parent / "outside.txt").read_text() == "secret"
    assert sorted(os.listdir(workspace.parent)) == ["outside.txt", "work"]


def test_a_link_that_appears_in_between_is_not_followed(workspace: Path) -> None:
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for target in ("plain", "link"):
                (workspace / "plain").write_text("plain")
                (workspace / "link").unlink(missing_ok=True)
                (workspace / "link").symlink_to("../outside.txt")
                (workspace / target).replace(workspace / "swapped.txt")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    for _ in range(2_000):
        try:
            seen.add(read(workspace, "/workspace/swapped.txt"))
        except RpcError:
            continue
    done.set()
    swapper.join()

    assert "secret" not in seen


@pytest.mark.parametrize("params", [None, {}, {"path": 3}, {"path": "a.txt", "content": None}])
def test_params_that_cannot_be_read_are_refused(workspace: Path, params: Any) -> None:
    with pytest.raises(RpcError) as caught:
        WorkspaceFiles(workspace, "/workspace").write(params)

    assert caught.value.code == -32602


async def test_an_agent_uses_the_files_when_they_are_offered(tmp_path: Path) -> None:
    async with fake_agent("uses-fs", tmp_path, files=WorkspaceFiles(tmp_path, str(tmp_path))) as rig:
        await rig.open()
        await rig.client.prompt(["go"])

    written, line, outside, missing = [json.loads(answer) for answer in rig.said.rstrip(";").split(";")]
    assert (written, line) == ({}, {"content": "two\n"})
    assert (outside["code"], missing["code"]) == (-32602, -32002)
    assert rig.log.frames("out")[0]["params"]["clientCapabilities"]["fs"] == {
        "readTextFile": True,
        "writeTextFile": True,
    }
