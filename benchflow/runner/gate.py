"""What a run's rows come to: the summary, and the exit code. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.contracts import TokenBreakdown
from benchflow.errors import InputError
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


def summarize(
    rows: Sequence[ProfileRow],
    *,
    planned: int,
    upstream: str,
    notes: Sequence[str] = (),
    halted: str | None = None,
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
        mean_score=sum(row.score or 0.0 for row in scored) / len(scored) if scored else None,
        success_rate=passed / len(scored) if scored else None,
        tokens=sum((row.tokens for row in rows if row.tokens), TokenBreakdown()),
        cost_usd=sum(known) if len(known) == len(costs) and known else None,
        upstream=upstream,
        notes=notes,
        halted=halted,
    )


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What a run must reach for exit code 0."""

    fail_under: float | None = None
    """The least mean score over scored trials, in [0, 1]."""
    max_unscored: str = "0"
    """`N` or `P%` of the trials."""

    def exit_code(self, summary: Summary) -> int:
        """130 interrupted, 2 halted by what the user can fix, 3 too many unscored, 1 missed, 0."""
        if summary.missing:
            return 130
        if summary.halted:
            return 2
        if summary.unscored > allowed_unscored(self.max_unscored, summary.trials):
            return 3
        if self.fail_under is not None and (summary.mean_score is None or summary.mean_score < self.fail_under):
            return 1
        return 0


def allowed_unscored(text: str, trials: int) -> float:
    """Read `N` or `P%` as a number of trials. Raises InputError on anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text.strip())
    if not match:
        raise InputError(f"--max-unscored {text}: not a number of trials or a share of them; write 2 or 10%")
    value = float(match[1])
    return value * trials / 100 if match[2] else value
