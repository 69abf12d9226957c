"""The scorer of a scenario's own checks."""

from collections.abc import Mapping
from typing import Any

import anyio.to_thread

from benchflow.checks import Check, Command, Reward, RubricCheck, Unchanged
from benchflow.contracts import ScorerCheckResult, ScorerContext, ScorerResult
from benchflow.errors import InputError, TrialError
from benchflow.sandbox.interface import Sandbox
from benchflow.scenario import Scenario
from benchflow.scorers.execute import execute
from benchflow.scorers.inspect import Finding, as_result, inspect
from benchflow.workspaces.toolchain import Toolchains


class ChecksScorer:
    """Judges every check but those of a rubric: first those that only look, then the commands, each in a sandbox of its
    own.

    The agent and all that it started must be dead. A check that cannot be judged leaves the trial unscored.
    """

    id = "checks"

    def __init__(self, sandbox: Sandbox, toolchains: Toolchains) -> None:
        self._sandbox = sandbox
        self._toolchains = toolchains

    async def evaluate(self, scenario: Scenario, context: ScorerContext) -> ScorerResult:
        """Return the verdict: success if all checks passed, and the share of their weight as the score."""
        checks = [check for check in scenario.checks if not isinstance(check, RubricCheck)]
        found: dict[str, ScorerCheckResult] = {}
        for check in sorted(checks, key=lambda check: isinstance(check, Command | Reward)):
            finding = await self._judge(check, scenario, context)
            found[check.id] = as_result(check, finding)
            if finding.error:
                break
        details = tuple(found[check.id] for check in checks if check.id in found)
        return verdict(details, total=len(checks), output_valid=bool(context.agent_output.strip()))

    async def _judge(self, check: Check, scenario: Scenario, context: ScorerContext) -> Finding:
        if isinstance(check, Command | Reward):
            return await self._execute(check, scenario, context)
        if isinstance(check, Unchanged):  # reads the whole workspace
            finding = await anyio.to_thread.run_sync(inspect, check, context, scenario.checks_folder)
        else:
            finding = inspect(check, context, scenario.checks_folder)
        assert finding is not None, f"nothing judges checks of kind {check.kind}"
        return finding

    async def _execute(self, check: Command | Reward, scenario: Scenario, context: ScorerContext) -> Finding:
        try:
            return await execute(
                check,
                context.workspace,
                checks_folder=scenario.checks_folder,
                sandbox=self._sandbox,
                toolchain=await self._toolchains.of(scenario.tools),
            )
        except (TrialError, InputError, OSError) as exc:
            return Finding(passed=False, error=f"the check could not be run: {exc}")


def verdict(
    details: tuple[ScorerCheckResult, ...],
    *,
    total: int,
    output_valid: bool,
    extensions: Mapping[str, Any] | None = None,
) -> ScorerResult:
    """Sum up the checks' results. One that could not be judged leaves all unscored; so does it where there is none.

    A check earns its weight if it passed, or, where it is graded, that share of it.
    """
    passed = sum(detail.passed for detail in details)
    errors = [f"{detail.id}: {detail.error}" for detail in details if detail.error]
    if not total:
        errors = ["there is nothing to judge: every check of the scenario is one of its rubric"]
    if errors:
        return ScorerResult(
            success=None,
            passed=passed,
            total=total,
            details=details,
            output_valid=output_valid,
            error="; ".join(errors),
            extensions=extensions or {},
        )
    weight = sum(detail.weight for detail in details)
    earned = sum(detail.weight * (detail.passed if detail.grade is None else detail.grade) for detail in details)
    return ScorerResult(
        success=passed == total,
        passed=passed,
        total=total,
        details=details,
        output_valid=output_valid,
        score=round(earned / weight, 6) if weight else 0.0,
        extensions=extensions or {},
    )
