"""Brings the files of a trial to an agent that works in a directory of its own, and its results back.

Before each prompt the agent's directory gets what has changed in the workspace; after it, and again when the agent is
dead, the workspace gets what has changed in the agent's directory, deletions too. A link in that directory stands for
the workspace's absolute path, so that `/workspace/a.txt` is found by an agent that takes its directory for `/`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from typing import Self

import anyio.to_thread

from benchflow.errors import TrialError
from benchflow.manifests.bridge import BridgeTable
from benchflow.sandbox.interface import Folders, Inside
from benchflow.workspaces.tree import Mark, Tree


class Side:
    """One of the two trees, and how it was left when the two were last made alike."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.seen: dict[str, Mark] = {}


class Bridge:
    """Between the workspace and the agent's own directory, for one session."""

    def __init__(self, table: BridgeTable, folders: Folders, inside: Inside) -> None:
        self._workspace = Side(Tree(folders.workspace))
        self._own = Side(Tree(folders.home, table.root))
        self._exclude = table.exclude
        self._link = inside.workspace.strip("/")
        self._began = False
        self._sealed = False

    @classmethod
    def open(cls, table: BridgeTable, folders: Folders, inside: Inside) -> Self:
        """Make the agent's directory. This is before the agent starts, so that HOME can be written to as it is."""
        bridge = cls(table, folders, inside)
        ignored = folders.home / ".config" / "git" / "ignore"
        ignored.parent.mkdir(parents=True, exist_ok=True)
        with ignored.open("a", encoding="utf-8") as file:
            file.write(f"/{bridge._link}\n")  # or `git add .` would take the link for a part of the task
        bridge._own.tree.make()
        return bridge

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Bring the files before what is done in here, and the results after it. Raises TrialError."""
        await anyio.to_thread.run_sync(self._bring)
        yield
        await self.collect()

    async def collect(self) -> None:
        """Take the results; nothing where no turn began, or once it was sealed.

        Raises TrialError(`sandbox`) where they cannot be written.
        """
        if self._began and not self._sealed:
            await anyio.to_thread.run_sync(self._carry, self._own, self._workspace)

    async def seal(self) -> None:
        """Take the results for the last time: what the agent does from now on is none. Raises as `collect`."""
        await self.collect()
        self._sealed = True

    def left_behind(self) -> int:
        """Return how many paths the agent has made, changed or removed in its directory since the seal."""
        if not (self._began and self._sealed):
            return 0
        seen, now = self._own.seen, self._own.tree.scan(self._skips)
        gone = sum(path not in now.marks and now.knows(path) for path in seen)
        return gone + sum(seen.get(path) != mark for path, mark in now.marks.items())

    def _bring(self) -> None:
        if self._workspace.tree.mark(self._link) is not None:
            raise TrialError(
                "setup",
                f"the workspace has a {self._link!r} of its own, where [bridge] needs a link that stands for the whole "
                "of it; an agent with a directory of its own cannot do this scenario",
            )
        try:
            self._own.tree.make()
            self._own.tree.link(self._link, "/".join([".."] * self._link.count("/")) or ".")
        except OSError as exc:
            raise _failed(exc) from exc
        if not self._began:
            self._own.seen = self._own.tree.scan(self._skips).marks  # what it has there by itself is no result
            self._began = True
        self._carry(self._workspace, self._own, any_link=True)

    def _carry(self, origin: Side, goal: Side, *, any_link: bool = False) -> None:
        """Let `goal` have what has changed in `origin`; what changed in both is taken from `origin`."""
        now = origin.tree.scan(self._skips)
        gone = [path for path in origin.seen if path not in now.marks and now.knows(path)]
        for path, mark in now.marks.items():
            if origin.seen.get(path) == mark:
                continue
            try:
                copied = origin.tree.copy(path, goal.tree, any_link=any_link)
            except PermissionError:  # the agent has closed a folder: what should go there is its loss
                continue
            except OSError as exc:
                raise _failed(exc) from exc
            if copied is not None:
                goal.seen[path] = copied
            elif mark.kind == "link":
                gone.append(path)
        for path in sorted(gone, reverse=True):
            before = goal.seen.pop(path, None)
            if before is not None and goal.tree.mark(path) == before:
                goal.tree.remove(path)
        origin.seen = now.marks

    def _skips(self, path: str) -> bool:
        """Say whether a path is of the bridge itself, or of the agent alone."""
        return path == self._link or any(
            path == pattern or path.startswith(f"{pattern}/") or fnmatchcase(path, pattern) for pattern in self._exclude
        )


def _failed(exc: OSError) -> TrialError:
    return TrialError("sandbox", f"[bridge]: {exc.filename or 'a file'} cannot be brought over: {exc.strerror or exc}")
