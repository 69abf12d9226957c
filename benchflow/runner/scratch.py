"""The scratch folders of a run, outside of any repository: workspaces, homes and temporary files of its tries."""

import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from benchflow.machine.liveness import claim
from benchflow.runner.plan import Trial
from benchflow.sandbox.interface import Sandbox
from benchflow.workspaces.snapshot import remove_tree
from benchflow.workspaces.toolchain import Toolchains
from benchflow.workspaces.workspace import Workspace, prepare_workspace


class Scratch:
    """Makes and removes workspaces below one folder of the run; what is left of it goes with the run.

    The folder is claimed by this process, so that `benchflow gc` leaves a live run alone.
    """

    def __init__(self, root: Path, sandbox: Sandbox, toolchains: Toolchains) -> None:
        self._root = root
        self._sandbox = sandbox
        self._toolchains = toolchains

    def __enter__(self) -> Self:
        remove_tree(self._root)  # of a part of this run that was killed
        self._root.mkdir(parents=True)
        claim(self._root)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        remove_tree(self._root)

    async def make(self, trial: Trial, attempt: int) -> Workspace:
        """Return a fresh workspace as the scenario describes it."""
        folder = self._root / trial.key / f"try-{attempt}"
        return await prepare_workspace(trial.cell.scenario, folder, self._sandbox, self._toolchains)

    def release(self, workspace: Workspace, keep_in: Path | None) -> None:
        """Remove the try's whole scratch folder; its workspace is moved to `keep_in` first, if that is given."""
        if keep_in is not None:
            shutil.move(workspace.path, keep_in)
        remove_tree(workspace.path.parent)
        with suppress(OSError):
            workspace.path.parent.parent.rmdir()  # unless another try of the trial is in it
