"""A provider that has no agent, no ACP and no gateway, and a run's other parts, all by the contracts alone."""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchflow.clock import Clock
from benchflow.contracts import (
    CostBreakdown,
    CreateSessionParams,
    Fault,
    PromptMetrics,
    PromptResult,
    ProviderConfig,
    ScorerCheckResult,
    ScorerContext,
    ScorerResult,
    SessionFacts,
    SessionHandle,
    SessionTrace,
    TimingBreakdown,
    TokenBreakdown,
    ToolCallBreakdown,
    TraceSummary,
)
from benchflow.errors import TrialError
from benchflow.mode import BASELINE, Mode
from benchflow.redact import Redactor
from benchflow.runner.folder import RunFolder
from benchflow.runner.plan import Cell, NamedSubject, Trial
from benchflow.runner.profile import ProfileRunner
from benchflow.runner.stage import Stage
from benchflow.scenario import Scenario, load_scenario
from benchflow.workspaces.workspace import Workspace


class OwnProvider:
    """Does what it is prompted to by itself: it writes `done.txt`."""

    id = "own"
    capabilities: frozenset[str] = frozenset()

    def __init__(self, failure: TrialError | None = None, fault: Fault | None = None) -> None:
        self.failure = failure
        """What the start of each session fails with."""
        self.fault = fault
        self.said: list[str] = []
        self._sessions: dict[str, CreateSessionParams] = {}

    async def init(self, config: ProviderConfig) -> None:
        self.said.append(f"init {config.mode}")

    async def create_session(self, params: CreateSessionParams) -> SessionHandle:
        if self.failure:
            raise self.failure
        self.said.append(f"create {params.scenario_id} {params.iteration}")
        self._sessions[params.trial] = params
        return SessionHandle(session_id="own-1", provider=self.id, created_at="", trial=params.trial)

    async def prompt(self, handle: SessionHandle, text: str, timeout_s: float | None = None) -> PromptResult:
        params = self._sessions[handle.trial]
        (params.workspace.path / "done.txt").write_text("done\n")
        metrics = PromptMetrics(
            tokens=None, timing=TimingBreakdown(wall_ms=1.0), tool_calls=ToolCallBreakdown(), cost=NO_COST
        )
        said = f"{params.system_instructions or ''}{text}"
        return PromptResult(text=said, metrics=metrics, completion_reason="stop", stop_reason="end_turn")

    async def stop_session(self, handle: SessionHandle) -> Workspace:
        return self._sessions[handle.trial].workspace

    async def export_session(self, handle: SessionHandle) -> SessionTrace:
        summary = TraceSummary(total_turns=1, total_tool_calls=0, total_tokens=None, total_duration_ms=1.0)
        return SessionTrace(
            session_id=handle.session_id, events=(), turns=(), tool_calls=ToolCallBreakdown(), summary=summary
        )

    def facts(self, handle: SessionHandle) -> SessionFacts:
        return SessionFacts(isolation="process", tokens=TokenBreakdown.of(input=3, output=4), fault=self.fault)

    async def destroy_session(self, handle: SessionHandle) -> None:
        del self._sessions[handle.trial]

    async def shutdown(self) -> None:
        self.said.append("shutdown")


NO_COST = CostBreakdown(total_usd=None)


class OwnScorer:
    """Looks for `done.txt`."""

    id = "own-scorer"

    async def evaluate(self, scenario: Scenario, context: ScorerContext) -> ScorerResult:
        passed = context.workspace.is_file("done.txt")
        check = ScorerCheckResult(id="done", description="done.txt is there", passed=passed)
        return ScorerResult(success=passed, passed=int(passed), total=1, details=(check,), score=float(passed))


class OwnWorkspaces:
    """Empty folders."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def make(self, trial: Trial, attempt: int) -> Workspace:
        path = self._root / trial.key / str(attempt) / "workspace"
        path.mkdir(parents=True)
        return Workspace(path=path, pristine={})

    def release(self, workspace: Workspace, keep_in: Path | None) -> None:
        if keep_in is not None:
            shutil.move(workspace.path, keep_in)
        shutil.rmtree(workspace.path.parent)


class OwnRun(ExitStack):
    """A run's folder, with stages for the cells that are asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        clock = Clock()
        self._root = folder
        self._clock = clock
        self.folder = self.enter_context(RunFolder.create(folder / "runs", "own", clock, Redactor([])))
        self.stages: dict[Any, Stage] = {}

    def cell(self, scenario: str = "tiny", *, agent: str = "own", mode: Mode = BASELINE, **stage: Any) -> Cell:
        """Return a cell whose stage is ready, with `stage` in it."""
        found = load_scenario(write_scenario(self._root, scenario))
        cell = Cell(
            agent=NamedSubject(label=agent, digest="1"),
            model="m",
            upstream="own",
            mode=mode,
            scenario=found,
            limits=found.budget,
            sandbox="process",
        )
        given = {"provider": OwnProvider(), "scorer": OwnScorer(), "workspaces": OwnWorkspaces(self._root / "scratch")}
        self.stages[cell.arm] = Stage(folder=self.folder, clock=self._clock, **{**given, **stage})
        return cell

    def runner(self, **options: Any) -> ProfileRunner:
        """Return a runner of the cells so far."""
        return ProfileRunner(folder=self.folder, stages=self.stages, **options)


def write_scenario(folder: Path, id: str) -> Path:
    """Write a scenario of one prompt."""
    path = folder / f"{id}.toml"
    path.write_text(
        f'schema_version = 1\nid = "{id}"\nname = "One file"\nprompt = "Write done.txt."\ntimeout_s = 20\n'
        '[[checks]]\nkind = "file_exists"\npath = "done.txt"\n'
    )
    return path


def ids(plan: Sequence[Trial]) -> list[str]:
    """Write a plan in short."""
    cells = [(trial.cell, trial.iteration) for trial in plan]
    return [f"{cell.scenario.id}/{cell.agent.label}/{cell.mode.name}#{number}" for cell, number in cells]
