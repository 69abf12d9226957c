"""run.json: the resolved configuration of a run, and what it ran with."""

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchflow import __version__
from benchflow.runner.lookup import Job
from benchflow.runner.plan import SCHEMA, Trial
from benchflow.sandbox.choose import Choice


def describe_run(job: Job, plan: Sequence[Trial], choice: Choice) -> dict[str, Any]:
    """Return the content of run.json."""
    request = asdict(job.request)
    request["out"] = str(job.request.out)
    request["record"] = str(job.request.record) if job.request.record else None
    request["replay"] = str(job.request.replay) if job.request.replay else None
    request["prices"] = job.prices.source if job.prices else None
    request["agents_dir"] = str(job.request.agents_dir) if job.request.agents_dir else None
    return {
        "schema": SCHEMA,
        "benchflow_version": __version__,
        "request": request,
        "agent": {
            "name": job.agent.name,
            "variant": job.agent.variant,
            "digest": job.agent.digest,
            "version": job.agent.version,
            "place": job.agent.place,
            "tier": job.agent.tier,
        },
        "scenarios": {scenario.id: scenario.digest for scenario in job.scenarios},
        "model": job.upstream.model,
        "upstream": job.upstream_label,
        "require_capture": job.require_capture,
        "sandbox": {"isolation": choice.sandbox.isolation, "reason": choice.reason},
        "trials": [trial.key for trial in plan],
        "machine": {
            "platform": platform.platform(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "python": sys.version.split()[0],
        },
    }
