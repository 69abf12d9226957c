"""The figures of two sides against each other, paired by scenario. Values only."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchflow.report.profile.estimate import Estimate
from benchflow.report.profile.metrics import Metric
from benchflow.report.profile.naming import CellName
from benchflow.stats.bounds import DifferenceBounds
from benchflow.stats.interval import Interval
from benchflow.stats.mcnemar import McNemar

if TYPE_CHECKING:
    from benchflow.report.profile.figures import Profile
    from benchflow.stats.effect import Magnitude
    from benchflow.stats.paired import Over, ScenarioDifference, Verdict


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """One metric of two cells, each scenario counting the same."""

    metric: Metric
    base: float | None
    """The mean of the scenarios' means, over those that have values on both sides; None: there are none."""
    head: float | None
    difference: Estimate
    """Head less base, in the metric's unit; `n` counts scenarios."""
    reduction: Estimate | None
    """How much less head uses than base, as a share, scenario by scenario: 0.25 is a quarter less. None for success and
    score, and where a value is not above 0."""
    bootstrap: Interval | None
    """The cluster bootstrap's interval of the difference, whole scenarios drawn, of success and score; no verdict rests
    on it. None below two scenarios."""
    p: float | None
    """Of no difference, by permutation."""
    p_adjusted: float | None
    """The same, corrected for the number of metrics compared (Holm)."""
    verdict: "Verdict"
    """`better` or `worse` where the interval excludes 0 and the adjusted p is small enough too."""
    verdict_alone: "Verdict"
    """The same by the interval alone: for whoever had asked of this metric only."""
    detectable: float | None
    """The smallest difference that `verdict_alone` shows with a chance of 0.8; None: none at all."""
    detectable_adjusted: float | None
    """The same for `verdict`, where no other metric differs."""
    effect: float | None
    """Cohen's d of the trials; None: too few, or none of them varies."""
    magnitude: "Magnitude | None"
    mcnemar: McNemar | None
    """For success where each scenario has one trial a side; else None."""
    scenarios: "tuple[ScenarioDifference, ...]"


@dataclass(frozen=True, kw_only=True)
class CellComparison:
    """One cell, the head, against another, the base."""

    base: CellName
    head: CellName
    base_label: str
    head_label: str
    over: "Over"
    """`trials`: too few scenarios to speak of others; the result holds for these only."""
    shared: int
    """Scenarios with scored trials on both sides."""
    left_out: tuple[str, ...]
    """Scenarios that have none on one side."""
    changed: tuple[str, ...]
    """Scenarios that were another on the other side: their files differ, so they are not compared."""
    metrics: tuple[MetricComparison, ...]
    """In the order of `METRICS`; a metric that is known on no shared scenario is left out."""
    success_bounds: DifferenceBounds
    score_bounds: DifferenceBounds
    level: float

    def metric(self, name: str) -> MetricComparison | None:
        """Return the comparison of one metric; None: it could not be compared."""
        return next((one for one in self.metrics if one.metric.name == name), None)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One run, the head, against another, the base: cell by cell."""

    base: "Profile"
    head: "Profile"
    cells: tuple[CellComparison, ...]
    only_base: tuple[CellName, ...]
    """Cells that the other side does not have."""
    only_head: tuple[CellName, ...]
    notes: tuple[str, ...] = ()
