"""The figures of one cell, made from its trials."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from benchflow.contracts import TokenBreakdown
from benchflow.report.profile.estimate import Estimate, estimate
from benchflow.report.profile.figures import (
    CellFigures,
    LimitFigures,
    MetricFigures,
    PassK,
    ScenarioFigures,
    Totals,
)
from benchflow.report.profile.measured import Ending, Measured
from benchflow.report.profile.metrics import MetricName
from benchflow.report.profile.naming import CellName
from benchflow.report.verdict import is_played
from benchflow.stats.bounds import score_bounds
from benchflow.stats.order import median_interval
from benchflow.stats.rates import wilson

KS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The k of pass@k that are shown, as far as trials were repeated so often; the greatest possible one, too."""
DRAWS = 2_000_000
"""How many numbers a bootstrap of scenarios draws at most."""


def cell_figures(name: CellName, label: str, trials: Sequence[Measured], *, level: float, seed: int) -> CellFigures:
    """Make all figures of a cell's trials."""
    scored = [trial for trial in trials if trial.scored]
    scenarios = [scenario_figures(scenario, group, level=level) for scenario, group in by_scenario(trials).items()]
    return CellFigures(
        name=name,
        label=label,
        played=is_played(name.upstream),
        agent_versions=_known(trial.agent_version for trial in trials),
        models_served=_known(trial.model_served for trial in trials),
        trials=len(trials),
        scored=len(scored),
        unscored=len(trials) - len(scored),
        passed=sum(trial.success == 1 for trial in scored),
        unscored_by_code=dict(sorted(Counter(trial.unscored_code for trial in trials if trial.unscored_code).items())),
        success=_share(scored, "success", level),
        score=_share(scored, "score", level),
        success_bounds=score_bounds([trial.success for trial in trials]),
        score_bounds=score_bounds([trial.score for trial in trials]),
        wall_ms=_median(scored, "wall_ms", level),
        tokens=_median(scored, "tokens", level),
        cost_usd=_median(scored, "cost_usd", level),
        turns=_median(scored, "turns", level),
        tool_calls=_median(scored, "tool_calls", level),
        pass_k=_pass_k(by_scenario(scored), level, seed),
        flaky=tuple(one.scenario for one in scenarios if one.flaky),
        scenarios=tuple(scenarios),
        totals=_totals(trials),
        limits=_limits(trials, level),
        metrics=_metrics(scored, level),
    )


def scenario_figures(scenario: str, trials: Sequence[Measured], *, level: float) -> ScenarioFigures:
    """Make the figures of one scenario in one cell."""
    scored = [trial for trial in trials if trial.scored]
    passed = sum(trial.success == 1 for trial in scored)
    return ScenarioFigures(
        scenario=scenario,
        digest=trials[0].digest,
        trials=len(trials),
        scored=len(scored),
        unscored=len(trials) - len(scored),
        passed=passed,
        flaky=0 < passed < len(scored),
        success=_share(scored, "success", level),
        score=_share(scored, "score", level),
        wall_ms=_middle(scored, "wall_ms"),
        tokens=_middle(scored, "tokens"),
        cost_usd=_middle(scored, "cost_usd"),
        turns=_middle(scored, "turns"),
        tool_calls=_middle(scored, "tool_calls"),
    )


def by_scenario(trials: Iterable[Measured]) -> dict[str, list[Measured]]:
    """Group trials by scenario, sorted by its id."""
    groups: dict[str, list[Measured]] = {}
    for trial in trials:
        groups.setdefault(trial.scenario, []).append(trial)
    return dict(sorted(groups.items()))


def known_values(trials: Iterable[Measured], metric: MetricName) -> list[float]:
    """Return what is known of a metric, sorted, so that figures do not depend on the order of trials."""
    return sorted(value for trial in trials if (value := trial.value(metric)) is not None)


