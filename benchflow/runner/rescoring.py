"""Scores one stored trial again, from what it left behind, and asks collectors and analyzers anew. No agent runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread

from benchflow import __version__
from benchflow.clock import Clock
from benchflow.contracts import Analyzer, Collector, Event, Scorer, ScorerContext, ScorerResult, SessionTrace
from benchflow.errors import SCORED_CODES, InputError, TrialError
from benchflow.judging.account import JUDGE
from benchflow.outcome import BEFORE_SCORING
from benchflow.row import ProfileRow
from benchflow.runner.observing import observe
from benchflow.sandbox.interface import Sandbox
from benchflow.scenario import Scenario
from benchflow.store import DIFF, StoredRun
from benchflow.trace import build_trace
from benchflow.trajectories.cutting import until_limit
from benchflow.workspaces.rebuild import CannotRebuild, rebuild_from_diff, rebuild_from_files
from benchflow.workspaces.snapshot import remove_tree
from benchflow.workspaces.toolchain import Toolchains
from benchflow.workspaces.workspace import Workspace, prepare_workspace

RESCORED = "rescored"
"""Where it stands among the extensions of a row that it was scored again, and how."""
Origin = Literal["kept", "rebuilt", "unused"]
"""Where a workspace came from: it was kept, was rebuilt from its diff, or the scorer has no use for one."""


@dataclass(frozen=True, kw_only=True)
class Rescored:
    """What became of a stored trial."""

    before: ProfileRow
    after: ProfileRow | None
    """None: it stays as it was."""
    reason: str | None = None
    """Why it stays as it was."""
    broken: bool = False
    """It should have been scored again, and could not be."""

    @property
    def changed(self) -> bool:
        """Whether its verdict is another one."""
        new = self.after
        return new is not None and (new.success, new.score) != (self.before.success, self.before.score)


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What the trials of a stored run are scored with."""

    run: StoredRun
    scenarios: Mapping[str, Scenario]
    changed_scenarios: bool
    """Trials count whose scenario is no longer what it was."""
    scorer: Scorer | None
    """None: verdicts stay as they are."""
    needs_workspace: bool
    sandbox: Sandbox
    toolchains: Toolchains
    scratch: Path
    clock: Clock
    number: int
    """Of this scoring among those of the run, from 1."""
    collectors: Sequence[Collector] = ()
    analyzers: Sequence[Analyzer] = ()


async def rescore(row: ProfileRow, desk: Desk) -> Rescored:
    """Score a trial again. What cannot be scored for sure stays as it was, with the reason."""
    scenario = desk.scenarios.get(row.scenario_id)
    if reason := why_not(row, scenario, changed_scenarios=desk.changed_scenarios):
        return Rescored(before=row, after=None, reason=reason)
    assert scenario is not None
    try:
        folder = desk.run.trial(row.trial).try_folder()
        trace = await anyio.to_thread.run_sync(build_trace, folder)
        new = await _score(row, scenario, folder, trace, desk) if desk.scorer else row
    except (CannotRebuild, TrialError, InputError) as exc:
        return Rescored(before=row, after=None, reason=str(exc), broken=True)
    new = await observe(new, scenario, trace, collectors=desk.collectors, analyzers=desk.analyzers)
    return Rescored(before=row, after=new)


def why_not(row: ProfileRow, scenario: Scenario | None, *, changed_scenarios: bool) -> str | None:
    """Say why a row is not to be scored again; None: it is."""
    if row.error_code is not None and row.error_code not in SCORED_CODES and row.error_code != "scorer":
        return f"it is unscored ({row.error_code}): there is nothing that could be scored"
    if scenario is None:
        return f"its scenario {row.scenario_id} is not there; name it with --scenario"
    if scenario.digest != row.scenario_digest and not changed_scenarios:
        return "its scenario was changed since; add --changed-scenarios to score by what it is now"
    return None


