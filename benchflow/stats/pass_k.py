"""pass@k, the chance that one of k tries succeeds, and pass^k, the chance that all of them do, over scenarios."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchflow.stats.bootstrap import RESAMPLES, expanded_interval
from benchflow.stats.descriptive import mean_interval
from benchflow.stats.interval import Interval, hull
from benchflow.stats.rates import wilson


@dataclass(frozen=True, kw_only=True)
class PassK:
    """The mean over scenarios of pass@k or pass^k."""

    k: int
    value: float | None
    """None: no scenario has k scored trials."""
    interval: Interval | None
    """Of scenarios like these; None below two of them."""
    scenarios: int
    too_few: tuple[str, ...]
    """The scenarios left out, since they have fewer than k scored trials."""


def pass_at_k(
    outcomes: Mapping[str, Sequence[bool]], k: int, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> PassK:
    """Return the chance that at least one of k tries succeeds: 1 - C(n - c, k) / C(n, k) for c passed of n.

    Unbiased (Chen et al., Evaluating Large Language Models Trained on Code, arXiv:2107.03374, 2021, equation 1).
    """
    return _over_scenarios(_any_of_k, outcomes, k, level, resamples, seed)


def pass_hat_k(
    outcomes: Mapping[str, Sequence[bool]], k: int, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> PassK:
    """Return the chance that all of k tries succeed, pass^k: C(c, k) / C(n, k) for c passed of n.

    Unbiased (Yao et al., tau-bench, arXiv:2406.12045, 2024, section 3).
    """
    return _over_scenarios(_all_of_k, outcomes, k, level, resamples, seed)


def _any_of_k(passed: int, total: int, k: int) -> float:
    return 1 - math.comb(total - passed, k) / math.comb(total, k)


def _all_of_k(passed: int, total: int, k: int) -> float:
    return math.comb(passed, k) / math.comb(total, k)


def _over_scenarios(
    estimate: Callable[[int, int, int], float],
    outcomes: Mapping[str, Sequence[bool]],
    k: int,
    level: float,
    resamples: int,
    seed: int,
) -> PassK:
    """Average over scenarios, with an interval for scenarios like these: whole scenarios are drawn, never trials."""
    if k < 1:
        raise ValueError(f"k is {k}; at least 1 is needed")
    enough = {scenario: passed for scenario, passed in outcomes.items() if len(passed) >= k}
    values = [estimate(sum(map(bool, passed)), len(passed), k) for passed in enough.values()]
    return PassK(
        k=k,
        value=math.fsum(values) / len(values) if values else None,
        interval=_interval(values, level, resamples, seed),
        scenarios=len(values),
        too_few=tuple(scenario for scenario in outcomes if scenario not in enough),
    )


def _interval(values: list[float], level: float, resamples: int, seed: int) -> Interval | None:
    """Return the cluster bootstrap's interval, together with Student's where one scenario more always passed, and one
    never did: a bootstrap knows of no scenario but those that it has, and where most of them are at a bound that is too
    narrow (two of each kind more, for a rate: Agresti and Coull, The American Statistician 52, 1998).
    """
    if len(values) > 1 and (not any(values) or all(value == 1 for value in values)):
        return wilson(values[0], len(values), level=level)  # a bootstrap of equal values has no width
    drawn = expanded_interval(values, level=level, resamples=resamples, seed=seed)
    smoothed = mean_interval([*values, 0.0, 1.0], level=level)
    if drawn is None or smoothed is None:
        return None
    both = hull([drawn, smoothed])
    return Interval(low=max(0.0, both.low), high=min(1.0, both.high), level=level)
