import json
import os
import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from command_line import Shell, open_shell
from sandboxes import BOTH

from benchflow.authoring.scaffold_agent import make_agent
from benchflow.errors import InputError, TrialError
from benchflow.hosting.bridge import Bridge
from benchflow.manifest import load_manifest
from benchflow.manifests.bridge import BridgeTable
from benchflow.registry import built_in_folder
from benchflow.sandbox.interface import Folders, Inside
from benchflow.workspaces.tree import DEEPEST, Tree

ROOT = "own/files"


class Trial:
    """The folders of a trial, and a bridge between them."""

    def __init__(self, folder: Path, *, exclude: tuple[str, ...] = (), workspace: str = "/workspace") -> None:
        self.workspace, home, tmp = folder / "workspace", folder / "home", folder / "tmp"
        for path in (self.workspace, home, tmp):
            path.mkdir()
        self.outside = folder / "outside"
        self.outside.mkdir()
        self.own = home / ROOT
        table = BridgeTable(root=ROOT, exclude=exclude)
        folders = Folders(workspace=self.workspace, home=home, tmp=tmp)
        self.bridge = Bridge.open(table, folders, Inside(workspace=workspace, home="/home/agent", tmp="/tmp"))


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def texts(folder: Path) -> dict[str, str]:
    """Return the files of a folder, links not followed."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def test_files_are_there_before_a_turn_and_results_after_it(trial: Trial) -> None:
    put(trial.workspace, kept="1", changed="1", removed="1", d__e__deep="1", gone__all="1")
    (trial.workspace / "kept").chmod(0o755)
    (trial.workspace / "empty").mkdir()

    async with trial.bridge.turn():
        seeded = texts(trial.own)
        executable = os.access(trial.own / "kept", os.X_OK)
        put(trial.own, changed="2", new__deep__file="2")
        (trial.own / "removed").unlink()
        (trial.own / "gone" / "all").unlink()
        (trial.own / "gone").rmdir()
        (trial.own / "d" / "e" / "deep").chmod(0o700)

    assert seeded == {"kept": "1", "changed": "1", "removed": "1", "d/e/deep": "1", "gone/all": "1"}
    assert executable
    assert texts(trial.workspace) == {"kept": "1", "changed": "2", "d/e/deep": "1", "new/deep/file": "2"}
    assert (trial.workspace / "d" / "e" / "deep").stat().st_mode & 0o777 == 0o700
    assert (trial.workspace / "empty").is_dir()
    assert not (trial.workspace / "gone").exists()


async def test_absolute_paths_of_the_workspace_lead_into_the_agents_root(tmp_path: Path) -> None:
    trial = Trial(tmp_path, workspace="/some/where/workspace")
    put(trial.workspace, file="1")

    async with trial.bridge.turn():
        virtual = Path(f"{trial.own}/some/where/workspace")
        read = (virtual / "file").read_text()
        put(virtual, file="2", new="2")

    assert read == "1"
    assert texts(trial.workspace) == {"file": "2", "new": "2"}
    assert sorted(path.name for path in trial.workspace.iterdir()) == ["file", "new"]


async def test_what_happens_in_the_workspace_itself_is_kept_and_brought_at_the_next_turn(trial: Trial) -> None:
    put(trial.workspace, one="1", two="1", both="1", fought="1")

    async with trial.bridge.turn():
        put(trial.workspace, one="2", three="2", both="workspace", fought="2")
        (trial.own / "fought").unlink()
        (trial.workspace / "two").unlink()
        put(trial.own, both="own")
    between = texts(trial.workspace)
    async with trial.bridge.turn():
        brought = texts(trial.own)

    assert between == {"one": "2", "three": "2", "both": "own", "fought": "2"}
    assert brought == between


async def test_only_what_has_changed_is_copied(trial: Trial) -> None:
    put(trial.workspace, same="1", changed="1")

    async with trial.bridge.turn():
        before = {path.name: path.stat() for path in trial.workspace.iterdir()}
        put(trial.own, changed="2")
    after = {path.name: path.stat() for path in trial.workspace.iterdir()}

    assert before["same"] == after["same"] or before["same"].st_ino == after["same"].st_ino
    assert before["changed"].st_ino != after["changed"].st_ino


async def test_change_that_hides_its_time_is_seen(trial: Trial) -> None:
    put(trial.workspace, file="1")

    async with trial.bridge.turn():
        times = (trial.own / "file").stat()
        put(trial.own, file="2")
        os.utime(trial.own / "file", ns=(times.st_atime_ns, times.st_mtime_ns))

    assert texts(trial.workspace) == {"file": "2"}


async def test_what_the_agent_keeps_for_itself_is_no_result(tmp_path: Path) -> None:
    trial = Trial(tmp_path, exclude=(".state", "*.log"))
    put(trial.own, AGENTS="its own", shared="its own")
    put(trial.workspace, shared="task")

    async with trial.bridge.turn():
        seeded = texts(trial.own)
        put(trial.own, **{".state__db": "x"}, result="x")
        (trial.own / "run.log").write_text("x")

    assert seeded == {"AGENTS": "its own", "shared": "task"}
    assert texts(trial.workspace) == {"shared": "task", "result": "x"}


async def test_results_of_an_agent_that_was_killed_are_taken(trial: Trial) -> None:
    put(trial.workspace, file="1")

    async def die() -> None:
        async with trial.bridge.turn():
            put(trial.own, file="2")
            raise EOFError

    with pytest.raises(EOFError):
        await die()
    before = texts(trial.workspace)
    await trial.bridge.collect()

    assert (before, texts(trial.workspace)) == ({"file": "1"}, {"file": "2"})


async def test_nothing_is_taken_that_the_agent_does_after_the_seal(trial: Trial) -> None:
    put(trial.workspace, given="given")
    async with trial.bridge.turn():
        put(trial.own, early="early", given="given, and more")
        await trial.bridge.seal()
        put(trial.own, late="late", early="early, and more")
        (trial.own / "given").unlink()
    await trial.bridge.collect()

    assert texts(trial.workspace) == {"early": "early", "given": "given, and more"}
    assert trial.bridge.left_behind() == 3


async def test_nothing_is_taken_where_no_turn_began(trial: Trial) -> None:
    put(trial.workspace, file="1")
    put(trial.own, other="2")

    await trial.bridge.collect()

    assert texts(trial.workspace) == {"file": "1"}


async def test_home_that_is_gone_takes_no_result_away(trial: Trial, tmp_path: Path) -> None:
    put(trial.workspace, file="1")
    async with trial.bridge.turn():
        pass

    (tmp_path / "home").rename(tmp_path / "gone")
    await trial.bridge.collect()

    assert texts(trial.workspace) == {"file": "1"}


async def test_links_never_lead_out(trial: Trial) -> None:
    put(trial.outside, secret="secret", d__file="outside")
    put(trial.workspace, d__file="1", f="1", top="1", was="1")

    async with trial.bridge.turn():
        (trial.own / "was").unlink()
        (trial.own / "was").symlink_to(trial.outside / "secret")
        (trial.own / "d" / "file").unlink()
        (trial.own / "d").rmdir()
        (trial.own / "d").symlink_to(trial.outside / "d")
        (trial.own / "up").symlink_to("../../../outside/secret")
        (trial.own / "good").symlink_to("f")
        (trial.own / "sub").mkdir()
        (trial.own / "sub" / "good").symlink_to("../top")
        (trial.own / "sub" / "folder").symlink_to("..")
        (trial.own / "sneaky").symlink_to("sub/folder/../../outside/secret")
        os.mkfifo(trial.own / "pipe")

    assert texts(trial.workspace) == {"f": "1", "top": "1"}
    links = {str(path.relative_to(trial.workspace)) for path in trial.workspace.rglob("*") if path.is_symlink()}
    assert links == {"good", "sub/good", "sub/folder"}
    assert texts(trial.outside) == {"secret": "secret", "d/file": "outside"}


async def test_link_that_waits_in_the_workspace_is_replaced_and_never_followed(trial: Trial) -> None:
    put(trial.outside, file="outside")
    put(trial.workspace, d__file="1", f="1")

    async with trial.bridge.turn():
        (trial.workspace / "d" / "file").unlink()
        (trial.workspace / "d").rmdir()
        (trial.workspace / "d").symlink_to(trial.outside)
        (trial.workspace / "f").unlink()
        (trial.workspace / "f").symlink_to(trial.outside / "file")
        put(trial.own, d__file="2", f="2")

    assert texts(trial.outside) == {"file": "outside"}
    assert texts(trial.workspace) == {"d/file": "2", "f": "2"}
    assert not (trial.workspace / "d").is_symlink()


async def test_link_in_place_of_the_agents_root_is_never_followed(trial: Trial) -> None:
    put(trial.outside, file="outside")
    put(trial.workspace, file="1")
    trial.own.rmdir()
    trial.own.symlink_to(trial.outside)

    async with trial.bridge.turn():
        put(trial.own, file="2")
        (trial.own.parent / "kept").mkdir()
        trial.own.rename(trial.own.parent / "kept" / "files")
        trial.own.symlink_to(trial.outside)

    assert texts(trial.outside) == {"file": "outside"}
    assert texts(trial.workspace) == {"file": "1"}


async def test_links_of_the_task_are_there_as_they_are(trial: Trial) -> None:
    (trial.workspace / "python").symlink_to("/usr/bin/python3")

    async with trial.bridge.turn():
        seeded = os.readlink(trial.own / "python")

    assert seeded == os.readlink(trial.workspace / "python") == "/usr/bin/python3"


async def test_file_becomes_a_folder_and_a_folder_a_file(trial: Trial) -> None:
    put(trial.workspace, a="1", b__c__d="1")

    async with trial.bridge.turn():
        (trial.own / "a").unlink()
        put(trial.own, a__x="2")
        (trial.own / "b" / "c" / "d").unlink()
        (trial.own / "b" / "c").rmdir()
        (trial.own / "b").rmdir()
        put(trial.own, b="2")

    assert texts(trial.workspace) == {"a/x": "2", "b": "2"}


async def test_workspace_that_has_the_links_name_is_refused(trial: Trial) -> None:
    put(trial.workspace, workspace__file="1")

    with pytest.raises(TrialError, match="'workspace' of its own") as caught:
        async with trial.bridge.turn():
            pass

    assert caught.value.code == "setup"


async def test_what_takes_the_links_place_is_no_result(trial: Trial) -> None:
    put(trial.workspace, file="1")

    async with trial.bridge.turn():
        (trial.own / "workspace").unlink()
        put(trial.own, workspace__file="2")

    assert texts(trial.workspace) == {"file": "1"}


async def test_endless_depth_ends_the_looking_and_nothing_else(trial: Trial) -> None:
    put(trial.workspace, file="1")

    async with trial.bridge.turn():
        put(trial.own, file="2")
        here = os.open(trial.own, os.O_RDONLY)
        for _ in range(3 * DEEPEST):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)

    assert texts(trial.workspace) == {"file": "2"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root looks into every folder")
def test_folder_that_is_closed_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    put(tmp_path, d__file="1")
    (tmp_path / "d").chmod(0)
    scan = Tree(tmp_path).scan()
    (tmp_path / "d").chmod(0o700)

    assert "d/file" not in scan.marks
    assert not scan.knows("d/file")


@pytest.mark.parametrize("root", ["/abs", "../x", "", ".", "~/x", "$HOME/x"])
def test_root_is_below_home(tmp_path: Path, root: str) -> None:
    (tmp_path / "manifest.toml").write_text(
        'contract_version = "1.2"\nname = "a"\ninstall_cmd = "true"\nlaunch_cmd = "run"\n'
        f"[bridge]\nroot = {json.dumps(root)}\n"
    )

    with pytest.raises(InputError, match=r"bridge\.root.*below it"):
        load_manifest(tmp_path)


def test_directory_is_there_before_the_agent_is(trial: Trial) -> None:
    assert trial.own.is_dir()


async def test_git_does_not_see_the_link(trial: Trial, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    put(trial.workspace, file="1")

    async with trial.bridge.turn():
        await anyio.run_process(["git", "init", "-q", "."], cwd=trial.own, env=environ)
        await anyio.run_process(["git", "add", "-A"], cwd=trial.own, env=environ)
    listed = await anyio.run_process(["git", "ls-files"], cwd=trial.workspace, env=environ)

    assert listed.stdout == b"file\n"


SCENARIO = """\
schema_version = 1
id = "bridged"
name = "Bridged"
prompt = "Do it, in /workspace."
timeout_s = 20
[workspace.files]
"given.txt" = "given\\n"
"old.txt" = "old\\n"
[[checks]]
kind = "file_equals"
path = "out/made.txt"
text = "made\\n"
[[checks]]
kind = "file_equals"
path = "copied.txt"
text = "given\\n"
[[checks]]
kind = "command"
run = "test ! -e old.txt -a ! -e workspace"
[[solution.steps]]
write = "out/made.txt"
content = "made\\n"
[[solution.steps]]
run = "cp given.txt copied.txt; rm old.txt"
"""
VIRTUAL = {
    'Session(self, params["cwd"])': 'Session(self, os.environ["VIRTUAL_ROOT"])',
    'path="Absolute, or relative."': 'path="Absolute path."',
    "os.path.join(self._cwd, path)": 'os.path.join(self._cwd, path.lstrip("/"))',
}
"""What makes an agent of a new one that takes a directory of its own for `/`."""


def make_virtual(shell: Shell, *more: tuple[str, str]) -> None:
    made = make_agent("virtual", "python", shell.folder)
    server, register = made / "server.py", made / "register.py"
    text = server.read_text()
    for old, new in (*VIRTUAL.items(), *more):
        assert old in text
        text = text.replace(old, new)
    server.write_text(text)
    fields = 'env={"VIRTUAL_ROOT": "${BENCHFLOW_AGENT_HOME}/harness"}, bridge={"root": "harness"}'
    register.write_text(register.read_text().replace('version="0.1.0"', f'version="0.1.0", {fields}'))
    shell.write("bridged/scenario.toml", SCENARIO)


def run(shell: Shell, *words: str, **environ: str) -> dict[str, Any]:
    ended = shell.run("run", "./virtual", "./bridged", "--json", *words, environ=environ)
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)["rows"][0]


@pytest.mark.parametrize("sandbox", BOTH)
def test_agent_with_a_virtual_root_solves_a_task(tmp_path: Path, sandbox: str) -> None:
    shell = open_shell(tmp_path)
    make_virtual(shell)

    row = run(shell, "--sandbox", sandbox)

    assert (row["success"], row["score"]) == (True, 1.0), row["error"]


def test_agent_that_ends_no_turn_is_scored_on_what_it_did(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    ends = '            if "tool_calls" not in message:\n'
    make_virtual(shell, (ends, f"{ends}                await asyncio.sleep(1000)\n"))

    row = run(shell, "--timeout", "2")

    assert (row["completion_reason"], row["score"]) == ("timeout", 1.0), row["error"]


def test_agent_that_dies_is_scored_on_what_it_did(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    ends = '            if "tool_calls" not in message:\n'
    make_virtual(shell, (ends, f"{ends}                os._exit(1)\n"))

    row = run(shell)

    assert (row["error_code"], row["score"]) == ("crash", 1.0), row["error"]


def test_what_an_agent_writes_on_its_way_out_counts(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    late = 'with open(os.path.join(os.environ["VIRTUAL_ROOT"], "copied.txt"), "w") as file:\n        file.write("late")'
    make_virtual(shell, ("    asyncio.run(main())", f"    asyncio.run(main())\n    {late}"))

    row = run(shell)

    failed = [check["id"] for check in row["check_details"] if not check["passed"]]
    assert (row["completion_reason"], len(failed), row["score"]) == ("stop", 1, pytest.approx(2 / 3)), row["error"]


@pytest.mark.real
def test_deep_agents_on_a_virtual_root_solve_a_task(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    origin = built_in_folder() / "deepagents-acp"
    shell.write("virtual/requirements.txt", (origin / "requirements.txt").read_text())
    manifest = re.sub(
        "(?m)^(contract_version|name|aliases|claimed_tier) .*\n", "", (origin / "manifest.toml").read_text()
    )
    bridge = '[env]\nVIRTUAL_ROOT = "${BENCHFLOW_AGENT_HOME}/deep"\n[bridge]\nroot = "deep"\n'
    shell.write("virtual/manifest.toml", f'contract_version = "1.2"\nname = "virtual"\n{manifest}\n{bridge}')
    server = (origin / "server.py").read_text()
    real, virtual = "root_dir=session.cwd, virtual_mode=False", 'root_dir=os.environ["VIRTUAL_ROOT"], virtual_mode=True'
    assert real in server
    shell.write("virtual/server.py", server.replace(real, virtual))
    shell.write("bridged/scenario.toml", SCENARIO)

    row = run(shell, **{**os.environ, "BENCHFLOW_HOME": str(tmp_path / "home")})  # for what installs need

    assert (row["success"], row["score"]) == (True, 1.0), row["error"]
