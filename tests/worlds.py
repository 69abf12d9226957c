"""Suites of scenarios whose truth is known, and the rows that trials of them leave: for simulations of the reports.

Some scenarios are always solved and some never; the others have a rate of their own, so that their trials are flaky.
What a trial takes is lognormal, dearer by scenario and by chance, and more in all metrics at once.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from stored import make_row, make_unscored

from benchflow.contracts import CostBreakdown, TimingBreakdown, TokenBreakdown, ToolCallBreakdown
from benchflow.report.profile.metrics import MetricName
from benchflow.row import ProfileRow

Side = Literal["base", "head"]
SIDES: tuple[Side, ...] = ("base", "head")
Values = NDArray[np.float64]

ALWAYS, NEVER = 0.25, 0.1
"""The shares of scenarios that are always, and never solved."""
PARTIAL = (0.0, 0.25, 0.5, 0.75)
"""What a failed trial scores, each as often as the others."""
SCENARIO_SD, TRIAL_SD, NOISE_SD = 0.6, 0.4, 0.3
"""Of the logarithm of what a trial takes: by its scenario, by chance in all metrics, and in each alone."""


@dataclass(frozen=True, kw_only=True)
class World:
    """A population of scenarios, two sides, and how much is tried of them."""

    scenarios: int
    repetitions: int
    drop: float = 0.0
    """By how much head's rate of success is lower, where a rate allows it."""
    varies: float = 0.0
    """The standard deviation of that drop by scenario."""
    dearer: float = 1.0
    """By which factor head takes more time, tokens and money."""
    unscored: float = 0.0
    """The chance of a trial to be broken by its surroundings."""

    def draw(self, rng: np.random.Generator, scenarios: int | None = None) -> "Suite":
        """Draw scenarios from the population."""
        size = scenarios or self.scenarios
        kind, some = rng.random(size), rng.beta(2, 1, size)
        rates = np.where(kind < ALWAYS, 1.0, np.where(kind < ALWAYS + NEVER, 0.0, some))
        lowered = np.clip(rates - self.drop + self.varies * rng.normal(size=size), 0, 1)
        if not self.drop and not self.varies:
            lowered = rates
        scale = np.exp(SCENARIO_SD * rng.normal(size=size))
        return Suite(world=self, rates={"base": rates, "head": lowered}, scale=scale)


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Scenarios that were drawn, with the truth of each."""

    world: World
    rates: dict[Side, Values]
    scale: Values
    """What a trial of each takes, against that of another."""

    def truth(self, side: Side, metric: Literal["success", "score"]) -> Values:
        """Return the true mean of each scenario."""
        rates = self.rates[side]
        return rates if metric == "success" else rates + (1 - rates) * float(np.mean(PARTIAL))

    def efforts(self, rng: np.random.Generator, side: Side, repetitions: int) -> dict[MetricName, Values]:
        """Draw what trials take: a row a scenario."""
        shape = (self.scale.size, repetitions)
        size = self.scale[:, np.newaxis] * np.exp(TRIAL_SD * rng.normal(size=shape))
        size *= self.world.dearer if side == "head" else 1.0
        turns = 1 + np.rint(6 * size)
        return {
            "wall_ms": 60_000 * size * np.exp(NOISE_SD * rng.normal(size=shape)),
            "tokens": np.rint(20_000 * size * np.exp(NOISE_SD * rng.normal(size=shape))),
            "cost_usd": 0.05 * size * np.exp(NOISE_SD * rng.normal(size=shape)),
            "turns": turns,
            "tool_calls": turns + rng.poisson(2, shape).astype(float),
        }

    def rows(self, rng: np.random.Generator, side: Side, repetitions: int | None = None) -> list[ProfileRow]:
        """Try each scenario so often, and return the rows in the order of repetitions."""
        times = repetitions or self.world.repetitions
        efforts = self.efforts(rng, side, times)
        passed = rng.random((self.scale.size, times)) < self.rates[side][:, np.newaxis]
        partial = rng.choice(PARTIAL, passed.shape)
        broken = rng.random(passed.shape) < self.world.unscored
        return [
            _row(side, scenario, iteration, passed, partial, broken, efforts)
            for iteration in range(times)
            for scenario in range(self.scale.size)
        ]


def _row(
    side: Side, scenario: int, iteration: int, passed: NDArray, partial: Values, broken: NDArray, efforts: dict
) -> ProfileRow:
    place = (scenario, iteration)
    known = {
        "run_id": side,
        "trial": f"s{scenario}-{iteration}",
        "scenario_id": f"s{scenario:03}",
        "iteration": iteration,
        "model": "m",
        "upstream": "provider",
    }
    if broken[place]:
        return make_unscored(**known)
    return make_row(
        **known,
        success=bool(passed[place]),
        score=1.0 if passed[place] else float(partial[place]),
        timing=TimingBreakdown(wall_ms=float(efforts["wall_ms"][place])),
        tokens=TokenBreakdown.of(input=int(efforts["tokens"][place]), output=0),
        cost=CostBreakdown(total_usd=float(efforts["cost_usd"][place])),
        agent_turns=int(efforts["turns"][place]),
        tool_calls=ToolCallBreakdown(total=int(efforts["tool_calls"][place])),
    )


def true_difference(suite: Suite, metric: Literal["success", "score"]) -> float:
    """Return the mean difference of scenarios' true means, head less base."""
    return float((suite.truth("head", metric) - suite.truth("base", metric)).mean())


def true_median(rng: np.random.Generator, suite: Suite) -> dict[MetricName, float]:
    """Return the median over base's trials of this suite, each scenario tried as often, to within half a percent."""
    return {
        name: float(np.median(values))
        for name, values in suite.efforts(rng, "base", 40_000 // suite.scale.size).items()
    }


def true_pass_k(population: Suite, k: int) -> tuple[float, float]:
    """Return pass@k and pass^k over the population."""
    rates = population.rates["base"]
    return float((1 - (1 - rates) ** k).mean()), float((rates**k).mean())


def mean_effort(suite: Suite, unit: float, noises: int = 1) -> float:
    """Return the mean over scenarios of what a trial of base takes, where `unit` is the median of one of scale 1."""
    return unit * float(suite.scale.mean()) * math.exp((TRIAL_SD**2 + noises * NOISE_SD**2) / 2)


def clipped(drop: float) -> float:
    """Return the drop to plant that lowers the mean rate by `drop`: some rates have less than that to lose."""
    rng, low, high = np.random.default_rng(0), drop, 1.0
    rates = World(scenarios=1, repetitions=1).draw(rng, 100_000).rates["base"]
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(rates, middle).mean() < drop else (low, middle)
    return low


SIZES = ((1, 10), (4, 3), (6, 2), (8, 3), (14, 1), (14, 3), (14, 10), (40, 2))
"""Scenarios and repetitions, as people run them."""
FEW = ((4, 3), (8, 3), (14, 3), (40, 2))


def worlds(sizes: Sequence[tuple[int, int]] = SIZES, **options: float) -> Iterator[World]:
    """Yield a world of each size."""
    for scenarios, repetitions in sizes:
        given: dict = {"scenarios": scenarios, "repetitions": repetitions, **options}
        yield World(**given)
