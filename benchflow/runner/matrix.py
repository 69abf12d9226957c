"""Says how many trials a run has, and how the number comes about. Pure."""

from collections.abc import Sequence
from math import prod

from benchflow.report.numbers import plural
from benchflow.runner.lookup import Job
from benchflow.runner.plan import Trial


def describe_matrix(job: Job, plan: Sequence[Trial]) -> str | None:
    """Return `2 agents x 2 models x 4 scenarios x 3 = 48 trials`, for stderr; None: there is one cell alone.

    Where not every agent has every model in every mode, the arms are counted as such.
    """
    names = [arm.name for arm in job.arms]
    if len(names) * len(job.scenarios) == 1:
        return None
    factors = {
        "agent": len({name.agent for name in names}),
        "model": len({name.model for name in names}),
        "mode": len({name.mode for name in names}),
    }
    counts = [plural(count, name) for name, count in factors.items() if count > 1]
    if prod(factors.values()) != len(names):
        counts = [f"{len(names)} combinations of agent, model and mode"]
    if len(job.scenarios) > 1:
        counts.append(plural(len(job.scenarios), "scenario"))
    if job.request.repetitions > 1:
        counts.append(str(job.request.repetitions))
    warm_ups = f", and {plural(len(names), 'warm-up')}" if job.request.canary else ""
    return f"{' x '.join(counts)} = {plural(len(plan), 'trial')}{warm_ups}"
