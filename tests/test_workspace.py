"""Workspaces: how they are made, how safely they are read, and what is said of the changes."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from sandboxes import BOTH, entered
from scenario_rig import ONE_CHECK, BrokenSandbox, make_rig, write_scenario

from benchflow.errors import InputError, TrialError
from benchflow.machine.home import Home
from benchflow.scenario import load_scenario
from benchflow.workspaces.snapshot import copy_tree, take_snapshot
from benchflow.workspaces.toolchain import Toolchains
from benchflow.workspaces.workspace import Workspace, prepare_workspace


def opened(path: Path) -> Workspace:
    """Return a folder as a workspace that begins as it is now."""
    path.mkdir(exist_ok=True)
    return Workspace(path=path, pristine=take_snapshot(path))


@pytest.mark.parametrize("kind", BOTH)
async def test_files_are_copied_then_written_then_set_up(tmp_path: Path, kind: str) -> None:
    text = '[workspace]\nsetup = "cat a.txt b/c.txt > d.txt; mkdir e"\n[workspace.files]\n"b/c.txt" = "inline\\n"\n'
    files = {"workspace/a.txt": "copied\n", "workspace/run.sh": "true\n", "workspace/b/c.txt": "replaced\n"}
    write_scenario(tmp_path / "scenario", "", files)
    (tmp_path / "scenario/workspace/run.sh").chmod(0o755)
    async with entered(kind) as sandbox:
        rig = await make_rig(tmp_path, sandbox, text + ONE_CHECK)

    path = rig.workspace.path
    assert path == tmp_path / "trial/workspace"
    assert (path / "d.txt").read_text() == "copied\ninline\n"
    assert (path / "e").is_dir()
    assert os.access(path / "run.sh", os.X_OK)
    assert sorted(rig.workspace.pristine) == ["a.txt", "b/c.txt", "d.txt", "run.sh"]
    assert os.listdir(tmp_path / "trial") == ["workspace"]


async def test_a_scenario_without_files_needs_no_process(tmp_path: Path) -> None:
    scenario = load_scenario(write_scenario(tmp_path / "scenario", ONE_CHECK))
    toolchains = Toolchains(Home(tmp_path / "home"))
    workspace = await prepare_workspace(scenario, tmp_path / "trial", BrokenSandbox(), toolchains)

    assert (workspace.path.is_dir(), workspace.pristine, workspace.diff()) == (True, {}, "")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(("setup", "said"), [("echo no luck; false", "exit code 1: no luck"), ("kill -9 $$", "-9")])
async def test_a_setup_that_fails_is_the_trials_error(tmp_path: Path, setup: str, said: str) -> None:
    async with entered("process") as sandbox:
        with pytest.raises(TrialError, match=said) as caught:
            await make_rig(tmp_path, sandbox, f'[workspace]\nsetup = "{setup}"\n{ONE_CHECK}')

    assert caught.value.code == "setup"


async def test_a_setup_that_hangs_is_ended(tmp_path: Path) -> None:
    text = f'[workspace]\nsetup = "sleep 1000"\nsetup_timeout_s = 0.2\n{ONE_CHECK}'
    async with entered("process") as sandbox:
        with pytest.raises(TrialError, match="was not done in time"):
            await make_rig(tmp_path, sandbox, text)


async def test_a_link_out_of_the_scenario_made_after_loading_is_refused(tmp_path: Path) -> None:
    scenario = load_scenario(write_scenario(tmp_path / "scenario", ONE_CHECK, {"workspace/a": ""}))
    (tmp_path / "scenario/workspace/link").symlink_to("/etc/passwd")

    with pytest.raises(InputError, match="links to /etc/passwd"):
        await prepare_workspace(scenario, tmp_path / "trial", BrokenSandbox(), Toolchains(Home(tmp_path / "home")))


def test_reads_never_leave_the_workspace(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "w")
    (tmp_path / "secret").write_text("s")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    (workspace.path / "file").symlink_to(tmp_path / "secret")
    (workspace.path / "folder").symlink_to(tmp_path / "outside")
    (workspace.path / "loop").symlink_to("loop")
    (workspace.path / "real").write_text("r")
    (workspace.path / "inner").symlink_to("real")

    assert [workspace.read_text(path) for path in ("file", "folder/secret", "loop", "../secret", "absent")] == [
        None
    ] * 5
    assert [workspace.is_file(path) for path in ("file", "folder/secret", "loop", "inner")] == [
        False,
        False,
        False,
        True,
    ]
    assert (workspace.read_text("real"), workspace.read_text("inner")) == ("r", "r")


def test_reads_neither_block_nor_grow(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "w")
    os.mkfifo(workspace.path / "pipe")
    (workspace.path / "device").symlink_to("/dev/zero")
    (workspace.path / "folder").mkdir()
    (workspace.path / "large").write_bytes(b"x" * 100)

    assert [workspace.read_bytes(path) for path in ("pipe", "device", "folder")] == [None] * 3
    assert workspace.read_bytes("large", limit=99) is None
    assert workspace.read_bytes("large", limit=100) == b"x" * 100
    assert "Binary files a/pipe and b/pipe differ" in workspace.diff()


def test_writes_never_leave_the_workspace(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "w")
    (workspace.path / "out").symlink_to(tmp_path)
    (workspace.path / "file").symlink_to(tmp_path / "elsewhere")

    for path in ("out/x", "file"):
        with pytest.raises(TrialError, match="leads out of the workspace"):
            workspace.write_text(path, "x")
    assert not (tmp_path / "x").exists()


def test_changes_are_found_by_content(tmp_path: Path) -> None:
    (tmp_path / "w/data/deep").mkdir(parents=True)
    for name in ("kept", "edited", "removed", "data/deep/x.csv", "data/y.csv", "touched"):
        (tmp_path / "w" / name).write_text(name)
    workspace = opened(tmp_path / "w")
    (workspace.path / "edited").write_text("EDITED")
    (workspace.path / "removed").unlink()
    (workspace.path / "data/deep/x.csv").unlink()
    (workspace.path / "data/deep/x.csv").symlink_to("../y.csv")
    (workspace.path / "data/new").touch()
    (workspace.path / "data/__pycache__").mkdir()
    (workspace.path / "data/__pycache__/x.pyc").touch()
    (workspace.path / "touched").chmod(0o755)
    os.utime(workspace.path / "touched", (1, 1))

    assert workspace.changed(("kept", "touched")) == []
    assert workspace.changed(("edited", "removed", "data")) == ["data/deep/x.csv", "data/new", "edited", "removed"]
    assert workspace.changed(("*.csv",)) == ["data/deep/x.csv"]


def test_the_diff_can_be_applied(tmp_path: Path) -> None:
    before = tmp_path / "w"
    (before / "sub").mkdir(parents=True)
    files = {
        "sub/text": "".join(f"line {number}\n" for number in range(30)),
        "long": "".join(f"line {number}\n" for number in range(5_000)),
        "no newline": "a\nb",
        "removed": "x\n",
        "emptied": "x\n",
        "program": "true\n",
    }
    for name, text in files.items():
        (before / name).write_text(text)
    workspace = opened(before)
    copy_tree(before, tmp_path / "applied")
    (before / "sub/text").write_text(files["sub/text"].replace("line 3\n", "line three\n").replace("line 25\n", ""))
    (before / "long").write_text(files["long"].replace("line 2500\n", "another\nand one more\n"))
    (before / "no newline").write_text("a\nb\nc")
    (before / "removed").unlink()
    (before / "emptied").write_text("")
    (before / "program").chmod(0o755)
    (before / "new").write_text("new\n")
    (before / "empty").touch()
    (before / "link").symlink_to("new")

    diff = workspace.diff()
    done = subprocess.run(
        ["git", "apply", "-"], cwd=tmp_path / "applied", input=diff, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert take_snapshot(tmp_path / "applied") == take_snapshot(before)
    assert diff.count("\n") < 80


def test_the_diff_shows_what_is_no_text(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "w")
    (workspace.path / "image").write_bytes(b"\x89PNG\0\xff")
    (workspace.path / "huge").write_bytes(b"x" * 300_000)
    (workspace.path / "bad\x1b[31mname\n").write_text("x\n")

    diff = workspace.diff()
    assert "Binary files a/image and b/image differ (nothing to 6 bytes)" in diff
    assert "Binary files a/huge and b/huge differ (nothing to 300000 bytes)" in diff
    assert '+++ "b/bad\\u001b[31mname\\n"' in diff
    assert "\x1b" not in diff


def test_the_diff_is_bounded(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "w")
    for number in range(8):
        (workspace.path / str(number)).write_text("line\n" * 40_000)

    diff = workspace.diff()
    assert len(diff) < 1_100_000
    assert "more changed files are not shown" in diff


def test_the_diff_reads_only_so_many_new_files(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w/z").write_text("old\n")
    workspace = opened(tmp_path / "w")
    for number in range(2_010):
        (workspace.path / f"a{number:04}").touch()
    (workspace.path / "z").write_text("new\n")

    diff = workspace.diff()
    assert diff.count("diff --git") == 2_001
    assert "+new\n" in diff
    assert diff.endswith("# 10 more new files are not shown\n")


def test_the_diff_shows_of_a_repository_what_people_read(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path / "w")], check=True)
    workspace = opened(tmp_path / "w")
    (workspace.path / "a").write_text("a\n")
    git = ["git", "-C", str(workspace.path), "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "add", "a"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)

    changed = [line.split(" b/")[1] for line in workspace.diff().splitlines() if line.startswith("diff --git")]
    assert changed == [".git/refs/heads/main", "a"]


def test_a_hostile_repository_has_no_say_in_the_diff(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path / "w")], check=True)
    workspace = opened(tmp_path / "w")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    (workspace.path / ".git/config").write_text(f"[core]\n\tfsmonitor = {trap}\n[diff]\n\texternal = {trap}\n")
    (workspace.path / ".gitattributes").write_text("* diff=evil -text\n")
    (workspace.path / "a").write_text("a\n")

    assert "+++ b/a" in workspace.diff()
    assert not (tmp_path / "sprung").exists()


def test_a_copy_leaves_out_what_is_not_the_agents(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub/__pycache__").mkdir(parents=True)
    (source / "sub/__pycache__/evil.pyc").touch()
    (source / "other").mkdir()
    (source / "other/__pycache__").symlink_to("../sub")
    (source / "program").write_text("true\n")
    (source / "program").chmod(0o751)
    (source / "inside").symlink_to("sub/../program")
    (source / "outside").symlink_to("/etc/passwd")
    (source / "upward").symlink_to("../elsewhere")
    (source / "absolute").symlink_to(source / "program")
    os.mkfifo(source / "pipe")
    copy_tree(source, tmp_path / "copy")

    names = sorted(str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*"))
    assert names == ["inside", "other", "program", "sub"]
    assert stat.S_IMODE((tmp_path / "copy/program").stat().st_mode) == 0o755
    assert (tmp_path / "copy/inside").read_text() == "true\n"
