"""pass@k and pass^k of a cell, for the k that its repetitions allow."""

from collections.abc import Mapping

from benchflow.report.profile.estimate import Estimate, estimate
from benchflow.report.profile.figures import PassK
from benchflow.report.profile.repeats import Repeats

KS = (1, 2, 3, 5, 10, 100, 1000)
"""Those that are shown, as far as trials were repeated so often; and the greatest possible one."""


def pass_figures(repeats: Mapping[str, Repeats], *, level: float, seed: int) -> tuple[PassK, ...]:
    """Make both for each k; none where nothing was repeated."""
    repeated = max((one.scored for one in repeats.values()), default=0)
    if repeated < 2:
        return ()
    from benchflow.report.profile.resampling import resamples
    from benchflow.stats.pass_k import PassK as Rate
    from benchflow.stats.pass_k import pass_at_k, pass_hat_k

    def of(rate: Rate) -> Estimate:
        method = "wilson" if rate.value in (0, 1) else "bootstrap of scenarios"
        return estimate(rate.value, rate.interval, method, n=rate.scenarios, unknown=len(rate.too_few))

    outcomes = {name: [value == 1 for value in one.values["success"]] for name, one in repeats.items()}
    draws = resamples(len(outcomes))
    return tuple(
        PassK(
            k=k,
            at_least_one=of(pass_at_k(outcomes, k, level=level, resamples=draws, seed=seed)),
            all_of_them=of(pass_hat_k(outcomes, k, level=level, resamples=draws, seed=seed)),
        )
        for k in sorted({k for k in KS if k <= repeated} | {repeated})
    )
