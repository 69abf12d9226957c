"""One trial, from its workspace to its row: create, prompt, stop, export, score, collect, analyze, destroy.

Knows only the contracts: which provider, scorer or plugin it drives is given to it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import anyio
import anyio.to_thread

from benchflow import __version__
from benchflow.clock import Stamp
from benchflow.contracts import (
    CreateSessionParams,
    PromptResult,
    ScorerContext,
    ScorerResult,
    SessionFacts,
    SessionHandle,
    SessionTrace,
    TimingBreakdown,
    ToolCallBreakdown,
)
from benchflow.errors import TrialError
from benchflow.outcome import BEFORE_SCORING, Outcome, decide
from benchflow.redact import REDACTIONS
from benchflow.redaction.folders import clean_folder
from benchflow.row import ProfileRow, without_secrets
from benchflow.runner.former import NEW, FormerTries
from benchflow.runner.observing import observe
from benchflow.runner.plan import Trial
from benchflow.runner.stage import Stage
from benchflow.stopwatch import Stopwatch
from benchflow.tiers import HEIGHT
from benchflow.workspaces.workspace import Workspace

_RETRIES = {"sandbox": 1, "scorer": 1, "upstream": 1}
"""How often a try is repeated, by the code it ended with. A scenario's `allowed_retries` raises it for `upstream`."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A trial that has ended."""

    row: ProfileRow
    trace: SessionTrace | None
    """Of its last try; None: it came to none."""


async def run_trial(trial: Trial, stage: Stage, former: FormerTries = NEW) -> Ended:
    """Run a trial to its row, with a fresh session and workspace for each try that its surroundings broke."""
    attempt = former.ended + 1
    while True:
        last = Try(trial, attempt, stage)
        row = await last.run()
        allowed = _RETRIES.get(row.error_code or "", 0)
        if row.error_code == "upstream":
            allowed = max(allowed, trial.cell.scenario.allowed_retries)
        if attempt - former.forgiven > allowed or stage.halted():
            return Ended(row=row, trace=last.trace)
        if not trial.is_canary:
            stage.folder.record(trial.key, attempt, "ended")
        attempt += 1


