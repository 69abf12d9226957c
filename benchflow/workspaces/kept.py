"""A folder as it was at one moment, kept beside it while somebody may go on changing it, and put back later.

What is put back are the contents of that moment, whatever was done to the folder since: what was made is removed, what
was changed or removed is there again, and what was left alone is not touched.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from benchflow.workspaces.tree import Mark, Tree

_STILL_TRIES = 3
"""How often a file is copied that is written to meanwhile."""
_FRESH_NS = 2_000_000_000
"""A file that was changed within this time before it was copied can be changed again under the same time: file systems
tell times apart that coarsely. Of those the contents are compared.
"""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What was in a tree, with a copy of it."""

    copy: Tree
    marks: dict[str, Mark]
    """Of the tree's own entries, when they were copied; folders before what is in them."""
    began_ns: int
    """When it was begun to copy."""


def keep_tree(origin: Tree, copy: Tree, *, gives_up: Callable[[], bool] = lambda: False) -> Kept | None:
    """Copy what is in a tree. None: it took too long, as `gives_up` says. Raises OSError where it cannot be written.

    Each file is as it was at some moment between the call and its return. Folders that cannot be looked into are empty.
    """
    began_ns = time.time_ns()
    copy.make()
    marks: dict[str, Mark] = {}
    for path in origin.scan().marks:
        if gives_up():
            return None
        if mark := _copy_still(origin, copy, path):
            marks[path] = mark
    return Kept(copy=copy, marks=marks, began_ns=began_ns)


def put_back(origin: Tree, kept: Kept) -> int:
    """Let the tree have what was kept of it; return how many paths in it were made, changed or removed since.

    Nobody may be changing it any more. A folder that was closed since stays so. Raises OSError.
    """
    now = origin.scan().marks
    made = [path for path in now if path not in kept.marks]
    changed = [
        path for path, mark in kept.marks.items() if now.get(path) != mark or _changed_at_once(origin, kept, path)
    ]
    for path in reversed(made):
        origin.remove(path, whole=True)
    for path in changed:
        try:
            kept.copy.copy(path, origin, any_link=True)
        except PermissionError:
            continue
    return len(made) + len(changed)


def _copy_still(origin: Tree, copy: Tree, path: str) -> Mark | None:
    """Copy an entry, and return its mark. None: it is not there any more."""
    before = None
    for _ in range(_STILL_TRIES):
        before = origin.mark(path)
        if before is None or origin.copy(path, copy, any_link=True) is None:
            return None
        if origin.mark(path) == before:
            break
    return before


def _changed_at_once(origin: Tree, kept: Kept, path: str) -> bool:
    """Say whether a file with the same mark has another content, having been changed right after it was copied."""
    mark = kept.marks[path]
    fresh = mark.kind == "file" and mark.changed_ns > kept.began_ns - _FRESH_NS
    return fresh and not origin.same_content(path, kept.copy)
