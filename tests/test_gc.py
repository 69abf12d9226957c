import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stored import make_row, write_run

from benchflow.machine.disk import folder_bytes
from benchflow.machine.home import Home
from benchflow.machine.liveness import claim, is_claimed, owner_lives, release
from benchflow.machine.reclaim import Garbage, Survey, current_installs, find_garbage, remove
from benchflow.machine.scratch import scratch_folder
from benchflow.store import Store

CURRENT = {"mini-aaaaaaaaaaaa"}
LONG_AGO = time.time() - 90 * 86_400


def survey(root: Path, *, cache: bool = False, runs: Path | None = None) -> Survey:
    return find_garbage(Home(root), current=CURRENT, cache=cache, runs=Store(runs) if runs else None)


def kinds(found: Survey) -> list[tuple[str, str, str]]:
    return [(each.kind, each.path.name, each.why) for each in found.garbage]


def make_install(root: Path, name: str, *, finished: bool = True, used: float | None = None) -> Path:
    folder = root / "installs" / name
    (folder / "agent").mkdir(parents=True)
    (folder / "agent" / "program").write_bytes(b"x" * 10_000)
    (folder / "lock").touch()
    if finished:
        (folder / "install.json").write_text("{}")
        os.utime(folder / "install.json", (used, used) if used else None)
    return folder


def abandon(folder: Path) -> None:
    """Claim a folder for a process that is dead."""
    folder.mkdir(parents=True)
    code = "import sys, pathlib; from benchflow.machine.liveness import claim; claim(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)


def test_a_folder_lives_as_long_as_the_process_that_claimed_it(tmp_path: Path) -> None:
    claim(tmp_path)
    abandon(tmp_path / "dead")

    assert owner_lives(tmp_path)
    assert not owner_lives(tmp_path / "dead")
    assert is_claimed(tmp_path)
    release(tmp_path)
    assert not is_claimed(tmp_path)


def test_a_process_that_only_has_the_same_id_is_not_the_owner(tmp_path: Path) -> None:
    claim(tmp_path)
    claimed = (tmp_path / "pid").read_text()
    (tmp_path / "pid").write_text(claimed.replace('"started":"', '"started":"9'))

    assert not owner_lives(tmp_path)


def test_an_unclaimed_folder_is_left_alone_while_it_is_new(tmp_path: Path) -> None:
    assert owner_lives(tmp_path)
    os.utime(tmp_path, (LONG_AGO, LONG_AGO))
    assert not owner_lives(tmp_path)


def test_scratch_of_dead_runs_goes(tmp_path: Path) -> None:
    abandon(tmp_path / "scratch" / "dead")

    found = survey(tmp_path)

    assert kinds(found) == [("scratch", "dead", "its run ended without removing it")]
    assert remove(found.garbage[0]).removed
    assert not (tmp_path / "scratch" / "dead").exists()


def test_scratch_of_long_work_that_is_no_run_stays_until_it_is_done(tmp_path: Path) -> None:
    with scratch_folder(Home(tmp_path), "score") as folder:
        os.utime(folder, (LONG_AGO, LONG_AGO))
        assert kinds(survey(tmp_path)) == []

    assert not folder.exists()


def test_broken_outdated_and_unused_installs_go(tmp_path: Path) -> None:
    make_install(tmp_path, "mini-aaaaaaaaaaaa")
    make_install(tmp_path, "mini-bbbbbbbbbbbb")
    make_install(tmp_path, "of-a-path-cccccccccccc")
    make_install(tmp_path, "half-dddddddddddd", finished=False)
    make_install(tmp_path, "old-eeeeeeeeeeee", used=LONG_AGO)

    assert kinds(survey(tmp_path)) == [
        ("install", "half-dddddddddddd", "it was never finished"),
        ("install", "mini-bbbbbbbbbbbb", "its manifest has changed since"),
        ("install", "old-eeeeeeeeeeee", "it was not used for long"),
    ]


def test_installs_and_cache_stay_while_a_run_runs(tmp_path: Path) -> None:
    make_install(tmp_path, "half-dddddddddddd", finished=False)
    (tmp_path / "cache").mkdir()
    (tmp_path / "scratch" / "live").mkdir(parents=True)
    claim(tmp_path / "scratch" / "live")

    found = survey(tmp_path, cache=True)

    assert found.garbage == []
    assert found.notes == ["running now: live; installs, tools and cache are left alone until the end of it"]


def test_an_install_that_is_being_made_stays(tmp_path: Path) -> None:
    folder = make_install(tmp_path, "half-dddddddddddd", finished=False)

    with (folder / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        removal = remove(survey(tmp_path).garbage[0])

    assert (removal.removed, removal.error) == (False, "it is in use")
    assert folder.exists()


def test_the_cache_goes_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "cache" / "uv").mkdir(parents=True)

    assert kinds(survey(tmp_path)) == []
    assert [each.kind for each in survey(tmp_path, cache=True).garbage] == ["cache"]


def test_tools_that_were_never_finished_go(tmp_path: Path) -> None:
    for name in ("python-half", "python-whole", "other"):
        (tmp_path / "tools" / name).mkdir(parents=True)
    (tmp_path / "tools" / "python-whole" / "complete").touch()

    assert [each.path.name for each in survey(tmp_path).garbage] == ["python-half"]


def test_only_workspaces_of_old_runs_go(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for run_id in ("20260101-000000-a", "20260102-000000-b"):
        folder = write_run(runs, make_row(), run_id=run_id)
        (folder / "trials" / make_row().trial / "try-1" / "workspace").mkdir()
    for file in (runs / "20260101-000000-a").glob("*.json*"):
        os.utime(file, (LONG_AGO, LONG_AGO))

    found = survey(tmp_path / "home", runs=runs)

    assert [each.path.parents[3].name for each in found.garbage] == ["20260101-000000-a"]
    claim(runs / "20260101-000000-a")
    assert survey(tmp_path / "home", runs=runs).garbage == []
    remove(found.garbage[0])
    assert (runs / "20260101-000000-a" / "rows.jsonl").exists()


def test_closed_folders_go_and_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    closed = tmp_path / "garbage" / "closed"
    closed.mkdir(parents=True)
    (closed / "link").symlink_to(outside)
    closed.chmod(0)

    removal = remove(Garbage(kind="cache", path=tmp_path / "garbage", bytes=0, why="a test"))

    assert removal.removed
    assert (outside / "file").exists()


def test_room_is_counted_once_for_a_file_with_two_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    one = folder_bytes(tmp_path)
    (tmp_path / "b").hardlink_to(tmp_path / "a")

    assert folder_bytes(tmp_path) == one >= 100_000
    assert folder_bytes(tmp_path / "missing") == 0


def test_the_installs_of_shipped_agents_are_current(tmp_path: Path) -> None:
    names = current_installs(Home(tmp_path), {"BENCHFLOW_HOME": str(tmp_path)})

    assert any(name.startswith("mini-") for name in names)


@pytest.mark.parametrize("text", ["", "12345\n", "{}", "[1]", '{"pid": "x", "started": "1"}'])
def test_a_claim_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "pid").write_text(text)
    os.utime(tmp_path, (LONG_AGO, LONG_AGO))

    assert not owner_lives(tmp_path)