def _share(scored: Sequence[Measured], metric: MetricName, level: float) -> Estimate:
    values = known_values(scored, metric)
    if not values:
        return Estimate(value=None)
    mean = math.fsum(values) / len(values)
    return estimate(mean, wilson(mean, len(values), level=level), "wilson", n=len(values))


def _median(scored: Sequence[Measured], metric: MetricName, level: float) -> Estimate:
    values = known_values(scored, metric)
    return _of_median(values, len(scored) - len(values), level)


def _of_median(values: Sequence[float], unknown: int, level: float) -> Estimate:
    if not values:
        return Estimate(value=None, unknown=unknown)
    interval = median_interval(values, level=level)
    return estimate(median(values), interval, "order statistics", n=len(values), unknown=unknown)


def _middle(scored: Sequence[Measured], metric: MetricName) -> float | None:
    values = known_values(scored, metric)
    return median(values) if values else None


def _pass_k(scored: Mapping[str, Sequence[Measured]], level: float, seed: int) -> tuple[PassK, ...]:
    repeated = max(map(len, scored.values()), default=0)
    if repeated < 2:
        return ()
    from benchflow.stats.bootstrap import RESAMPLES
    from benchflow.stats.pass_k import PassK as Rate
    from benchflow.stats.pass_k import pass_at_k, pass_hat_k

    outcomes = {scenario: [trial.success == 1 for trial in trials] for scenario, trials in scored.items()}
    resamples = max(1_000, min(RESAMPLES, DRAWS // len(outcomes)))

    def of(rate: Rate) -> Estimate:
        method = "wilson" if rate.value in (0, 1) else "bootstrap of scenarios"
        return estimate(rate.value, rate.interval, method, n=rate.scenarios, unknown=len(rate.too_few))

    return tuple(
        PassK(
            k=k,
            at_least_one=of(pass_at_k(outcomes, k, level=level, resamples=resamples, seed=seed)),
            all_of_them=of(pass_hat_k(outcomes, k, level=level, resamples=resamples, seed=seed)),
        )
        for k in sorted({k for k in KS if k <= repeated} | {repeated})
    )


def _totals(trials: Sequence[Measured]) -> Totals:
    metered = [trial.used for trial in trials if trial.used]
    costs = known_values(trials, "cost_usd")
    return Totals(
        tokens=_added(metered) if metered else None,
        cost_usd=math.fsum(costs) if costs else None,
        cost_unknown=len(trials) - len(costs),
        wall_ms=math.fsum(known_values(trials, "wall_ms")),
    )


def _added(every: Sequence[TokenBreakdown]) -> TokenBreakdown:
    return TokenBreakdown.of(
        input=sum(one.input for one in every),
        output=sum(one.output for one in every),
        reasoning=sum(one.reasoning for one in every),
        cache_read=sum(one.cache_read for one in every),
        cache_write=sum(one.cache_write for one in every),
    )


def _limits(trials: Sequence[Measured], level: float) -> LimitFigures:
    ended: dict[Ending, list[Measured]] = {"untouched": [], "wrapped up": [], "capped": []}
    for trial in trials:
        ended[trial.ending].append(trial)
    scores = {ending: _share([one for one in group if one.scored], "score", level) for ending, group in ended.items()}
    return LimitFigures(
        untouched=len(ended["untouched"]),
        wrapped_up=len(ended["wrapped up"]),
        capped=len(ended["capped"]),
        score_untouched=scores["untouched"],
        score_wrapped_up=scores["wrapped up"],
        score_capped=scores["capped"],
    )


def _metrics(scored: Sequence[Measured], level: float) -> tuple[MetricFigures, ...]:
    found: dict[tuple[str, str], list[float]] = {}
    for trial in scored:
        for custom in trial.custom:
            found.setdefault((custom.name, custom.unit), []).append(custom.value)
    return tuple(
        MetricFigures(name=name, unit=unit, median=_of_median(values, len(scored) - len(values), level))
        for (name, unit), values in sorted(found.items())
    )


def _known(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value is not None}))
