"""How often what reports say is right: rows of a known truth, through the real model of all figures and the real gates.

By hand, for the table: `python tests/simulate.py --large [SIMULATIONS]` (400 of each take about twenty minutes).
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from worlds import FEW, SIDES, SIZES, World, clipped, mean_effort, true_difference, true_median, true_pass_k, worlds

from benchflow.adaptive import Adaptive
from benchflow.contracts import Limits
from benchflow.report.profile import CellComparison, CellFigures, Estimate
from benchflow.report.profile.making import make_comparison, make_profile
from benchflow.report.profile.metrics import EFFORT
from benchflow.runner.gate import Gate
from benchflow.runner.plan import Cell, NamedSubject, Trial, make_plan
from benchflow.runner.regression import judge_regression
from benchflow.runner.repeating import UntilSure, standing
from benchflow.scenario import find_scenarios
from benchflow.stats.interval import Interval
from benchflow.stats.sequential import look

GATE = Gate(fail_on_regression="base")


@dataclass(kw_only=True)
class Tally:
    """How often each thing happened, of how often it could."""

    counts: dict[str, list[int]] = field(default_factory=dict)

    def add(self, name: str, happened: bool) -> None:
        """Count one more chance of it."""
        counted = self.counts.setdefault(name, [0, 0])
        counted[0] += happened
        counted[1] += 1

    def covers(self, name: str, figure: Estimate | Interval | None, truth: float) -> None:
        """Count whether an interval holds the truth; where none is printed, nothing is promised."""
        if figure is None or figure.low is None or figure.high is None:
            return
        edge = 1e-9 * max(1.0, abs(truth))
        self.add(name, figure.low - edge <= truth <= figure.high + edge)

    def rate(self, name: str) -> float:
        """Return the share of chances that it took; 0 where it had none."""
        happened, chances = self.counts.get(name, (0, 0))
        return happened / chances if chances else 0.0


def profiles(world: World, simulations: int, seed: int = 1) -> Tally:
    """Count how often the intervals of a cell's figures hold the truth."""
    rng, tally = np.random.default_rng(seed), Tally()
    population = world.draw(rng, 200_000)
    for _ in range(simulations):
        suite = world.draw(rng)
        (cell,) = make_profile(suite.rows(rng, "base")).cells
        medians = true_median(rng, suite)
        tally.covers("success", cell.success, float(suite.truth("base", "success").mean()))
        tally.covers("score", cell.score, float(suite.truth("base", "score").mean()))
        for metric in EFFORT:
            tally.covers(metric.name, getattr(cell, metric.name), medians[metric.name])
        for one in cell.pass_k:
            some, every = true_pass_k(population, one.k)
            tally.covers("pass@k", one.at_least_one, some)
            tally.covers("pass^k", one.all_of_them, every)
        for number, scenario in enumerate(cell.scenarios):
            tally.covers("scenario success", scenario.success, float(suite.truth("base", "success")[number]))
            tally.covers("scenario score", scenario.score, float(suite.truth("base", "score")[number]))
        tally.add("bounds hold", _within_bounds(cell))
    return tally


def _within_bounds(cell: CellFigures) -> bool:
    bounds = cell.success_bounds
    return bounds.mean is None or (bounds.as_zero or 0) <= bounds.mean <= (bounds.as_one or 1)


def comparisons(world: World, simulations: int, seed: int = 2) -> Tally:
    """Count how often differences are covered, what is found, and what the gate says."""
    rng, tally = np.random.default_rng(seed), Tally()
    population = world.draw(rng, 200_000)
    for _ in range(simulations):
        suite = world.draw(rng)
        comparison = make_comparison(suite.rows(rng, "base"), suite.rows(rng, "head"))
        (cell,) = comparison.cells
        truth = population if cell.over == "scenarios" else suite
        for name in ("success", "score"):
            metric = cell.metric(name)
            assert metric
            tally.covers(f"difference of {name}", metric.difference, true_difference(truth, name))
        if wall := cell.metric("wall_ms"):
            tally.covers("difference of wall", wall.difference, (world.dearer - 1) * mean_effort(truth, 60_000))
        for name in ("wall_ms", "tokens", "cost_usd"):
            if metric := cell.metric(name):
                tally.covers("reduction", metric.reduction, 1 - world.dearer)
        _count_verdicts(tally, cell)
        tally.add("gate missed", any(verdict.missed for verdict in judge_regression(GATE, comparison)))
    return tally


def _count_verdicts(tally: Tally, cell: CellComparison) -> None:
    tally.add("any verdict", any(metric.verdict != "not distinguishable" for metric in cell.metrics))
    for metric in cell.metrics:
        tally.add("one alone", metric.verdict_alone != "not distinguishable")
    success, tokens = cell.metric("success"), cell.metric("tokens")
    tally.add("success worse", bool(success and success.verdict == "worse"))
    tally.add("success worse, alone", bool(success and success.verdict_alone == "worse"))
    tally.add("tokens worse", bool(tokens and tokens.verdict == "worse"))


