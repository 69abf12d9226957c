"""What is graded of a trial that a budget ended: the workspace as it was at that moment, and nothing done later."""

import time
from pathlib import Path
from typing import Any

import anyio.to_thread

from benchflow.errors import TrialError
from benchflow.hosting.bridge import Bridge
from benchflow.workspaces.kept import Kept, keep_tree, put_back
from benchflow.workspaces.snapshot import remove_tree
from benchflow.workspaces.tree import Tree

KEEP_S = 30.0
"""How long it may take to copy a workspace. One that is larger is graded as it is when the agent is dead."""


class Cutoff:
    """Keeps a trial's workspace while its agent is being ended, and has it stand again when the agent is dead."""

    def __init__(self, workspace: Path, *, keep_s: float = KEEP_S) -> None:
        self.bridge: Bridge | None = None
        """Between the workspace and an agent's own directory; None: it works in the workspace."""
        self._origin = Tree(workspace)
        self._place = workspace.parent / "kept"
        self._keep_s = keep_s
        self._kept: Kept | None = None
        self._why_not: str | None = None
        self._made = False
        self._discarded: int | None = None

    async def make(self) -> None:
        """Keep what is there now. Where that cannot be done, the row will say so."""
        self._made = True
        try:
            if self.bridge is not None:
                await self.bridge.seal()
            await anyio.to_thread.run_sync(self._keep)
        except (OSError, TrialError) as exc:
            self._why_not = f"the workspace could not be kept: {exc}"

    async def put_back(self) -> None:
        """Have what was kept stand in the workspace; nothing where nothing was. The agent must be dead.

        Raises TrialError(`sandbox`) where it cannot be written.
        """
        kept, self._kept = self._kept, None
        if kept is None:
            return
        try:
            self._discarded = await anyio.to_thread.run_sync(self._put_back, kept)
        except OSError as exc:
            raise TrialError("sandbox", f"the workspace cannot be put back as it was at the limit: {exc}") from exc

    def facts(self) -> dict[str, Any]:
        """Return what a row says of it; nothing where no budget ended the trial."""
        if not self._made:
            return {}
        return {"discarded": self._discarded} if self._why_not is None else {"discarded": None, "kept": self._why_not}

    def _keep(self) -> None:
        until = time.monotonic() + self._keep_s
        self._place.mkdir()
        self._kept = keep_tree(self._origin, Tree(self._place), gives_up=lambda: time.monotonic() > until)
        if self._kept is None:
            self._why_not = f"the workspace was too large to keep in {self._keep_s:g} s"

    def _put_back(self, kept: Kept) -> int:
        discarded = put_back(self._origin, kept)
        remove_tree(self._place)
        return discarded + (self.bridge.left_behind() if self.bridge else 0)
