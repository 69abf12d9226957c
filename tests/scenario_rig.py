"""For tests of scenarios: writes one, makes its workspace, and scores what is done there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.contracts import ScorerContext, ScorerResult, SessionTrace
from benchflow.errors import TrialError
from benchflow.machine.home import Home
from benchflow.sandbox.interface import LaunchSpec, Sandbox, SandboxedProcess
from benchflow.sandbox.process import ProcessSandbox
from benchflow.scenario import Scenario, load_scenario
from benchflow.scorers.checks import ChecksScorer
from benchflow.workspaces.commands import CommandResult, fresh_folders, run_command
from benchflow.workspaces.toolchain import Toolchains
from benchflow.workspaces.workspace import Workspace, prepare_workspace

HEAD = 'schema_version = 1\nid = "sample"\nname = "Sample"\nprompt = "Do it."\n'
ONE_CHECK = '[[checks]]\nkind = "file_exists"\npath = "done.txt"\n'


def write_scenario(folder: Path, text: str, files: Mapping[str, str] | None = None) -> Path:
    """Write `scenario.toml`, with `text` after the head, and other files of its folder; return the folder."""
    for name, content in {"scenario.toml": HEAD + text, **(files or {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def check(kind: str, **keys: Any) -> str:
    """Return a check as TOML."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"kind": kind, **keys}.items()]
    return "\n".join(["[[checks]]", *lines, ""])


class BrokenSandbox(ProcessSandbox):
    """A sandbox that starts nothing."""

    async def start(self, spec: LaunchSpec) -> SandboxedProcess:
        raise TrialError("sandbox", "it is broken")


@dataclass(frozen=True)
class Rig:
    """A scenario with its workspace."""

    scenario: Scenario
    workspace: Workspace
    sandbox: Sandbox
    toolchains: Toolchains

    async def run(self, line: str) -> CommandResult:
        """Run a bash line in the workspace, as an agent would."""
        with fresh_folders(self.workspace.path, self.workspace.path.parent) as folders:
            return await run_command(
                line,
                sandbox=self.sandbox,
                folders=folders,
                toolchain=await self.toolchains.of(self.scenario.tools),
                timeout_s=30,
            )

    async def score(self, output: str = "", trace: SessionTrace | None = None) -> ScorerResult:
        """Return the verdict on the workspace as it is."""
        context = ScorerContext(agent_output=output, workspace=self.workspace, trace=trace)
        return await ChecksScorer(self.sandbox, self.toolchains).evaluate(self.scenario, context)


async def make_rig(
    tmp_path: Path, sandbox: Sandbox, text: str, files: Mapping[str, str] | None = None, *, home: Home | None = None
) -> Rig:
    """Write a scenario and prepare its workspace."""
    scenario = load_scenario(write_scenario(tmp_path / "scenario", text, files))
    toolchains = Toolchains(home or Home(tmp_path / "home"))
    workspace = await prepare_workspace(scenario, tmp_path / "trial", sandbox, toolchains)
    return Rig(scenario, workspace, sandbox, toolchains)
