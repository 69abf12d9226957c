"""Makes the workspace that a trial left behind once more: from the files that were kept of it, or from its diff.

What cannot be made again for sure is refused: a score of something else would be worse than none.
"""

import re
from pathlib import Path

import anyio.to_thread

from benchflow.errors import BenchFlowError, TrialError
from benchflow.redact import mark
from benchflow.sandbox.interface import Bind, Sandbox
from benchflow.workspaces.commands import fresh_folders, run_command
from benchflow.workspaces.snapshot import copy_tree, remove_tree
from benchflow.workspaces.toolchain import Toolchain
from benchflow.workspaces.workspace import Workspace

APPLY_S = 60.0
"""How long it may take to apply a diff."""
_NOT_SHOWN = re.compile(r"^# \d+ more (changed|new) files are not shown$", re.MULTILINE)
_BINARY = re.compile(r"^Binary files .* differ", re.MULTILINE)
_REPOSITORY = re.compile(r'^diff --git "?a/(?:.*/)?\.git/', re.MULTILINE)
_MARK = mark("").decode().partition("]")[0]


class CannotRebuild(BenchFlowError):
    """The workspace is not to be had again. The message says why."""


async def rebuild_from_files(fresh: Workspace, kept: Path) -> Workspace:
    """Put the files that were kept into a fresh workspace, in the place of its own."""
    await anyio.to_thread.run_sync(_replace, fresh.path, kept)
    return fresh


def _replace(path: Path, kept: Path) -> None:
    remove_tree(path)
    copy_tree(kept, path)


async def rebuild_from_diff(fresh: Workspace, diff: str, *, sandbox: Sandbox, toolchain: Toolchain) -> Workspace:
    """Apply a diff to a fresh workspace, and make sure that it then differs from the start in just that.

    Raises CannotRebuild.
    """
    if reason := why_unsound(diff):
        raise CannotRebuild(reason)
    if diff:
        await _apply(fresh, diff, sandbox, toolchain)
    if await anyio.to_thread.run_sync(fresh.diff) != diff:
        raise CannotRebuild("its diff does not lead from a fresh workspace to the one that it was made of")
    return fresh


def why_unsound(diff: str) -> str | None:
    """Say why a diff does not tell everything that changed; None: it does, as far as a diff can."""
    if found := _NOT_SHOWN.search(diff):
        return f"its diff is not whole ({found[0].removeprefix('# ')})"
    if _BINARY.search(diff):
        return "its diff has binary files"
    if _REPOSITORY.search(diff):
        return "the agent changed the state of a git repository, which no diff can tell"
    if _MARK in diff:
        return "a secret was taken out of its diff"
    return None


async def _apply(fresh: Workspace, diff: str, sandbox: Sandbox, toolchain: Toolchain) -> None:
    with fresh_folders(fresh.path, fresh.path.parent) as folders:
        patch = folders.home.parent / "changes.diff"
        patch.write_bytes(diff.encode("utf-8", "surrogateescape"))
        try:
            result = await run_command(
                'git -c core.autocrlf=false apply --whitespace=nowarn "$BENCHFLOW_DIFF"',
                sandbox=sandbox,
                folders=folders,
                toolchain=toolchain,
                timeout_s=APPLY_S,
                env={"BENCHFLOW_DIFF": str(patch), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"},
                binds=(Bind(source=patch),),
            )
        except TrialError as exc:
            raise CannotRebuild(f"its diff could not be applied: {exc}") from exc
    if result.exit_code != 0:
        raise CannotRebuild(f"its diff does not apply to a fresh workspace: {result.tail(300)}")
