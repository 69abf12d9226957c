"""What a row says of its judge: what was asked of it, and what that took. It is in none of the trial's own figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.prices import NOTHING_BOUGHT
from benchflow.row import ProfileRow

JUDGE = "judge"
"""Where it stands among the extensions of a row."""


@dataclass(frozen=True, kw_only=True)
class JudgeAccount:
    """A judge's account of one trial."""

    judge: str
    """Its name, and where it was asked."""
    verdicts: int
    calls: int
    tokens: TokenBreakdown | None
    cost_usd: float | None
    bought: bool
    """False: no model answered."""
    agreement: float | None
    """The chance that two verdicts on a criterion are the same; None: there were no two."""


def judge_of(row: ProfileRow) -> JudgeAccount | None:
    """Read the account in a row, fresh or as its file has it; None: no judge of ours was asked."""
    found = row.extensions.get(JUDGE)
    if not isinstance(found, dict):
        return None
    try:
        return _read(found)
    except (TypeError, ValueError, AttributeError):
        return None  # somebody's own scorer has put something else there


def _read(found: Mapping[str, Any]) -> JudgeAccount:
    tokens, cost = _plain(found.get("tokens")), _plain(found.get("cost")) or {}
    agreement = _plain(found.get("agreement"))
    return JudgeAccount(
        judge=str(found.get("judge", "")),
        verdicts=int(found.get("verdicts", 0)),
        calls=int(found.get("calls", 0)),
        tokens=TokenBreakdown(**tokens) if tokens else None,
        cost_usd=cost.get("total_usd"),
        bought=cost.get("source") != NOTHING_BOUGHT.source,
        agreement=agreement.get("observed") if agreement else None,
    )


def _plain(value: Any) -> dict[str, Any] | None:
    """Return the fields of what is a value in a fresh row, and a table in one that was read."""
    return value if value is None or isinstance(value, dict) else vars(value)
