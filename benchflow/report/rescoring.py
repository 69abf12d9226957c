"""What scoring a stored run again changed, on a terminal and as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchflow.report import numbers
from benchflow.report.text import one_line
from benchflow.report.verdict import judge
from benchflow.row import ProfileRow
from benchflow.runner.rescoring import Rescored

if TYPE_CHECKING:
    from rich.console import Console

    from benchflow.runner.rescore import RescoreResult

_REASON = 300
"""Characters of a reason that are shown."""


def rescore_value(result: "RescoreResult") -> dict[str, Any]:
    """Return all of it as one JSON value."""
    return {
        "run_id": result.run.id,
        "file": str(result.file),
        "scorer": result.scorer,
        "replaced": result.replaced,
        **counts(result.results),
        "trials": [_trial_value(each) for each in result.results],
    }


def counts(results: Sequence[Rescored]) -> dict[str, int]:
    """Count the trials by what became of them."""
    return {
        "scored": sum(each.after is not None for each in results),
        "changed": sum(each.changed for each in results),
        "as_before": sum(each.after is None for each in results),
        "broken": sum(each.broken for each in results),
    }


def print_rescored(console: "Console", result: "RescoreResult") -> None:
    """Print a line for each trial whose verdict changed, or that could not be scored; then the sums."""
    from rich.text import Text

    for number, each in enumerate(result.results, start=1):
        name = f"{number} {one_line(each.before.trial)}: "
        if each.changed and each.after:
            console.print(Text(name, "bold").append(f"{_verdict(each.before)} -> {_verdict(each.after)}", "default"))
        elif each.reason:
            style = "yellow" if each.broken else "dim"
            console.print(
                Text(name, "bold")
                .append(f"stays {_verdict(each.before)}: ", "default")
                .append(one_line(each.reason, _REASON), style)
            )
    found = counts(result.results)
    what = f"scored again by {result.scorer}" if result.scorer else "analyzed again, verdicts kept"
    stay = f"; {found['as_before']} stay as they were" if found["as_before"] else ""
    broken = f", {found['broken']} of them because they could not be scored" if found["broken"] else ""
    console.print(f"{numbers.plural(found['scored'], 'trial')} {what}: {found['changed']} changed{stay}{broken}")
    count = "they count from now on" if result.replaced else "add --replace to let them count"
    console.print(f"rows: {result.file} ({count})", soft_wrap=True)


def _trial_value(each: Rescored) -> dict[str, Any]:
    return {
        "trial": each.before.trial,
        "before": _short(each.before),
        "after": _short(each.after) if each.after else None,
        "reason": each.reason,
        "broken": each.broken,
    }


def _short(row: ProfileRow) -> dict[str, Any]:
    return {"success": row.success, "score": row.score, "error_code": row.error_code}


def _verdict(row: ProfileRow) -> str:
    score = "" if row.score is None else f" {numbers.score(row.score)}"
    return judge(row).label + score
