"""run.json: the resolved configuration of a run, and what it ran with."""

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchflow import __version__
from benchflow.adaptive import KEY
from benchflow.runner.arm import Arm
from benchflow.runner.lookup import Job
from benchflow.runner.options import stored
from benchflow.runner.plan import SCHEMA, Trial
from benchflow.runner.repeating import standing
from benchflow.sandbox.interface import Isolation


def describe_run(job: Job, plan: Sequence[Trial], *, isolation: Isolation, reason: str | None = None) -> dict[str, Any]:
    """Return the content of run.json, with the sandbox that was taken, and why.

    Of a plan that may end early, `trials` are those that there will be anyway."""
    now = standing(plan, {}, job.until)
    request = _plain(asdict(job.request))
    del request["options"]
    request["prices"] = job.prices.source if job.prices else None
    return {
        "schema": SCHEMA,
        "benchflow_version": __version__,
        "config": stored(job.request.options),
        "folder": str(Path.cwd()),
        "request": request,
        "arms": [_describe_arm(arm) for arm in job.arms],
        "scenarios": {scenario.id: scenario.digest for scenario in job.scenarios},
        "upstream": job.upstream_label,
        "scorer": job.scoring.name,
        "judge": job.scoring.judge_label,
        "sandbox": {"isolation": isolation, "reason": reason},
        "trials": [trial.key for trial in now.wanted],
        KEY: now.adaptive,
        "machine": {
            "platform": platform.platform(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "python": sys.version.split()[0],
        },
    }


def _plain(value: Any) -> Any:
    """Write paths as texts, however deep they are."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return str(value) if isinstance(value, Path) else value


def _describe_arm(arm: Arm) -> dict[str, Any]:
    """Of a mode only its name and digest: what it consists of may be secret."""
    return {
        "agent": {
            "name": arm.agent.name,
            "variant": arm.agent.variant,
            "digest": arm.agent.digest,
            "version": arm.agent.version,
            "place": arm.agent.place,
            "tier": arm.agent.tier,
        },
        "model": arm.upstream.model,
        "upstream": arm.upstream_label,
        "mode": {"name": arm.mode.name, "digest": arm.mode.digest},
        "require_capture": arm.require_capture,
    }
