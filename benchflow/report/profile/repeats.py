"""The trials of one scenario in one cell, with their values in columns, made once for all figures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from benchflow.report.profile.measured import Measured
from benchflow.report.profile.metrics import METRICS, MetricName

_READ = attrgetter(*(metric.name for metric in METRICS))

Columns = Mapping[MetricName, Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """One scenario's trials in a cell."""

    scenario: str
    digests: frozenset[str]
    """Of the scenario's files: one, unless they changed within the run."""
    trials: int
    unscored: int
    values: Columns
    """What is known of each metric, of scored trials, sorted, so that no figure depends on the order of trials."""

    @property
    def scored(self) -> int:
        return self.trials - self.unscored

    @property
    def passed(self) -> int:
        return self.values["success"].count(1.0)

    @property
    def flaky(self) -> bool:
        """Whether some of the scored trials passed, and some did not."""
        return 0 < self.passed < self.scored

    def bounded(self, metric: MetricName) -> list[float | None]:
        """Return all trials' values of success or score, None for the unscored ones."""
        return [*self.values[metric], *[None] * self.unscored]


def repeats_of(trials: Iterable[Measured]) -> dict[str, Repeats]:
    """Group trials by scenario, sorted by its id."""
    groups: dict[str, list[Measured]] = {}
    for trial in trials:
        groups.setdefault(trial.scenario, []).append(trial)
    return {scenario: _repeats(scenario, group) for scenario, group in sorted(groups.items())}


def joined(repeats: Iterable[Repeats], metric: MetricName) -> list[float]:
    """Return the values of all scenarios, sorted."""
    return sorted(chain.from_iterable(one.values[metric] for one in repeats))


def columns_of(trials: Sequence[Measured]) -> Columns:
    """Return the known values of each metric, sorted."""
    return dict(_columns(trials))


def _repeats(scenario: str, trials: Sequence[Measured]) -> Repeats:
    scored = [trial for trial in trials if trial.success is not None]
    return Repeats(
        scenario=scenario,
        digests=frozenset(trial.digest for trial in trials),
        trials=len(trials),
        unscored=len(trials) - len(scored),
        values=columns_of(scored),
    )


def _columns(trials: Sequence[Measured]) -> Iterator[tuple[MetricName, list[float]]]:
    columns = zip(*map(_READ, trials), strict=True) if trials else [()] * len(METRICS)
    for metric, column in zip(METRICS, columns, strict=True):
        yield metric.name, sorted(column if None not in column else (value for value in column if value is not None))