def detectable_drop(world: World, simulations: int, seed: int = 3) -> float | None:
    """Return the median of the smallest detectable drops of success that reports state; None: mostly none is."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(simulations):
        suite = world.draw(rng)
        (cell,) = make_comparison(suite.rows(rng, "base"), suite.rows(rng, "head")).cells
        metric = cell.metric("success")
        found.append(2.0 if metric is None or metric.detectable is None else metric.detectable)
    middle = float(np.median(found))
    return middle if middle <= 1 else None


def adaptive(
    world: World, until: UntilSure, most: int, simulations: int, *, compared: bool = False, seed: int = 4
) -> Tally:
    """Count how often repeating until sure misleads: at any look, by the interval that is printed, by a verdict."""
    rng, tally = np.random.default_rng(seed), Tally()
    sides = SIDES if compared else SIDES[:1]
    plans = {side: _plan(side, world.scenarios, most) for side in sides}
    for _ in range(simulations):
        suite = world.draw(rng)
        truth = float(suite.rates["base"].mean())
        rows = {side: suite.rows(rng, side, most) for side in sides}
        scored = [row for row in rows["base"] if row.success is not None]
        looks = [
            look([float(bool(row.success)) for row in scored if row.iteration < upto]) for upto in range(1, most + 1)
        ]
        tally.add("any look wrong", any(not one.interval.contains(truth) for one in looks))
        kept, now = {}, Adaptive(half_width=0, level=0)
        for side, plan in plans.items():
            by_place = {(row.scenario_id, row.iteration): row for row in rows[side]}
            by_key = {trial.key: by_place[_place(trial)] for trial in plan}
            state = standing(plan, by_key, until)
            kept[side] = [by_key[trial.key] for trial in state.wanted]
            assert state.adaptive
            now = state.adaptive if side == "base" else now
        (arm,) = now.settled
        tally.add("sure", arm.reason == "sure")
        tally.counts.setdefault("repetitions", [0, 0])[0] += arm.repetitions
        tally.counts["repetitions"][1] += 1
        (cell,) = make_profile(kept["base"], adaptive=now).cells
        (fixed,) = make_profile(kept["base"]).cells
        tally.covers("printed", cell.success, truth)
        tally.covers("printed score", cell.score, float(suite.truth("base", "score").mean()))
        tally.covers("Wilson instead", fixed.success, truth)
        if compared:
            _count_verdicts(tally, make_comparison(kept["base"], kept["head"]).cells[0])
    return tally


def _plan(side: str, scenarios: int, most: int) -> list[Trial]:
    found = find_scenarios(["all"])[:scenarios]
    cells = [
        Cell(
            agent=NamedSubject(label=side, digest="1"),
            model="m",
            upstream="provider",
            scenario=scenario,
            limits=Limits(),
            sandbox="process",
        )
        for scenario in found
    ]
    NUMBERS.update({scenario.id: number for number, scenario in enumerate(found)})
    return make_plan(cells, most)


NUMBERS: dict[str, int] = {}
"""The places of the bundled scenarios, whose names stand in plans, in a simulated suite."""


def _place(trial: Trial) -> tuple[str, int]:
    return f"s{NUMBERS[trial.cell.scenario.id]:03}", trial.iteration


def table(title: str, rows: Iterator[tuple[World, Tally]], columns: list[str]) -> None:
    """Print a line a world."""
    print(f"\n{title}\n{'world':34}" + "".join(f"{column:>21}" for column in columns))
    for world, tally in rows:
        name = f"{world.scenarios} x {world.repetitions}"
        for option, value in (("drop", world.drop), ("varies", world.varies), ("unscored", world.unscored)):
            name += f" {option} {value:.3g}" if value else ""
        name += f" dearer {world.dearer:g}" if world.dearer != 1 else ""
        shares = "".join(
            f"{tally.rate(column):21.3f}" if column in tally.counts else f"{'-':>21}" for column in columns
        )
        print(f"{name:34}{shares}", flush=True)


def large(simulations: int) -> None:
    """Print everything."""

    def each(count: Callable[[World, int], Tally], **options: float) -> Iterator[tuple[World, Tally]]:
        for world in worlds(FEW if options else SIZES, **options):
            yield world, count(world, simulations)

    covered = ["success", "score", "wall_ms", "tokens", "cost_usd", "turns", "tool_calls"]
    covered += ["pass@k", "pass^k", "scenario success", "scenario score"]
    table("coverage of a cell's intervals (0.95)", each(profiles), covered)
    table("the same with unscored trials", each(profiles, unscored=0.15), covered)
    differing = ["difference of success", "difference of score", "difference of wall", "reduction"]
    false = ["any verdict", "one alone", "gate missed"]
    table("no difference: coverage, and what is said falsely (0.05)", each(comparisons), differing + false)
    table("the same with unscored trials", each(comparisons, unscored=0.15), differing + false)
    table("no drop on average, but by scenario", each(comparisons, varies=0.2), differing + false)
    found = ["success worse", "success worse, alone", "tokens worse", "gate missed"]
    table("planted differences", each(comparisons, drop=0.25, varies=0.1, dearer=1.5), differing + found)
    table("a drop of the detectable size (0.8)", _planted(simulations), found)
    looked = ["any look wrong", "printed", "printed score", "Wilson instead", "sure", "any verdict", "repetitions"]
    for half_width in (0.1, 0.15):
        title = f"repeated until success is known to plus or minus {half_width}, 40 times at most"
        table(title, _repeated(half_width, simulations), looked)


def _planted(simulations: int) -> Iterator[tuple[World, Tally]]:
    for world in worlds():
        drop = detectable_drop(world, min(simulations, 50))
        if drop is not None and drop < 0.6:  # the mean rate is not much above
            planted = replace(world, drop=clipped(drop))
            yield planted, comparisons(planted, simulations)


def _repeated(half_width: float, simulations: int) -> Iterator[tuple[World, Tally]]:
    for scenarios, unscored in ((1, 0.0), (3, 0.0), (8, 0.0), (14, 0.0), (8, 0.15)):
        world = World(scenarios=scenarios, repetitions=1, unscored=unscored)
        yield (
            world,
            adaptive(world, UntilSure(half_width=half_width, least=2), 40, max(1, simulations // 2), compared=True),
        )


if __name__ == "__main__":
    if sys.argv[1:2] != ["--large"]:
        sys.exit(__doc__)
    large(int(sys.argv[2]) if len(sys.argv) > 2 else 400)
