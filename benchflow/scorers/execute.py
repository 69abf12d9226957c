"""Judges `command` checks: bash lines that run on a copy of the workspace, with hidden files that the agent never saw.

The environment trusts nothing of the workspace: no configuration, start-up file, cached bytecode or program of it is
taken before ours.
"""

import json
import shutil
from pathlib import Path

import anyio.to_thread

from benchflow.checks import Command, Reward
from benchflow.sandbox.interface import Bind, Folders, Sandbox
from benchflow.scorers.inspect import ACTUAL_KEPT, Finding
from benchflow.workspaces.commands import CommandResult, fresh_folders, run_command
from benchflow.workspaces.snapshot import open_regular
from benchflow.workspaces.toolchain import Toolchain
from benchflow.workspaces.workspace import Workspace

HARNESS = Path(__file__).parent / "harness"
"""Python modules that commands of checks can import."""

_REWARD = "reward"
_LONGEST_REWARD = 1 << 20
_GIT_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "protocol.ext.allow": "never",
    "safe.directory": "*",
}


async def execute(
    check: Command | Reward,
    workspace: Workspace,
    *,
    checks_folder: Path | None,
    sandbox: Sandbox,
    toolchain: Toolchain,
) -> Finding:
    """Run the command and judge how it ended. Raises TrialError where it could not be run at all."""
    with fresh_folders(workspace.path, workspace.path.parent) as scratch:
        place = scratch.tmp.parent
        folders = Folders(workspace=place / "workspace", home=scratch.home, tmp=scratch.tmp)
        await anyio.to_thread.run_sync(_lay_out, workspace, folders, checks_folder)
        result = await run_command(
            check.run,
            sandbox=sandbox,
            folders=folders,
            toolchain=toolchain,
            timeout_s=check.timeout_s,
            env={**_environment(place / "checks"), **_reward_place(check, sandbox, scratch)},
            binds=(Bind(source=place / "checks"), Bind(source=HARNESS)),
        )
        if isinstance(check, Reward):
            return _graded(result, scratch.tmp / _REWARD)
    return _judge(check, result)


def _reward_place(check: Command | Reward, sandbox: Sandbox, scratch: Folders) -> dict[str, str]:
    if isinstance(check, Command):
        return {}
    return {"BENCHFLOW_REWARD": f"{sandbox.inside(scratch).tmp}/{_REWARD}"}


def _lay_out(workspace: Workspace, folders: Folders, checks_folder: Path | None) -> None:
    """Copy the workspace and the hidden checks: what one command does to them, no other sees."""
    workspace.copy_to(folders.workspace)
    checks = folders.workspace.parent / "checks"
    if checks_folder is None:
        checks.mkdir()
    else:
        shutil.copytree(checks_folder, checks, ignore=shutil.ignore_patterns("__pycache__"))


def _environment(checks: Path) -> dict[str, str]:
    git = {"GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS))}
    for number, (key, value) in enumerate(_GIT_SETTINGS.items()):
        git |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {
        "BENCHFLOW_CHECKS": str(checks),
        "PYTHONPATH": str(HARNESS),
        "PYTHONSAFEPATH": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": "/dev/null",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        **git,
    }


def _graded(result: CommandResult, path: Path) -> Finding:
    """Read the reward that a check wrote. What is none leaves the trial unscored: its verifier is broken."""
    said = result.tail(ACTUAL_KEPT - 80)
    if result.exit_code is None:
        return Finding(passed=False, actual=said, error="the verifier was not done in time")
    descriptor = open_regular(str(path))
    if descriptor is None:
        return Finding(passed=False, actual=said, error=f"the verifier wrote no reward (exit code {result.exit_code})")
    with open(descriptor, "rb") as stream:
        reward = _read_reward(stream.read(_LONGEST_REWARD))
    if isinstance(reward, str):
        return Finding(passed=False, actual=said, error=reward)
    return Finding(passed=reward == 1, grade=reward, actual=f"reward {reward:g}\n{said}".strip(), expected="reward 1")


def _read_reward(content: bytes) -> float | str:
    """Return the reward, or why it is none."""
    try:
        value = json.loads(content)
    except ValueError:
        value = None
    if isinstance(value, dict):
        value = value.get("reward", next(iter(value.values())) if len(value) == 1 else None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return f"the verifier's reward is no number in [0, 1]: {content[:200].decode('utf-8', 'replace').strip()!r}"
    return float(value)


def _judge(check: Command, result: CommandResult) -> Finding:
    expected = f"exit code {check.exit_code}" + ("" if check.prints is None else f" and {check.prints!r} printed")
    ended = f"not done after {check.timeout_s:g} s" if result.exit_code is None else f"exit code {result.exit_code}"
    passed = result.exit_code == check.exit_code and (check.prints is None or check.prints in result.output)
    return Finding(passed=passed, actual=f"{ended}\n{result.tail(ACTUAL_KEPT - 80)}".strip(), expected=expected)
