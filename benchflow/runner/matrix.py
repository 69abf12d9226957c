"""Says how many trials a run has, and how the number comes about. Pure."""

from collections.abc import Sequence
from math import prod

from benchflow.report.numbers import plural
from benchflow.runner.lookup import Job
from benchflow.runner.plan import Trial, make_canaries


def describe_matrix(job: Job, plan: Sequence[Trial]) -> str | None:
    """Return `2 agents x 2 models x 4 scenarios x 3 = 48 trials`, for stderr, with what they cost at most if that is
    known; None: there is one cell alone, and it is not.

    Where not every agent has every model in every mode, their combinations are counted.
    """
    names = [arm.name for arm in job.arms]
    bound = _bound(job, plan)
    if len(names) * len(job.scenarios) == 1 and bound is None and job.until is None:
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
    request = job.request
    if request.most_repetitions > 1:
        counts.append(f"{request.repetitions} to {request.most_repetitions}" if job.until else str(request.repetitions))
    warm_ups = f", and {plural(len(names), 'warm-up')}" if job.request.canary else ""
    product = f"{' x '.join(counts)} = " if counts else ""
    most = "at most " if job.until else ""
    return f"{product}{most}{plural(len(plan), 'trial')}{warm_ups}{bound or ''}"


def most_cost(trials: Sequence[Trial]) -> float | None:
    """Return what trials cost at most by their budgets, in US dollars. None: not all of them have one."""
    known = [limit for trial in trials if (limit := trial.cell.limits.max_cost_usd) is not None]
    return sum(known) if len(known) == len(trials) else None


def _bound(job: Job, plan: Sequence[Trial]) -> str | None:
    """Say what the trials cost at most, by their budgets; a try that is repeated costs as much again."""
    warm_ups = make_canaries(plan) if job.request.canary else []
    most = most_cost([*plan, *warm_ups])
    if most is not None:
        return f"; at most ${most:,.2f}, but for tries that are repeated"
    if job.request.max_cost_usd is not None:
        return f"; none begins after they have cost ${job.request.max_cost_usd:,.2f}"
    return None
