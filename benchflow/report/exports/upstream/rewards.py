"""A verdict as upstream's rewards: `rewards` of `result.json`, `rewards.jsonl`, and the files of its verifier."""

from typing import Any

from benchflow.contracts import ScorerCheckResult
from benchflow.row import ProfileRow


def make_rewards(row: ProfileRow) -> dict[str, Any] | None:
    """Return the rewards of a trial; None: it is unscored.

    Upstream calls a reward of 1 a pass and any other a failure. Where a score says the contrary of the verdict (a guard
    without weight failed, for example), the reward is the verdict. `score` is the row's always.
    """
    if row.success is None or row.score is None:
        return None
    agree = (row.score == 1.0) == row.success
    rubric = [
        {"name": check.id, "score": _earned(check), "weight": check.weight, "description": check.description}
        for check in row.check_details
    ]
    return {"reward": row.score if agree else float(row.success), "score": row.score, "rubric": rubric}


def _earned(check: ScorerCheckResult) -> float:
    return float(check.passed) if check.grade is None else check.grade


def reward_lines(rewards: dict[str, Any] | None, ts: str) -> list[dict[str, Any]]:
    """Return the lines of `rewards.jsonl`: one a check, then the whole."""
    if rewards is None:
        return []
    checks = [
        {
            "ts": ts,
            "type": "process",
            "source": "verifier_rubric",
            "value": item["score"],
            "tag": item["name"],
            "step_index": number,
            "space": "output",
            "granularity": "step",
            "meta": {"weight": item["weight"], "description": item["description"]},
        }
        for number, item in enumerate(rewards["rubric"])
    ]
    whole = {
        "ts": ts,
        "type": "terminal",
        "source": "verifier",
        "value": rewards["reward"],
        "tag": "reward",
        "step_index": None,
        "space": "output",
        "granularity": "terminal",
        "meta": {"score": rewards["score"]},
    }
    return [*checks, whole]


def verifier_text(row: ProfileRow) -> str:
    """Write what each check found, as `verifier/test-stdout.txt`."""
    parts = []
    for check in row.check_details:
        found = check.error or check.actual
        parts.append(f"{'PASS' if check.passed else 'FAIL'} {check.id}: {check.description}\n{found or ''}".rstrip())
    return "\n\n".join([*parts, f"{row.checks_passed} of {row.checks_total} checks passed"]) + "\n"
