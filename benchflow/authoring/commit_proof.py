"""What the tests of a commit say before and after it, run in the sandbox, and the checks that follow from it."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchflow.authoring.from_commit import Draft, FileCheck, write_scenario
from benchflow.authoring.solve import solve, trace_of
from benchflow.contracts import ScorerContext
from benchflow.errors import InputError, TrialError
from benchflow.machine.home import Home
from benchflow.machine.scratch import scratch_folder
from benchflow.sandbox.interface import Sandbox
from benchflow.scenario import Scenario, Solution, load_scenario
from benchflow.scorers.checks import ChecksScorer
from benchflow.workspaces.toolchain import Toolchains
from benchflow.workspaces.workspace import prepare_workspace

_NOTHING = Solution(answer="")


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What came of settling a draft."""

    scenario: Path
    fixed: Sequence[str]
    """Test files that fail before the commit and pass after it: they make the score."""
    guards: Sequence[str]
    """Test files that pass before and after it."""
    dropped: Mapping[str, str]
    """Test files that are no check, and why."""
    problem: str | None
    """Why the scenario measures nothing as it is; None: it does."""


async def settle(draft: Draft, sandbox: Sandbox, home: Home) -> Settled:
    """Run each test file before and after the commit, and write the scenario with those that tell something.

    Raises InputError, and leaves nothing, where the scenario cannot be one: a package without a version, for example.
    """
    path = write_scenario(draft, draft.checks)
    try:
        scenario = load_scenario(path)
    except InputError:
        shutil.rmtree(draft.folder)
        raise
    try:
        before = await _passes(scenario, _NOTHING, sandbox, home)
        after = await _passes(scenario, scenario.solution or _NOTHING, sandbox, home)
    except (TrialError, InputError) as exc:
        return _settled(draft, path, {}, f"its tests could not be run: {exc}")
    fixed = [check.path for check in draft.checks if not before[check.path][0] and after[check.path][0]]
    guards = [check.path for check in draft.checks if before[check.path][0] and after[check.path][0]]
    if not fixed:
        return _settled(draft, path, after, _why_nothing(draft, before, after))
    kept = [FileCheck(path=name, weight=1.0) for name in fixed] + [FileCheck(path=name, weight=0.0) for name in guards]
    dropped = {check.path: _last_line(after[check.path][1]) for check in draft.checks if not after[check.path][0]}
    write_scenario(draft, kept)
    return Settled(scenario=path, fixed=fixed, guards=guards, dropped=dropped, problem=None)


def _settled(draft: Draft, path: Path, after: Mapping[str, tuple[bool, str]], problem: str) -> Settled:
    dropped = {name: _last_line(said) for name, (passed, said) in after.items() if not passed}
    return Settled(scenario=path, fixed=(), guards=(), dropped=dropped, problem=problem)


def _why_nothing(draft: Draft, before: Mapping[str, tuple[bool, str]], after: Mapping[str, tuple[bool, str]]) -> str:
    changed = [check.path for check in draft.checks if check.weight]
    if all(before[path][0] for path in changed):
        return "the commit's tests pass before it already, so that they do not tell whether its work was done"
    failing = next(path for path in changed if not before[path][0])
    said = _last_line(after[failing][1])
    return f"{failing} fails after the commit too ({said}); --package NAME==VERSION adds what the tests import"


async def _passes(scenario: Scenario, solution: Solution, sandbox: Sandbox, home: Home) -> dict[str, tuple[bool, str]]:
    """Say of each test file whether it passes on what a solution leaves, and what it printed."""
    toolchains = Toolchains(home)
    with scratch_folder(home, "commit") as folder:
        workspace = await prepare_workspace(scenario, folder, sandbox, toolchains)
        if solution.steps:
            await solve(solution, workspace, sandbox=sandbox, toolchain=await toolchains.of(scenario.tools))
        context = ScorerContext(agent_output=solution.answer, workspace=workspace, trace=trace_of(scenario, solution))
        result = await ChecksScorer(sandbox, toolchains).evaluate(scenario, context)
    if result.error:
        raise InputError(result.error)
    by_id = {detail.id: detail for detail in result.details}
    return {check.id: (by_id[check.id].passed, by_id[check.id].actual or "") for check in scenario.checks}


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
