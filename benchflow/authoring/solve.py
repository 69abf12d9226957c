"""Carries out a scenario's solution without any agent, as an agent's tools would: each step in a shell of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.contracts import (
    SessionTrace,
    ToolCallBreakdown,
    ToolCallRecord,
    TraceSummary,
    Turn,
)
from benchflow.sandbox.interface import Sandbox
from benchflow.scenario import RunStep, Scenario, Solution
from benchflow.workspaces.commands import fresh_folders, run_command
from benchflow.workspaces.toolchain import Toolchain
from benchflow.workspaces.workspace import Workspace

STEP_TIMEOUT_S = 120.0


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """How one step of a solution ended."""

    step: str
    """The command, or the file that was written."""
    exit_code: int | None
    """None: it was not done in time."""
    output: str


async def solve(
    solution: Solution, workspace: Workspace, *, sandbox: Sandbox, toolchain: Toolchain
) -> Sequence[StepResult]:
    """Do the steps in order up to the first that fails, which is then the last of the results.

    Raises TrialError(`sandbox` or `launch`) if a step could not be run at all.
    """
    results: list[StepResult] = []
    with fresh_folders(workspace.path, workspace.path.parent) as folders:
        for step in solution.steps:
            if not isinstance(step, RunStep):
                workspace.write_text(step.write, step.content)
                results.append(StepResult(step=f"write {step.write}", exit_code=0, output=""))
                continue
            done = await run_command(
                step.run, sandbox=sandbox, folders=folders, toolchain=toolchain, timeout_s=STEP_TIMEOUT_S
            )
            results.append(StepResult(step=step.run, exit_code=done.exit_code, output=done.tail()))
            if done.exit_code != 0:
                break
    return results


def trace_of(scenario: Scenario, solution: Solution) -> SessionTrace:
    """Return the trace that an agent with a shell and a file tool would leave, for checks that look at tools."""
    calls = tuple(
        ToolCallRecord(
            id=str(number),
            name="shell" if isinstance(step, RunStep) else "write_file",
            kind="execute" if isinstance(step, RunStep) else "edit",
            status="completed",
            ms=None,
        )
        for number, step in enumerate(solution.steps)
    )
    turn = Turn(
        index=0,
        exchange="",
        started_ms=0.0,
        duration_ms=0.0,
        text=solution.answer,
        thought="",
        tool_calls=calls,
        tokens=None,
    )
    return SessionTrace(
        session_id=scenario.id,
        events=(),
        turns=(turn,),
        tool_calls=ToolCallBreakdown(total=len(calls), records=calls),
        summary=TraceSummary(total_turns=1, total_tool_calls=len(calls), total_tokens=None, total_duration_ms=0.0),
    )
