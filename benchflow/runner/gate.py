"""What a run's rows come to: the summary, and the exit code. Pure."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.adaptive import Adaptive
from benchflow.contracts import TokenBreakdown
from benchflow.errors import InputError
from benchflow.report.verdict import is_played
from benchflow.row import ProfileRow


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run in numbers. Scores and rates are over scored trials alone; None where there are none."""

    trials: int
    """Planned."""
    passed: int
    failed: int
    unscored: int
    missing: int
    """Planned, but interrupted before their row."""
    mean_score: float | None
    success_rate: float | None
    tokens: TokenBreakdown
    cost_usd: float | None
    """None: of at least one trial it is not known."""
    upstream: str
    notes: Sequence[str] = ()
    halted: str | None = None
    """Why no more trials were started although the user did not interrupt the run; None: all were."""
    spent_usd: float = 0.0
    """What is known to have been spent."""
    cost_unknown: int = 0
    """Trials that a model answered, and whose cost is not known."""
    adaptive: Adaptive | None = None
    """What became of repeating until enough was known; None: the number of repetitions was fixed."""


def summarize(
    rows: Sequence[ProfileRow],
    *,
    planned: int,
    upstream: str,
    notes: Sequence[str] = (),
    halted: str | None = None,
    adaptive: Adaptive | None = None,
) -> Summary:
    """Add up the rows of a run."""
    scored = [row for row in rows if row.score is not None]
    passed = sum(row.success is True for row in scored)
    costs = [row.cost.total_usd for row in rows]
    known = [cost for cost in costs if cost is not None]
    return Summary(
        trials=planned,
        passed=passed,
        failed=len(scored) - passed,
        unscored=len(rows) - len(scored),
        missing=planned - len(rows),
        mean_score=math.fsum(row.score or 0.0 for row in scored) / len(scored) if scored else None,
        success_rate=passed / len(scored) if scored else None,
        tokens=sum((row.tokens for row in rows if row.tokens), TokenBreakdown()),
        cost_usd=math.fsum(known) if len(known) == len(costs) and known else None,
        upstream=upstream,
        notes=notes,
        halted=halted,
        spent_usd=math.fsum(known),
        cost_unknown=sum(row.cost.total_usd is None and not is_played(row.upstream) for row in rows),
        adaptive=adaptive,
    )


@dataclass(frozen=True, kw_only=True)
class GateVerdict:
    """What one gate says."""

    option: str
    """As it stands on the command line."""
    missed: bool
    reason: str
    """The figures that it rests on, in one line."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What a run must reach for exit code 0."""

    fail_under: float | None = None
    """The least mean score over scored trials, in [0, 1]."""
    max_unscored: str = "0"
    """`N` or `P%` of the trials."""
    max_cost_usd: float | None = None
    """What all trials together may cost, in US dollars."""
    fail_on_regression: str | None = None
    """What the run must not be worse than: a run, its rows, or a baseline file; None: it is not compared."""
    margin: float = 0.0
    """How large a drop of success or score is still accepted."""
    require_power: float | None = None
    """The drop that the comparison must be able to show; None: any sample will do."""

    def __post_init__(self) -> None:
        if self.fail_on_regression is None and (self.margin or self.require_power is not None):
            option = "--margin" if self.margin else "--require-power"
            raise InputError(f"{option}: says how --fail-on-regression judges; give that, too")
        allowed_unscored(self.max_unscored, 0)  # raises where it is no number

    @property
    def judges(self) -> bool:
        """Whether anything is asked of the trials' figures."""
        return (self.fail_under, self.max_cost_usd, self.fail_on_regression) != (None, None, None)

    def verdicts(self, summary: Summary) -> list[GateVerdict]:
        """Judge what can be told from the summary alone: all but the regression."""
        found = []
        if self.fail_under is not None:
            found.append(_judge_score(summary.mean_score, self.fail_under))
        if self.max_cost_usd is not None:
            found.append(_judge_cost(summary, self.max_cost_usd))
        return found

    def exit_code(self, summary: Summary, verdicts: Sequence[GateVerdict] | None = None) -> int:
        """130 interrupted, 2 halted by what the user can fix, 3 too many unscored, 1 missed, 0.

        `verdicts` are those of all gates; None: those that the summary tells.
        """
        if summary.missing and not self._stopped(summary):
            return 130
        if summary.halted and not self._stopped(summary):
            return 2
        if summary.unscored > allowed_unscored(self.max_unscored, summary.trials):
            return 3
        judged = self.verdicts(summary) if verdicts is None else verdicts
        return int(any(verdict.missed for verdict in judged))

    def _stopped(self, summary: Summary) -> bool:
        """Whether trials are missing since the money was spent, which is a gate missed and no interruption."""
        return self.max_cost_usd is not None and summary.missing > 0 and summary.spent_usd >= self.max_cost_usd


def _judge_score(mean: float | None, least: float) -> GateVerdict:
    shown = "no trial is scored" if mean is None else f"the mean score is {mean:.4g}, {least:g} is asked"
    return GateVerdict(option="--fail-under", missed=mean is None or mean < least, reason=shown)


def _judge_cost(summary: Summary, most: float) -> GateVerdict:
    """A cost that nobody can tell keeps no limit."""
    spent = f"${summary.spent_usd:.4f} of ${most:g} were spent"
    if summary.cost_unknown:
        missed = True
        spent += f", but what {summary.cost_unknown} trials cost is not known; --prices FILE gives prices of your own"
    else:
        missed = summary.spent_usd > most or bool(summary.missing and summary.spent_usd >= most)
        spent += f"; {summary.missing} trials were not begun" if summary.missing else ""
    return GateVerdict(option="--max-cost", missed=missed, reason=spent)


def allowed_unscored(text: str, trials: int) -> float:
    """Read `N` or `P%` as a number of trials. Raises InputError on anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text.strip())
    if not match:
        raise InputError(f"--max-unscored {text}: not a number of trials or a share of them; write 2 or 10%")
    value = float(match[1])
    return value * trials / 100 if match[2] else value
