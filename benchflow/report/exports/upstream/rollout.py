"""`result.json`, `config.json` and `timing.json` of a trial. What we do not know is null there, and stays so."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchflow.errors import ErrorCode
from benchflow.report.exports.facts import prompt_tokens, row_facts, seconds_between
from benchflow.report.exports.record import TrialRecord
from benchflow.report.exports.upstream.trajectory import count_skills, summarize
from benchflow.report.verdict import describe_limit
from benchflow.row import ProfileRow

_CATEGORIES: Mapping[ErrorCode, str] = {
    "install": "install_failure",
    "launch": "pipe_closed",
    "handshake": "acp_error",
    "protocol": "acp_error",
    "crash": "pipe_closed",
    "auth": "provider_auth",
    "upstream": "api_error",
    "setup": "provider_rejected",
    "rejected": "provider_rejected",
    "sandbox": "sandbox_setup",
}
"""Upstream's categories by our codes; the others are `other`."""
_DIAGNOSTICS = (
    "idle_timeout_info",
    "agent_timeout_info",
    "sandbox_startup_info",
    "transport_error_info",
    "verifier_timeout_info",
    "api_error_info",
    "suspected_api_error_info",
)
_SKILLS = (
    "skill_mode",
    "skill_source",
    "requested_skills_dir",
    "effective_skills_dir",
    "skills_sandbox_dir",
    "include_task_skills",
)


def rollout_name(row: ProfileRow) -> str:
    """Return what upstream would call the trial: its task, and eight digits of a hash."""
    return f"{row.scenario_id}__{row.trial[-8:]}"


def make_result(
    record: TrialRecord, rewards: dict[str, Any] | None, lines: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Make `result.json`."""
    row = record.row
    error, category = _error(row)
    broken = row.error_code == "scorer"
    counted = {"n_tool_calls": row.tool_calls.total, "n_skill_invocations": count_skills(lines)}
    agent_result = {**counted, "n_prompts": len(record.prompts), **_usage(row)}
    partial = row.error_code is not None
    return {
        "task_name": row.scenario_id,
        "rollout_name": rollout_name(row),
        "rewards": rewards,
        "agent": row.agent,
        "agent_name": row.agent,
        "model": row.model,
        **dict.fromkeys(_SKILLS),
        **counted,
        "n_prompts": len(record.prompts),
        "agent_result": agent_result,
        "final_metrics": {
            "total_prompt_tokens": agent_result["n_input_tokens"],
            "total_completion_tokens": agent_result["n_output_tokens"],
            "total_cached_tokens": agent_result["n_cache_read_tokens"],
            "total_cost_usd": agent_result["cost_usd"],
        },
        "trajectory_summary": {**summarize(lines), "partial_trajectory": partial, "trajectory_source": "acp"},
        "usage_tracking": None,
        "error": None if broken else error,
        "error_category": None if broken else category,
        "verifier_error": error if broken else None,
        "verifier_error_category": "verifier_failure" if broken else None,
        "export_error": None,
        **dict.fromkeys(_DIAGNOSTICS),
        "partial_trajectory": partial,
        "trajectory_source": "acp",
        "started_at": row.started_at,
        "finished_at": row.completed_at,
        "timing": make_timing(row),
        "scenes": [],
        "loop": {"strategy": "single-shot"},
        "task_digest": row.scenario_digest,
        "sandbox_id": None,
        "benchflow": row_facts(row),
    }


def _usage(row: ProfileRow) -> dict[str, Any]:
    tokens = row.tokens
    return {
        "n_input_tokens": prompt_tokens(tokens) if tokens else None,
        "n_output_tokens": tokens.output if tokens else None,
        "n_cache_read_tokens": tokens.cache_read if tokens else None,
        "n_cache_creation_tokens": tokens.cache_write if tokens else None,
        "total_tokens": tokens.total if tokens else None,
        "cost_usd": row.cost.total_usd,
        "usage_source": _usage_source(row),
        "price_source": row.cost.source,
    }


def _usage_source(row: ProfileRow) -> str:
    if row.tokens is None:
        return "unavailable"
    return "agent_native_acp" if row.extensions.get("usage_source") == "acp" else "provider_response"


def _error(row: ProfileRow) -> tuple[str | None, str | None]:
    if row.error_code:
        return row.error or row.error_code, _CATEGORIES.get(row.error_code, "other")
    if row.completion_reason == "stop":
        return None, None
    said = row.error or (describe_limit(row.limit) if row.limit else row.completion_reason)
    return said, "timeout" if row.completion_reason == "timeout" else "other"


def make_timing(row: ProfileRow) -> dict[str, float]:
    """Make `timing.json`, in seconds: the stages that were gone through."""
    segments = row.timing.segments
    stages = {
        "environment_setup": "workspace",
        "agent_setup": "session",
        "agent_execution": "prompt",
        "verifier": "score",
    }
    timing = {name: round(segments[ours] / 1000, 6) for name, ours in stages.items() if ours in segments}
    return {**timing, "total": seconds_between(row.started_at, row.completed_at)}


def make_config(row: ProfileRow) -> dict[str, Any]:
    """Make `config.json`."""
    return {
        "task_path": row.scenario_id,
        "agent": row.agent,
        "model": row.model,
        "reasoning_effort": None,
        "environment": row.isolation,
        "acp_transport": "stdio",
        "environment_manifest": None,
        **dict.fromkeys(_SKILLS),
        "sandbox_user": None,
        "sandbox_locked_paths": None,
        "sandbox_setup_timeout": None,
        "skip_install": None,
        "agent_install_timeout": None,
        "context_root": None,
        "base_image_override": None,
        "verifier_sandbox_mode": "separate",
        "verifier_include": [],
        "timeout_sec": row.limit.allowed if row.limit and row.limit.kind == "timeout_s" else None,
        "concurrency": None,
        "agent_idle_timeout_sec": None,
        "started_at": row.started_at,
        "agent_env": {},
        "scenes": [],
        "loop": {"strategy": "single-shot"},
        "task_digest": row.scenario_digest,
    }
