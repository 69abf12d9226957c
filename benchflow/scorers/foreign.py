"""Somebody else's scorer, whose bugs leave a trial unscored and cost nobody the run."""

from benchflow.contracts import Scorer, ScorerCheckResult, ScorerContext, ScorerResult
from benchflow.row import require_writable
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
            _require_sound(verdict)
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


def _require_sound(verdict: object) -> None:
    """Raise TypeError or ValueError for a verdict that no row could hold, or that would not be one."""
    if not isinstance(verdict, ScorerResult):
        raise TypeError(f"it returned {type(verdict).__name__}, and not ScorerResult")
    for detail in verdict.details:
        if not isinstance(detail, ScorerCheckResult):
            raise TypeError(f"its details hold {type(detail).__name__}, and not ScorerCheckResult")
    if not verdict.error:
        if not isinstance(verdict.success, bool):
            raise TypeError(f"its success is {verdict.success!r}, and not True or False")
        if isinstance(verdict.score, bool) or not isinstance(verdict.score, int | float) or not 0 <= verdict.score <= 1:
            raise ValueError(f"its score is {verdict.score!r}, and not a number in [0, 1]")
    require_writable(verdict)
