"""The folder that an agent works in: made as the scenario says, read safely, and compared with what it was."""

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import anyio.to_thread

from benchflow.errors import TrialError
from benchflow.sandbox.interface import Sandbox
from benchflow.scenario import Scenario, files_below
from benchflow.workspaces.commands import fresh_folders, run_command
from benchflow.workspaces.diff import write_diff
from benchflow.workspaces.snapshot import Snapshot, copy_tree, open_regular, take_snapshot
from benchflow.workspaces.toolchain import Toolchain, Toolchains

MAX_READ = 16 * 1024 * 1024
"""Bytes of a file that a check reads; a larger one cannot be judged by its text."""
MAX_NEW = 2_000
"""New files that a diff reads: an agent may have installed a whole world."""


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A workspace on the host. Its methods never follow a link out of it, and never block on what is no file."""

    path: Path
    pristine: Snapshot
    """What was there before the agent started."""

    def read_bytes(self, path: str, limit: int = MAX_READ) -> bytes | None:
        """Return a file's content. None: no such regular file is inside the workspace, or it is above the limit."""
        real = self._locate(path)
        descriptor = open_regular(real) if real else None
        if descriptor is None:
            return None
        with open(descriptor, "rb") as stream:
            content = stream.read(limit + 1)
        return content if len(content) <= limit else None

    def read_text(self, path: str) -> str | None:
        """Return a file's text, with what is no UTF-8 replaced. None: as `read_bytes`."""
        content = self.read_bytes(path)
        return None if content is None else content.decode("utf-8", "replace")

    def is_file(self, path: str) -> bool:
        """Tell whether a regular file is there, inside the workspace."""
        real = self._locate(path)
        return real is not None and os.path.isfile(real)

    def write_text(self, path: str, text: str) -> None:
        """Write a file whole, with its folders. Raises TrialError(`setup`) where a link leads out of the workspace."""
        target = self.path / path
        if self._locate(path) is None:
            raise TrialError("setup", f"{path}: leads out of the workspace")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def changed(self, patterns: tuple[str, ...]) -> list[str]:
        """Return the paths that match a pattern and are not as they were: changed, added or removed.

        A pattern is a file, a folder (all that is below it), or has `*`.
        """

        def wanted(path: str) -> bool:
            return any(_matches(path, pattern) for pattern in patterns)

        now = take_snapshot(self.path, wanted)
        return [
            path
            for path in sorted({*filter(wanted, self.pristine), *now})
            if (old := self.pristine.get(path)) is None or (new := now.get(path)) is None or not old.same_as(new)
        ]

    def covers(self, pattern: str) -> bool:
        """Tell whether a pattern names anything that was there at the start."""
        return any(_matches(path, pattern) for path in self.pristine)

    def diff(self) -> str:
        """Return what changed since the start as a unified diff; empty if nothing did."""
        new = 0

        def wanted(path: str) -> bool:
            nonlocal new
            new += path not in self.pristine
            return path in self.pristine or new <= MAX_NEW

        text = write_diff(self.pristine, take_snapshot(self.path, wanted))
        return text if new <= MAX_NEW else f"{text}# {new - MAX_NEW} more new files are not shown\n"

    def copy_to(self, target: Path) -> None:
        """Copy the workspace, but for links out of it and what is neither file nor folder."""
        copy_tree(self.path, target)

    def _locate(self, path: str) -> str | None:
        """Return the real path. None: it lies outside of the workspace."""
        root = os.path.realpath(self.path)
        real = os.path.realpath(os.path.join(root, path))
        return real if real.startswith(f"{root}{os.sep}") else None


async def prepare_workspace(scenario: Scenario, folder: Path, sandbox: Sandbox, toolchains: Toolchains) -> Workspace:
    """Make `<folder>/workspace` as the scenario describes it, and remember what is in it.

    Raises InputError for a link out of the scenario and for a tool that cannot be had, TrialError(`setup`) where its
    setup fails, TrialError(`sandbox`) where it cannot be run.
    """
    path = folder / "workspace"
    path.mkdir(parents=True)
    described = scenario.workspace
    if scenario.workspace_folder is None and not described.files and not described.setup:
        return Workspace(path=path, pristine={})
    await anyio.to_thread.run_sync(_fill, scenario, path)
    if described.setup:
        await _set_up(scenario, path, sandbox, await toolchains.of(scenario.tools))
    return Workspace(path=path, pristine=await anyio.to_thread.run_sync(take_snapshot, path))


def _fill(scenario: Scenario, path: Path) -> None:
    origin = scenario.workspace_folder
    if origin is not None:
        for _ in files_below(origin):
            pass  # refuses links that lead out of the scenario
        copy_tree(origin, path)
    for name, text in scenario.workspace.files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")


async def _set_up(scenario: Scenario, path: Path, sandbox: Sandbox, toolchain: Toolchain) -> None:
    with fresh_folders(path, path.parent) as folders:
        result = await run_command(
            f"set -e\n{scenario.workspace.setup}",
            sandbox=sandbox,
            folders=folders,
            toolchain=toolchain,
            timeout_s=scenario.workspace.setup_timeout_s,
        )
    if result.exit_code != 0:
        how = "was not done in time" if result.exit_code is None else f"ended with exit code {result.exit_code}"
        raise TrialError("setup", f"{scenario.source}: the workspace's setup {how}: {result.tail(1_000)}")


def _matches(path: str, pattern: str) -> bool:
    return path == pattern or path.startswith(f"{pattern}/") or fnmatchcase(path, pattern)
