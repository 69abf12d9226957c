"""A folder that is kept as it was, and put back, whatever was done to it since."""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.workspaces.kept import Kept, keep_tree, put_back
from benchflow.workspaces.tree import Tree


def folder_of(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "src" / "main.py").write_text("one\n")
    (folder / "run.sh").write_text("echo\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("src/main.py")
    return folder


def keep(folder: Path) -> Kept:
    copy = folder.parent / "kept"
    copy.mkdir()
    kept = keep_tree(Tree(folder), Tree(copy))
    assert kept is not None
    return kept


def state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything in a folder: kind, and target, or content and mode."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder",)
        else:
            found[name] = ("file", path.read_bytes() if path.is_file() else None, path.lstat().st_mode & 0o777)
    return found


def rewrite_at_once(folder: Path) -> None:
    """Change a file in place, and give it the length and the time that it had."""
    path = folder / "src" / "main.py"
    before = path.stat()
    path.write_text("two\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def swap_kinds(folder: Path) -> None:
    (folder / "src" / "main.py").unlink()
    (folder / "src").rmdir()
    (folder / "src").write_text("a file now")
    (folder / "run.sh").unlink()
    (folder / "run.sh").mkdir()
    (folder / "run.sh" / "inner").write_text("a folder now")


def replace_by_a_link_to_outside(folder: Path) -> None:
    (folder.parent / "outside").mkdir()
    (folder.parent / "outside" / "main.py").write_text("not to be touched")
    (folder / "src" / "main.py").unlink()
    (folder / "src").rmdir()
    (folder / "src").symlink_to(folder.parent / "outside")


def make_a_pipe_in_a_new_folder(folder: Path) -> None:
    (folder / "new").mkdir()
    os.mkfifo(folder / "new" / "pipe")


CHANGES: dict[str, tuple[Callable[[Path], object], int]] = {
    "nothing": (lambda folder: None, 0),
    "made": (lambda folder: (folder / "late.txt").write_text("late"), 1),
    "changed": (lambda folder: (folder / "run.sh").write_text("later\n"), 1),
    "changed at once": (rewrite_at_once, 1),
    "removed": (lambda folder: (folder / "src" / "main.py").unlink(), 1),
    "mode": (lambda folder: (folder / "run.sh").chmod(0o600), 1),
    "folder made": (lambda folder: (folder / "a" / "b").mkdir(parents=True), 2),
    "folder removed": (lambda folder: (folder / "empty").rmdir(), 1),
    "other target": (lambda folder: [(folder / "link").unlink(), (folder / "link").symlink_to("run.sh")], 1),
    "kinds": (swap_kinds, 4),
    "led out": (replace_by_a_link_to_outside, 2),
    "pipe": (make_a_pipe_in_a_new_folder, 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_folder_is_again_as_it_was_and_the_changes_are_counted(change: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    before = state(folder)
    kept = keep(folder)
    do, number = CHANGES[change]
    do(folder)

    assert put_back(Tree(folder), kept) == number
    assert state(folder) == before
    if change == "led out":
        assert (tmp_path / "outside" / "main.py").read_text() == "not to be touched"


def test_what_was_left_alone_is_not_touched(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    inode = (folder / "src" / "main.py").stat().st_ino
    kept = keep(folder)
    (folder / "late.txt").write_text("late")

    put_back(Tree(folder), kept)

    assert (folder / "src" / "main.py").stat().st_ino == inode


def test_it_is_given_up_where_it_takes_too_long(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (tmp_path / "kept").mkdir()

    assert keep_tree(Tree(folder), Tree(tmp_path / "kept"), gives_up=lambda: True) is None


NAMES = st.sampled_from(["a", "b", "a/c", "a/d", "b/c", "e"])
DEEDS = st.lists(st.tuples(st.sampled_from(["write", "link", "folder", "remove"]), NAMES, st.sampled_from("xyz")))


def play(folder: Path, deeds: list[tuple[str, str, str]]) -> None:
    for deed, name, text in deeds:
        path = folder / name
        try:
            if deed == "write":
                path.write_text(text)
            elif deed == "link":
                path.symlink_to(text)
            elif deed == "folder":
                path.mkdir()
            elif path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()
        except OSError:
            continue  # it stands in its own way


@settings(max_examples=60)
@given(before=DEEDS, after=DEEDS)
def test_whatever_is_done_to_it_it_is_again_as_it_was(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]]
) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "work"
        folder.mkdir()
        play(folder, before)
        then = state(folder)
        kept = keep(folder)
        play(folder, after)
        differs = state(folder) != then

        discarded = put_back(Tree(folder), kept)

        assert state(folder) == then
        assert discarded or not differs
