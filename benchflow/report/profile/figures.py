"""The figures of one run: of its cells, and of each scenario in them. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchflow.adaptive import Adaptive
from benchflow.contracts import TokenBreakdown
from benchflow.report.profile.compared import CellComparison
from benchflow.report.profile.estimate import Estimate
from benchflow.report.profile.naming import CellName
from benchflow.stats.bounds import ScoreBounds


@dataclass(frozen=True, kw_only=True)
class ScenarioFigures:
    """One scenario in one cell. Medians are over scored trials; None where nothing is known."""

    scenario: str
    digest: str
    trials: int
    scored: int
    unscored: int
    passed: int
    flaky: bool
    """Some of its scored trials passed, and some did not."""
    success: Estimate
    score: Estimate
    wall_ms: float | None
    tokens: float | None
    cost_usd: float | None
    turns: float | None
    tool_calls: float | None


@dataclass(frozen=True, kw_only=True)
class PassK:
    """The chance that at least one of k tries passes, and that all of them do, averaged over scenarios."""

    k: int
    at_least_one: Estimate
    """pass@k. `n` counts scenarios; `unknown` those that have fewer than k scored trials."""
    all_of_them: Estimate
    """pass^k."""


@dataclass(frozen=True, kw_only=True)
class LimitFigures:
    """What the budgets did to a cell's scored trials."""

    untouched: int
    """Ended by themselves: before any budget spoke, or by an error of their own."""
    wrapped_up: int
    """Closed cleanly after the warning."""
    capped: int
    """Ended by a budget."""
    share_untouched: Estimate
    """Of this and the following two, the share of all scored trials."""
    share_wrapped_up: Estimate
    share_capped: Estimate
    score_untouched: Estimate
    score_wrapped_up: Estimate
    score_capped: Estimate


@dataclass(frozen=True, kw_only=True)
class MetricFigures:
    """A number that a plugin measured of each trial."""

    name: str
    unit: str
    median: Estimate


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What a cell has used up in all, unscored trials included: it was spent on them, too."""

    tokens: TokenBreakdown | None
    """None: nothing was metered."""
    cost_usd: float | None
    """Of the trials whose cost is known; None: of none."""
    cost_unknown: int
    """Trials whose cost is not known."""
    wall_ms: float


@dataclass(frozen=True, kw_only=True)
class CertifiedFigures:
    """What became of the model requests of a cell on their way, by the certificates of its trials."""

    trials: int
    """That have one."""
    requests: int
    as_received: int
    not_forwarded: int
    changes: Mapping[str, int]
    """In how many requests something of each kind was changed."""


@dataclass(frozen=True, kw_only=True)
class CellFigures:
    """One cell: an agent with a model in a mode, over its scenarios. Figures are over scored trials alone."""

    name: CellName
    label: str
    """What tells it from the other cells of its profile."""
    played: bool
    """No model answered: an oracle, null or a script did."""
    agent_versions: tuple[str, ...]
    """As the agent said; several if it changed within the run."""
    models_served: tuple[str, ...]
    trials: int
    scored: int
    unscored: int
    passed: int
    unscored_by_code: Mapping[str, int]
    success: Estimate
    score: Estimate
    success_bounds: ScoreBounds
    """What the unscored trials could make of it: all of them failed, all of them passed."""
    score_bounds: ScoreBounds
    wall_ms: Estimate
    """Of this and the following, the median."""
    tokens: Estimate
    cost_usd: Estimate
    turns: Estimate
    tool_calls: Estimate
    pass_k: tuple[PassK, ...]
    """For k from 1, as far as trials were repeated; empty if none was."""
    flaky: tuple[str, ...]
    """Scenarios of which some trials passed and some did not."""
    scenarios: tuple[ScenarioFigures, ...]
    """Sorted by id."""
    totals: Totals
    limits: LimitFigures
    metrics: tuple[MetricFigures, ...] = ()
    certified: CertifiedFigures | None = None
    """None: no trial has a certificate."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A whole run in figures."""

    runs: tuple[str, ...]
    """The ids of the runs that the rows are of."""
    level: float
    """Of all intervals: 0.95."""
    trials: int
    """With a row."""
    missing: int
    """Planned, but without a row."""
    scored: int
    unscored: int
    passed: int
    score: float | None
    """The mean over all scored trials; None: there are none."""
    cells: tuple[CellFigures, ...]
    """In the order in which they were asked for: the first is the base of the comparisons."""
    comparisons: tuple[CellComparison, ...]
    """Every other cell against the first."""
    adaptive: Adaptive | None = None
    """What became of repeating until enough was known; None: the number of repetitions was fixed."""
    notes: tuple[str, ...] = field(default=())
    """What a reader must know before any figure: no model answered, nothing hides the answers, ..."""
