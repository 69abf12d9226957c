"""What formats of others have no field for, as they carry it beside their own: always under the key `benchflow`."""

from datetime import datetime
from typing import Any

from benchflow.contracts import ScorerCheckResult, TokenBreakdown
from benchflow.report.verdict import is_played
from benchflow.row import ProfileRow

PLAYED_NOTE = "Played, not a model: the upstream gave fixed answers, so nothing here says how good a model is."


def row_facts(row: ProfileRow) -> dict[str, Any]:
    """Return what a row says of its trial: what it was, how it ended, and how it was scored."""
    return {
        "run_id": row.run_id,
        "trial": row.trial,
        "tries": row.tries,
        "agent": row.agent,
        "agent_version": row.agent_version,
        "agent_digest": row.agent_digest,
        "model": row.model,
        "model_served": row.model_served,
        "upstream": row.upstream,
        "played": is_played(row.upstream),
        "mode": row.mode,
        "scenario_id": row.scenario_id,
        "scenario_digest": row.scenario_digest,
        "iteration": row.iteration,
        "isolation": row.isolation,
        "reward": row.score,
        "success": row.success,
        "scored": row.success is not None,
        "checks": [check_facts(check) for check in row.check_details],
        "completion_reason": row.completion_reason,
        "stop_reason": row.stop_reason,
        "limit": row.limit,
        "error": row.error,
        "error_code": row.error_code,
        "tokens": row.tokens,
        "cost": row.cost,
        "benchflow_version": row.benchflow_version,
    }


def check_facts(check: ScorerCheckResult) -> dict[str, Any]:
    """Return what a check of a row says, without the text that it looked at."""
    return {
        "id": check.id,
        "description": check.description,
        "passed": check.passed,
        "grade": check.grade,
        "weight": check.weight,
        "expected": check.expected,
    }


def prompt_tokens(tokens: TokenBreakdown) -> int:
    """Count input tokens as most others do: cache reads and writes included."""
    return tokens.total - tokens.output


def seconds_between(start: str, end: str) -> float:
    """Return the seconds between two timestamps of a row."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def without_none(value: dict[str, Any]) -> dict[str, Any]:
    """Leave out keys without a value: formats take a missing key for an unknown value."""
    return {key: inner for key, inner in value.items() if inner is not None}