async def _score(row: ProfileRow, scenario: Scenario, folder: Path, trace: SessionTrace, desk: Desk) -> ProfileRow:
    """Return the row with a new verdict. Raises CannotRebuild, TrialError and InputError where there is none."""
    assert desk.scorer is not None
    place = desk.scratch / row.trial
    diff = _read_diff(folder)
    try:
        workspace, origin = await _workspace(scenario, folder, place, diff, desk)
        context = ScorerContext(
            agent_output=said(trace.events, scenario.prompts),
            workspace=workspace,
            trace=trace,
            mode=row.mode,
            model=row.model,
            iteration=row.iteration,
            metadata={
                "trial": row.trial,
                "attempt": row.tries,
                "folder": folder / f"{RESCORED}-{desk.number}",  # where a judge's calls go on record
                "diff": (diff or "").encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
            },
        )
        verdict = await _evaluate(desk.scorer, scenario, context)
    finally:
        await anyio.to_thread.run_sync(remove_tree, place)
    if verdict.error:
        raise TrialError("scorer", verdict.error)
    about = {"number": desk.number, "at": desk.clock.now().ts, "scorer": desk.scorer.id, "workspace": origin}
    return with_verdict(row, verdict, {**about, "isolation": desk.sandbox.isolation}, scenario.digest)


async def _evaluate(scorer: Scorer, scenario: Scenario, context: ScorerContext) -> ScorerResult:
    """Ask the scorer; one that fails is asked once more, as in a run, with a record of its own."""
    verdict = await scorer.evaluate(scenario, context)
    if not verdict.error:
        return verdict
    again = {**context.metadata, "folder": Path(f"{context.metadata['folder']}-again")}
    return await scorer.evaluate(scenario, replace(context, metadata=again))


async def _workspace(
    scenario: Scenario, folder: Path, place: Path, diff: str | None, desk: Desk
) -> tuple[Workspace, Origin]:
    """Have the workspace as the agent left it, below `place`. Raises CannotRebuild, TrialError and InputError."""
    if not desk.needs_workspace:
        (place / "workspace").mkdir(parents=True)
        return Workspace(path=place / "workspace", pristine={}), "unused"
    kept = folder / "workspace"
    if not kept.is_dir() and diff is None:
        raise CannotRebuild("neither its workspace nor its diff is there")
    fresh = await prepare_workspace(scenario, place, desk.sandbox, desk.toolchains)
    if kept.is_dir():
        return await rebuild_from_files(fresh, kept), "kept"
    toolchain = await desk.toolchains.of(scenario.tools)
    return await rebuild_from_diff(fresh, diff or "", sandbox=desk.sandbox, toolchain=toolchain), "rebuilt"


def _read_diff(folder: Path) -> str | None:
    try:
        return (folder / DIFF).read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def said(events: Iterable[Event], prompts: Sequence[str]) -> str:
    """Return what the agent said in answer to the scenario's prompts, as the run had it.

    A prompt of BenchFlow's own, which warns of a budget, belongs to the answer before it.
    """
    answers: list[list[str]] = []
    listening = False
    for event in until_limit(events):
        if event.type == "prompt_begin":
            text = str(event.data.get("text", ""))
            if len(answers) < len(prompts) and prompts[len(answers)] in text:
                answers.append([])
            listening = True
        elif event.type == "prompt_end":
            listening = False
        elif event.type == "agent_message" and listening and answers:
            answers[-1].append(str(event.data.get("text", "")))
    return "\n".join(map("".join, answers))


def with_verdict(row: ProfileRow, verdict: ScorerResult, about: Mapping[str, Any], digest: str) -> ProfileRow:
    """Return a row with a new verdict in the place of the old one, or of the failure to come to one."""
    before = {"success": row.success, "score": row.score, "scenario_digest": row.scenario_digest}
    kept = {key: value for key, value in row.extensions.items() if key not in (JUDGE, BEFORE_SCORING)}
    note = {**about, "benchflow_version": __version__, "before": before}
    scored = replace(
        row,
        success=verdict.success,
        score=verdict.score,
        checks_passed=verdict.passed,
        checks_total=verdict.total,
        check_details=verdict.details,
        output_valid=verdict.output_valid,
        scenario_digest=digest,
        extensions={**kept, **verdict.extensions, RESCORED: note},
    )
    if row.error_code != "scorer":
        return scored
    ended = row.extensions.get(BEFORE_SCORING) or {}
    return replace(
        scored,
        completion_reason=ended.get("completion_reason") or "stop",
        error_code=ended.get("error_code"),
        error=ended.get("error"),
        wrapped_up=bool(ended.get("wrapped_up")),
    )