class Try:
    """One try of a trial: collects what happens on the way, and makes the row of it at the end."""

    def __init__(self, trial: Trial, attempt: int, stage: Stage) -> None:
        self._trial = trial
        self._attempt = attempt
        self._stage = stage
        self._folder = stage.folder.try_folder(trial.key, attempt)
        self._started: Stamp = stage.clock.now()
        self._watch = Stopwatch()
        self._results: list[PromptResult] = []
        self._failure: TrialError | None = None
        self._workspace: Workspace | None = None
        self._handle: SessionHandle | None = None
        self._facts = SessionFacts()
        self.trace: SessionTrace | None = None
        """What happened in it, once it was exported."""
        self._verdict: ScorerResult | None = None
        self._scored: Mapping[str, Any] = {}
        """What the scorer says of its own work, whether it came to a verdict or not."""
        self._redactor = stage.folder.redactor.fresh()

    async def run(self) -> ProfileRow:
        """Do it all, and return the row, which also stands in the try's result.json.

        When cancelled, the agent is ended first and the row, `cancelled`, is written before the cancellation goes on.
        """
        if not self._trial.is_canary:  # a warm-up is no trial that a run could lack
            self._stage.folder.record(self._trial.key, self._attempt, "started")
        try:
            try:
                with self._catch():
                    await self._converse()
            finally:
                with anyio.CancelScope(shield=True):  # an interrupted run must not leak agents
                    await self._stop()
            outcome = decide(self._results, self._failure, self._facts.fault)
            if outcome.scored:
                with self._catch():
                    await self._score()
            stage = self._stage
            row = await observe(
                self._row(),
                self._trial.cell.scenario,
                self.trace,
                collectors=stage.collectors,
                analyzers=stage.analyzers,
            )
        except anyio.get_cancelled_exc_class():
            self._failure = TrialError("cancelled", "interrupted before its end")
            with anyio.CancelScope(shield=True):
                await self._close(self._row())
            raise
        return await self._close(row)

    @contextmanager
    def _catch(self) -> Iterator[None]:
        """Keep the first failure, and go on to what must happen all the same."""
        try:
            yield
        except TrialError as error:
            self._failure = self._failure or error

    async def _converse(self) -> None:
        trial, cell = self._trial, self._trial.cell
        if self._stage.broken:
            raise self._stage.broken
        if halted := self._stage.halted():
            raise TrialError("upstream", f"not run: {halted}")
        with self._watch.timed("workspace"):
            toolchains = self._stage.toolchains
            toolchain = await toolchains.of(cell.scenario.tools) if toolchains else None
            self._workspace = await self._stage.workspaces.make(trial, self._attempt)
        params = CreateSessionParams(
            scenario_id=cell.scenario.id,
            iteration=trial.iteration,
            workspace=self._workspace,
            folder=self._folder,
            trial=trial.key,
            attempt=self._attempt,
            mode=cell.mode.name,
            model=cell.model,
            system_instructions=cell.mode.instructions,
            mcp_servers=cell.mode.mcp_servers,
            prompts=cell.scenario.prompts,
            solution=cell.scenario.solution,
            toolchain=toolchain,
            limits=cell.limits,
            observers=self._stage.observers(trial),
            clock=self._stage.clock,
        )
        with self._watch.timed("session"):
            self._handle = await self._stage.provider.create_session(params)
        with self._watch.timed("prompt"):
            await self._prompt(cell.scenario.prompts, cell.limits.timeout_s)

    async def _prompt(self, prompts: Sequence[str], timeout_s: float | None) -> None:
        """Send the prompts in order, within one budget; the first that does not end well is the last."""
        assert self._handle is not None
        for text in prompts:
            used_s = sum(result.metrics.timing.wall_ms for result in self._results) / 1000
            left_s = None if timeout_s is None else max(0.0, timeout_s - used_s)
            self._results.append(await self._stage.provider.prompt(self._handle, text, left_s))
            if self._results[-1].completion_reason != "stop" or self._results[-1].wrapped_up:
                return

    async def _stop(self) -> None:
        """End the agent, and take what was measured. Nothing is scored while something of it is alive."""
        if self._handle is None:
            return
        with self._catch(), self._watch.timed("stop"):
            self._workspace = await self._stage.provider.stop_session(self._handle)
        with self._catch():
            self.trace = await self._stage.provider.export_session(self._handle)
        self._facts = self._stage.provider.facts(self._handle)

    async def _score(self) -> None:
        assert self._workspace is not None
        cell = self._trial.cell
        context = ScorerContext(
            agent_output="\n".join(result.text for result in self._results),
            workspace=self._workspace,
            trace=self.trace,
            mode=cell.mode.name,
            model=cell.model,
            iteration=self._trial.iteration,
            metadata={"trial": self._trial.key, "attempt": self._attempt, "folder": self._folder},
        )
        with self._watch.timed("score"):
            verdict = await self._stage.scorer.evaluate(cell.scenario, context)
        self._scored = verdict.extensions
        if verdict.error:
            raise TrialError("scorer", verdict.error)
        self._verdict = verdict

    async def _close(self, row: ProfileRow) -> ProfileRow:
        """Write the result, keep or remove the workspace, and free the session. Return the row as it was written."""
        keep = self._stage.keep == "always" or (self._stage.keep == "failed" and row.success is not True)
        row = without_secrets(row, self._redactor)
        self._stage.folder.write_result(self._folder, row)
        if self._workspace is not None:
            await anyio.to_thread.run_sync(self._release, self._workspace, keep)
        if self._redactor.counts:
            counts = self._redactor.counts + Counter(row.extensions.get(REDACTIONS, {}))
            row = replace(row, extensions={**row.extensions, REDACTIONS: dict(counts)})
            self._stage.folder.write_result(self._folder, row)
        if self._handle is not None:
            await self._stage.provider.destroy_session(self._handle)
        return row

    def _release(self, workspace: Workspace, keep: bool) -> None:
        """Write what changed in the workspace, and keep or remove it. Checks have only seen copies of it."""
        diff = workspace.diff().encode("utf-8", "surrogateescape")
        self._stage.folder.write_whole(self._folder / "workspace.diff", diff, self._redactor)
        kept = self._folder / "workspace"
        self._stage.workspaces.release(workspace, kept if keep else None)
        if keep and self._redactor.knows_any:
            clean_folder(kept, self._redactor)

    def _row(self) -> ProfileRow:
        trial, cell, facts = self._trial, self._trial.cell, self._facts
        outcome = decide(self._results, self._failure, facts.fault)
        verdict = self._verdict if outcome.scored else None
        return ProfileRow(
            run_id=self._stage.folder.run_id,
            trial=trial.key,
            tries=self._attempt,
            agent=cell.agent.label,
            agent_version=facts.agent_version,
            agent_digest=cell.agent.digest,
            model=cell.model,
            model_served=facts.model_served,
            upstream=cell.upstream,
            mode=cell.mode.name,
            scenario_id=cell.scenario.id,
            scenario_digest=cell.scenario.digest,
            iteration=trial.iteration,
            started_at=self._started.ts,
            completed_at=self._stage.clock.now().ts,
            tokens=facts.tokens,
            timing=self._timing(),
            tool_calls=self.trace.tool_calls if self.trace else ToolCallBreakdown(),
            cost=facts.cost,
            exchanges=facts.exchanges,
            success=verdict.success if verdict else None,
            score=verdict.score if verdict else None,
            checks_passed=verdict.passed if verdict else 0,
            checks_total=verdict.total if verdict else len(cell.scenario.checks),
            check_details=verdict.details if verdict else (),
            output_valid=verdict.output_valid if verdict else False,
            provider=self._stage.provider.id,
            session_id=self._handle.session_id if self._handle else None,
            agent_turns=self.trace.summary.total_turns if self.trace else 0,
            completion_reason=outcome.completion_reason,
            stop_reason=outcome.stop_reason,
            wrapped_up=outcome.wrapped_up,
            limit=outcome.limit,
            tier=self._tier(),
            isolation=cell.sandbox,
            error=outcome.error,
            error_code=outcome.error_code,
            benchflow_version=__version__,
            extensions={**cell.mode.facts, **facts.extensions, **self._scored, **self._before_scoring(outcome)},
        )

    def _before_scoring(self, outcome: Outcome) -> dict[str, Any]:
        """Keep how the trial ended, where the scorer's failure hides it: the trial may be scored again."""
        if outcome.error_code != "scorer":
            return {}
        return {BEFORE_SCORING: asdict(decide(self._results, None, self._facts.fault))}

    def _tier(self) -> str:
        """The agent's; on its own backend no more than `runnable`, which a prompt that it ends is the proof of."""
        measured = self._trial.cell.agent.tier
        if not self._trial.cell.own_backend:
            return measured
        ended = any(result.completion_reason == "stop" for result in self._results)
        return "runnable" if ended or HEIGHT[measured] > HEIGHT["runnable"] else measured

    def _timing(self) -> TimingBreakdown:
        """Wall time of the prompts as measured; the stages around them are segments."""
        prompts_ms = sum(result.metrics.timing.wall_ms for result in self._results)
        wall_ms = prompts_ms if self._results else self._watch.segments.get("prompt", 0.0)
        return TimingBreakdown(wall_ms=round(wall_ms, 3), segments={**self._watch.segments, **self._facts.segments})
