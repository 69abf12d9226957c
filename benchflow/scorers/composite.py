"""The scorer of scenarios with a rubric: their checks, and the judge's rulings as checks among them."""

from collections.abc import Iterator, Sequence

from benchflow.checks import RubricCheck
from benchflow.contracts import ScorerCheckResult, ScorerContext, ScorerResult
from benchflow.judging.judgement import Ruling
from benchflow.scenario import Scenario
from benchflow.scorers.checks import ChecksScorer, verdict
from benchflow.scorers.rubric import RubricScorer, failed


class CompositeScorer:
    """Judges the checks, and asks a judge for those of kind `rubric`, each at its own weight.

    A scenario without a rubric is scored by its checks alone. The judge is not asked where a check could not be judged:
    the trial is unscored either way.
    """

    id = "composite"

    def __init__(self, checks: ChecksScorer, rubric: RubricScorer) -> None:
        self._checks = checks
        self._rubric = rubric

    async def evaluate(self, scenario: Scenario, context: ScorerContext) -> ScorerResult:
        """Return the verdict on checks and criteria together."""
        asked = [check for check in scenario.checks if isinstance(check, RubricCheck)]
        own: Sequence[ScorerCheckResult] = ()
        said = bool(context.agent_output.strip())
        if len(asked) < len(scenario.checks):
            checked = await self._checks.evaluate(scenario, context)
            if checked.error or not asked:
                return checked
            own = checked.details
        assert scenario.rubric is not None  # a check of kind `rubric` has one
        judged = await self._rubric.ask(scenario.rubric, scenario, context)
        if judged.failure:
            return failed(judged, output_valid=said, total=len(scenario.checks))
        details = tuple(_in_order(scenario, own, judged.rulings))
        return verdict(details, total=len(details), output_valid=said, extensions=judged.extensions)


def _in_order(
    scenario: Scenario, own: Sequence[ScorerCheckResult], rulings: Sequence[Ruling]
) -> Iterator[ScorerCheckResult]:
    results = {result.id: result for result in own}
    for check in scenario.checks:
        if isinstance(check, RubricCheck):
            yield from spread(check, rulings)
        else:
            yield results[check.id]


def spread(check: RubricCheck, rulings: Sequence[Ruling]) -> Iterator[ScorerCheckResult]:
    """Yield a result for each criterion that the check is about.

    They share the check's weight by their own weights; evenly where none of them has any.
    """
    about = [ruling for ruling in rulings if check.criterion in (None, ruling.criterion.id)]
    total = sum(ruling.criterion.weight for ruling in about)
    for ruling in about:
        share = ruling.criterion.weight / total if total else 1 / len(about)
        id = check.id if check.criterion else f"{check.id}.{ruling.criterion.id}"
        yield ruling.as_result(id=id, weight=check.weight * share)
