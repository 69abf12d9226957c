"""`summary.json` of a job, by upstream's own formulas over the results that were written."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchflow.report.exports.cells import CellRows

_PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier", "total")
_TOKENS = {
    "total_input_tokens": "n_input_tokens",
    "total_output_tokens": "n_output_tokens",
    "total_cache_read_tokens": "n_cache_read_tokens",
    "total_cache_creation_tokens": "n_cache_creation_tokens",
    "total_tokens": "total_tokens",
}

Result = Mapping[str, Any]


def make_summary(job: str, cell: CellRows, results: Sequence[Result], elapsed_s: float) -> dict[str, Any]:
    """Make the summary of a cell's results."""
    isolations = {row.isolation for row in cell.rows}
    return {
        "job_name": job,
        "agent": cell.agent,
        "model": cell.model,
        "environment": isolations.pop() if len(isolations) == 1 else "mixed",
        "loop": {"strategy": "single-shot"},
        **_scores(results),
        "elapsed_sec": elapsed_s,
        "total_skill_invocations": sum(result["n_skill_invocations"] for result in results),
        **_usage(results),
        **_tools_and_steps(results),
        **_phases(results),
        "benchflow": {"mode": cell.mode, "upstream": cell.upstream},
    }


def _outcome(result: Result) -> str:
    if result["verifier_error"]:
        return "verifier_errored"
    if result["rewards"] is not None:
        return "passed" if result["rewards"]["reward"] == 1.0 else "failed"
    return "errored"


def _scores(results: Sequence[Result]) -> dict[str, Any]:
    counts = Counter(map(_outcome, results))
    passed, failed = counts["passed"], counts["failed"]
    ratio = passed / len(results) if results else 0.0
    scored = passed / (passed + failed) if passed + failed else 0.0
    errors = Counter(result["error_category"] for result in results if result["error_category"])
    verifier = Counter(result["verifier_error_category"] for result in results if result["verifier_error_category"])
    rewards = [result["rewards"]["reward"] for result in results if result["rewards"] is not None]
    return {
        "total": len(results),
        "passed": passed,
        "failed": failed,
        "errored": counts["errored"],
        "verifier_errored": counts["verifier_errored"],
        "pass": passed,
        "fail": failed,
        "error": counts["errored"],
        "idle_timeout": 0,
        "error_categories": dict(errors) or None,
        "verifier_error_categories": dict(verifier) or None,
        "score": f"{ratio:.1%}",
        "score_ratio": ratio,
        "score_excl_errors": f"{scored:.1%}",
        "score_excl_errors_ratio": scored,
        "mean_reward": sum(rewards) / len(rewards) if rewards else None,
    }


def _usage(results: Iterable[Result]) -> dict[str, Any]:
    """Sum what was metered, over the results that upstream counts: those that were scored, without an error."""
    completed = [
        result
        for result in results
        if result["rewards"] is not None and not result["error"] and not result["verifier_error"]
    ]
    covered = [
        result["agent_result"] for result in completed if result["agent_result"]["usage_source"] != "unavailable"
    ]
    costs = [used["cost_usd"] for used in covered]
    known = all(cost is not None for cost in costs)
    total = round(sum(costs), 10) if known else None
    return {
        **{name: sum(used[ours] or 0 for used in covered) for name, ours in _TOKENS.items()},
        "total_cost_usd": total,
        "avg_cost_per_trial_usd": round(total / len(covered), 10) if covered and total is not None else None,
        "telemetry_coverage": len(covered) / len(completed) if completed else 0.0,
    }


def _tools_and_steps(results: Sequence[Result]) -> dict[str, Any]:
    calls = [result["n_tool_calls"] for result in results]
    steps = [result["trajectory_summary"]["steps"] for result in results]
    tool_steps = [result["trajectory_summary"]["tool_call_steps"] for result in results]
    return {
        **_spread("tool_calls_per_task", "total_tool_calls", calls),
        **_spread("trajectory_steps_per_task", "total_trajectory_steps", steps),
        **_spread("trajectory_tool_call_steps_per_task", "total_trajectory_tool_call_steps", tool_steps),
        "trajectory_summary_coverage": 1.0 if results else 0.0,
    }


def _spread(name: str, total: str, values: Sequence[int]) -> dict[str, Any]:
    average = sum(values) / len(values) if values else 0.0
    return {total: sum(values), f"avg_{name}": average, f"max_{name}": max(values, default=0)}


def _phases(results: Sequence[Result]) -> dict[str, Any]:
    summed: dict[str, Any] = {"timing_coverage": 1.0 if results else 0.0}
    for phase in _PHASES:
        values = [result["timing"][phase] for result in results if phase in result["timing"]]
        summed[f"{phase}_time_sec"] = round(sum(values), 1)
        summed[f"avg_{phase}_time_sec"] = round(sum(values) / len(values), 1) if values else None
        summed[f"max_{phase}_time_sec"] = round(max(values), 1) if values else None
    return summed
