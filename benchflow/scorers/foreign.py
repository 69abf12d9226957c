"""Somebody else's scorer, whose bugs leave a trial unscored and cost nobody the run."""

from benchflow.contracts import Scorer, ScorerContext, ScorerResult
from benchflow.scenario import Scenario


class ForeignScorer:
    """Passes on what another scorer says, or that it failed."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    @property
    def id(self) -> str:
        return self._scorer.id

    async def evaluate(self, scenario: Scenario, context: ScorerContext) -> ScorerResult:
        """Return the other's verdict."""
        try:
            verdict = await self._scorer.evaluate(scenario, context)
            if not isinstance(verdict, ScorerResult):
                raise TypeError(f"it returned {type(verdict).__name__}, and not ScorerResult")
            return verdict
        except Exception as exc:  # noqa: BLE001 - a plugin's bug must not cost the run
            return ScorerResult(
                success=None,
                passed=0,
                total=0,
                details=(),
                output_valid=bool(context.agent_output.strip()),
                error=f"the scorer {self._scorer.id} failed: {type(exc).__name__}: {exc}",
            )
