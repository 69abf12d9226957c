"""Proves that a scenario measures something: its solution passes, doing nothing does not, and repetitions agree."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from benchflow.authoring.solve import solve, trace_of
from benchflow.contracts import ScorerContext, ScorerResult
from benchflow.errors import InputError, TrialError
from benchflow.machine.home import Home
from benchflow.machine.scratch import scratch_folder
from benchflow.sandbox.interface import Sandbox
from benchflow.scenario import Scenario, Solution
from benchflow.scorers.checks import ChecksScorer
from benchflow.workspaces.snapshot import remove_tree
from benchflow.workspaces.toolchain import Toolchains
from benchflow.workspaces.workspace import prepare_workspace

NOTHING_SCORE = 0.5
"""The most that doing nothing may score."""

_NOTHING = Solution(answer="")


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What proving a scenario showed."""

    scenario: str
    passed: bool
    steps: int
    """Of the solution."""
    repetitions: int
    solved: float | None
    """The score of the solution; None: unscored."""
    nothing: float | None
    """The score of doing nothing."""
    reasons: tuple[str, ...]
    """Why it did not pass."""


async def prove_all(
    scenarios: Sequence[Scenario],
    *,
    sandbox: Sandbox,
    home: Home,
    repetitions: int,
    concurrency: int,
    on_proof: Callable[[Proof], None],
) -> list[Proof]:
    """Prove scenarios, `concurrency` at a time; return the proofs in their order. `on_proof` sees each at once."""
    proofs: dict[str, Proof] = {}
    toolchains = Toolchains(home)
    slots = anyio.CapacityLimiter(concurrency)

    async def one(scenario: Scenario, scratch: Path) -> None:
        async with slots:
            proof = await prove(
                scenario, sandbox=sandbox, toolchains=toolchains, scratch=scratch, repetitions=repetitions
            )
        proofs[scenario.id] = proof
        on_proof(proof)

    with scratch_folder(home, "check") as scratch:
        async with anyio.create_task_group() as tasks:
            for scenario in scenarios:
                tasks.start_soon(one, scenario, scratch)
    return [proofs[scenario.id] for scenario in scenarios]


async def prove(
    scenario: Scenario, *, sandbox: Sandbox, toolchains: Toolchains, scratch: Path, repetitions: int = 10
) -> Proof:
    """Carry out the solution, and nothing, and compare. `scratch` is where workspaces are made, and removed again."""
    solution = scenario.solution
    if solution is None:
        return _unproven(scenario, "it has no solution; add [[solution.steps]] or solution.answer")
    attempts = _Attempts(scenario, sandbox, toolchains, scratch)
    broken: list[str] = []
    try:
        solved = [await attempts.score(solution, broken) for _ in range(repetitions)]
        nothing = await attempts.score(_NOTHING, [])
    except (TrialError, InputError) as exc:
        return _unproven(scenario, *broken, str(exc))
    reasons = tuple(dict.fromkeys([*broken, *_solution_reasons(solved), *_nothing_reasons(nothing)]))
    return Proof(
        scenario=scenario.id,
        passed=not reasons,
        steps=len(solution.steps),
        repetitions=repetitions,
        solved=solved[0].score,
        nothing=nothing.score,
        reasons=reasons,
    )


def _unproven(scenario: Scenario, *reasons: str) -> Proof:
    steps = len(scenario.solution.steps) if scenario.solution else 0
    return Proof(
        scenario=scenario.id, passed=False, steps=steps, repetitions=0, solved=None, nothing=None, reasons=reasons
    )


class _Attempts:
    """Makes a workspace, solves and scores, as often as asked."""

    def __init__(self, scenario: Scenario, sandbox: Sandbox, toolchains: Toolchains, scratch: Path) -> None:
        self._scenario = scenario
        self._sandbox = sandbox
        self._toolchains = toolchains
        self._scratch = scratch
        self._scorer = ChecksScorer(sandbox, toolchains)

    async def score(self, solution: Solution, reasons: list[str]) -> ScorerResult:
        """Return the verdict on what the solution leaves; a step that fails is added to `reasons`."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{self._scenario.id}-", dir=self._scratch))
        try:
            workspace = await prepare_workspace(self._scenario, folder, self._sandbox, self._toolchains)
            if solution.steps:
                toolchain = await self._toolchains.of(self._scenario.tools)
                results = await solve(solution, workspace, sandbox=self._sandbox, toolchain=toolchain)
                if results[-1].exit_code != 0:
                    last = results[-1]
                    ended = "was not done in time" if last.exit_code is None else f"ended with {last.exit_code}"
                    reasons.append(f"step {len(results)} of the solution {ended}: {last.step}\n{last.output[-1_000:]}")
            context = ScorerContext(
                agent_output=solution.answer, workspace=workspace, trace=trace_of(self._scenario, solution)
            )
            return await self._scorer.evaluate(self._scenario, context)
        finally:
            remove_tree(folder)


def _solution_reasons(solved: list[ScorerResult]) -> list[str]:
    """Say in which repetitions, and in which checks, the solution failed."""
    if solved and not any(result.success for result in solved):
        return [f"the solution fails {line}" for line in _failures(solved[0])]
    failed = [number for number, result in enumerate(solved, start=1) if not result.success]
    if not failed:
        return []
    lines = _failures(solved[failed[0] - 1])
    return [f"the repetitions disagree: {len(failed)} of {len(solved)} fail {line}" for line in lines]


def _nothing_reasons(nothing: ScorerResult) -> list[str]:
    if nothing.error:
        return [f"doing nothing cannot be judged: {nothing.error}"]
    if nothing.success:
        return ["doing nothing succeeds; check what only the work can bring about"]
    if (nothing.score or 0) > NOTHING_SCORE:
        return [f"doing nothing scores {nothing.score:.2f}, more than {NOTHING_SCORE}; give such checks less weight"]
    return []


def _failures(result: ScorerResult) -> list[str]:
    if result.error:
        return [f"to be judged: {result.error}"]
    return [
        f"{detail.id} ({detail.description}): {(detail.actual or '').strip()[-600:]}"
        for detail in result.details
        if not detail.passed
    ]
