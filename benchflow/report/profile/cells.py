"""The figures of one cell, made from its trials."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from benchflow.contracts import TokenBreakdown
from benchflow.report.profile.estimate import Estimate, estimate
from benchflow.report.profile.figures import (
    CellFigures,
    CertifiedFigures,
    LimitFigures,
    MetricFigures,
    ScenarioFigures,
    Totals,
)
from benchflow.report.profile.measured import Ending, Measured, Used
from benchflow.report.profile.metrics import MetricName
from benchflow.report.profile.naming import CellName
from benchflow.report.profile.passing import pass_figures
from benchflow.report.profile.repeats import Repeats, columns_of, joined
from benchflow.report.verdict import is_played
from benchflow.stats.bounds import ScoreBounds, score_bounds
from benchflow.stats.order import median_interval
from benchflow.stats.rates import wilson
from benchflow.stats.sequential import look

Share = Callable[[Sequence[float], float], Estimate]


def cell_figures(
    name: CellName,
    label: str,
    trials: Sequence[Measured],
    repeats: Mapping[str, Repeats],
    *,
    level: float,
    seed: int,
    looked: bool = False,
) -> CellFigures:
    """Make all figures of a cell; `repeats` are its trials by scenario.

    `looked`: what came of trials decided how many there are, so that intervals are to hold at every such look.
    """
    share = _share_at_any_time if looked else _share
    every = list(repeats.values())
    scored = sum(one.scored for one in every)
    return CellFigures(
        name=name,
        label=label,
        played=is_played(name.upstream),
        agent_versions=_known(trial.agent_version for trial in trials),
        models_served=_known(trial.model_served for trial in trials),
        trials=len(trials),
        scored=scored,
        unscored=len(trials) - scored,
        passed=sum(one.passed for one in every),
        unscored_by_code=dict(sorted(Counter(trial.unscored_code for trial in trials if trial.unscored_code).items())),
        success=share(joined(every, "success"), level),
        score=share(joined(every, "score"), level),
        success_bounds=_bounds(every, "success"),
        score_bounds=_bounds(every, "score"),
        wall_ms=_median(joined(every, "wall_ms"), scored, level),
        tokens=_median(joined(every, "tokens"), scored, level),
        cost_usd=_median(joined(every, "cost_usd"), scored, level),
        turns=_median(joined(every, "turns"), scored, level),
        tool_calls=_median(joined(every, "tool_calls"), scored, level),
        pass_k=pass_figures(repeats, level=level, seed=seed),
        flaky=tuple(one.scenario for one in every if one.flaky),
        scenarios=tuple(_scenario(one, level, share) for one in every),
        totals=_totals(trials),
        limits=_limits(trials, level, share),
        metrics=_metrics(trials, scored, level),
        certified=_certified(trials),
    )


def _scenario(one: Repeats, level: float, share: Share) -> ScenarioFigures:
    return ScenarioFigures(
        scenario=one.scenario,
        digest=min(one.digests),
        trials=one.trials,
        scored=one.scored,
        unscored=one.unscored,
        passed=one.passed,
        flaky=one.flaky,
        success=share(one.values["success"], level),
        score=share(one.values["score"], level),
        wall_ms=_middle(one.values["wall_ms"]),
        tokens=_middle(one.values["tokens"]),
        cost_usd=_middle(one.values["cost_usd"]),
        turns=_middle(one.values["turns"]),
        tool_calls=_middle(one.values["tool_calls"]),
    )


def _share(values: Sequence[float], level: float) -> Estimate:
    """Estimate a mean within [0, 1]."""
    if not values:
        return Estimate(value=None)
    mean = math.fsum(values) / len(values)
    return estimate(mean, wilson(mean, len(values), level=level), "wilson", n=len(values))


def _share_at_any_time(values: Sequence[float], level: float) -> Estimate:
    if not values:
        return Estimate(value=None)
    known = look(values, level=level)
    return estimate(known.mean, known.interval, "confidence sequence", n=known.count)


def _median(values: Sequence[float], scored: int, level: float) -> Estimate:
    """Estimate the median of what is known of so many scored trials."""
    if not values:
        return Estimate(value=None, unknown=scored)
    interval = median_interval(values, level=level)
    return estimate(median(values), interval, "order statistics", n=len(values), unknown=scored - len(values))


def _middle(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _bounds(repeats: Iterable[Repeats], metric: MetricName) -> ScoreBounds:
    return score_bounds([value for one in repeats for value in one.bounded(metric)])


def _totals(trials: Sequence[Measured]) -> Totals:
    metered = [trial.used for trial in trials if trial.used]
    columns = columns_of(trials)
    costs = columns["cost_usd"]
    return Totals(
        tokens=_added(metered) if metered else None,
        cost_usd=math.fsum(costs) if costs else None,
        cost_unknown=len(trials) - len(costs),
        wall_ms=math.fsum(columns["wall_ms"]),
    )


def _added(every: Sequence[Used]) -> TokenBreakdown:
    return TokenBreakdown.of(
        input=sum(one.input for one in every),
        output=sum(one.output for one in every),
        reasoning=sum(one.reasoning for one in every),
        cache_read=sum(one.cache_read for one in every),
        cache_write=sum(one.cache_write for one in every),
    )


def _certified(trials: Sequence[Measured]) -> CertifiedFigures | None:
    found = [trial.certified for trial in trials if trial.certified]
    if not found:
        return None
    changes: Counter[str] = Counter()
    for certificate in found:
        changes.update(dict(certificate.changes))
    return CertifiedFigures(
        trials=len(found),
        requests=sum(certificate.requests for certificate in found),
        as_received=sum(certificate.as_received for certificate in found),
        not_forwarded=sum(certificate.not_forwarded for certificate in found),
        changes=dict(sorted(changes.items())),
    )


def _limits(trials: Sequence[Measured], level: float, share: Share) -> LimitFigures:
    ended: dict[Ending, list[Measured]] = {"untouched": [], "wrapped up": [], "capped": []}
    scored = [trial for trial in trials if trial.scored]
    for trial in scored:
        ended[trial.ending].append(trial)
    shares = {ending: share([float(trial.ending == ending) for trial in scored], level) for ending in ended}
    scores = {
        ending: share([trial.score for trial in group if trial.score is not None], level)
        for ending, group in ended.items()
    }
    return LimitFigures(
        untouched=len(ended["untouched"]),
        wrapped_up=len(ended["wrapped up"]),
        capped=len(ended["capped"]),
        share_untouched=shares["untouched"],
        share_wrapped_up=shares["wrapped up"],
        share_capped=shares["capped"],
        score_untouched=scores["untouched"],
        score_wrapped_up=scores["wrapped up"],
        score_capped=scores["capped"],
    )


def _metrics(trials: Sequence[Measured], scored: int, level: float) -> tuple[MetricFigures, ...]:
    found: dict[tuple[str, str], list[float]] = {}
    for trial in trials:
        for custom in trial.custom if trial.success is not None else ():
            found.setdefault((custom.name, custom.unit), []).append(custom.value)
    return tuple(
        MetricFigures(name=name, unit=unit, median=_median(values, scored, level))
        for (name, unit), values in sorted(found.items())
    )


def _known(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted(filter(None, set(values))))
