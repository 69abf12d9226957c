"""The scorer that asks a judge: a verdict on each criterion of a rubric, with its reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchflow.contracts import JudgeRequest, ScorerContext, ScorerResult
from benchflow.errors import TrialError
from benchflow.judging.account import JUDGE
from benchflow.judging.evidence import gather
from benchflow.judging.hearing import ANSWER_TOKENS, Hearing, Meter, hear
from benchflow.judging.judgement import Ruling, rule, self_agreement
from benchflow.judging.prompt import write_prompt
from benchflow.judging.rubrics import BUILT_IN
from benchflow.judging.sitting import Judges, case_of
from benchflow.redact import Redactor
from benchflow.scenario import Scenario
from benchflow.scenario_file import Rubric
from benchflow.scorers.checks import verdict


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What came of asking a judge."""

    rulings: Sequence[Ruling]
    """One a criterion; empty where the judge failed."""
    failure: str | None
    extensions: dict[str, Any]
    """For the row, however it went."""


class RubricScorer:
    """Scores by the scenario's rubric, or, where it has none, by the built-in one; its checks do not count.

    A judge that fails leaves the trial unscored.
    """

    id = "rubric"

    def __init__(self, judges: Judges, redactor: Redactor, *, repeats: int = 1) -> None:
        self._judges = judges
        self._redactor = redactor
        self._repeats = repeats

    async def evaluate(self, scenario: Scenario, context: ScorerContext) -> ScorerResult:
        """Return the verdict: success if every criterion is passed, and the share of their weight as the score."""
        judged = await self.ask(scenario.rubric or BUILT_IN, scenario, context)
        said = bool(context.agent_output.strip())
        if judged.failure:
            return failed(judged, output_valid=said)
        details = tuple(ruling.as_result() for ruling in judged.rulings)
        return verdict(details, total=len(details), output_valid=said, extensions=judged.extensions)

    async def ask(self, rubric: Rubric, scenario: Scenario, context: ScorerContext) -> Judged:
        """Ask the judge for its verdicts on a trial."""
        evidence = await gather(scenario, context, self._redactor.fresh().redact)
        request = JudgeRequest(
            prompt=write_prompt(rubric, evidence), model=self._judges.model, max_output_tokens=ANSWER_TOKENS
        )
        meter = Meter()
        name = self._judges.model
        try:
            async with self._judges.sit(case_of(scenario, context)) as judge:
                name = judge.id
                hearing = await hear(judge, request, rubric, meter, repeats=self._repeats)
        except TrialError as exc:
            hearing = Hearing(verdicts=(), failure=str(exc))
        return Judged(
            rulings=() if hearing.failure else rule(rubric, hearing.verdicts),
            failure=hearing.failure,
            extensions={JUDGE: self._account(name, meter, hearing)},
        )

    def _account(self, name: str, meter: Meter, hearing: Hearing) -> dict[str, Any]:
        """Say what the judge took. None of it is the agent's."""
        whole = not hearing.failure
        return {
            "judge": name,
            "model": self._judges.model,
            "calls": meter.calls,
            "failed": meter.failed,
            "refused": meter.refused,
            "tokens": meter.tokens(),
            "cost": meter.cost(),
            "verdicts": len(hearing.verdicts),
            "values": [{id: opinion.value for id, opinion in each.items()} for each in hearing.verdicts],
            "agreement": self_agreement(hearing.verdicts) if whole else None,
        }


def failed(judged: Judged, *, output_valid: bool, total: int = 0) -> ScorerResult:
    """Return that there is no verdict, because the judge failed."""
    return ScorerResult(
        success=None,
        passed=0,
        total=total,
        details=(),
        output_valid=output_valid,
        error=judged.failure,
        extensions=judged.extensions,
    )
