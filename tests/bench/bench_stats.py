"""What the statistics cost beside scipy's, and how often they are right: coverage, false verdicts, planted effects.

Run it by hand: `python tests/bench/bench_stats.py [SIMULATIONS]`; 400 simulations of each take some ten minutes. The
costs are CPU, the best of several. The suites are drawn from a population: a scenario's rate of success is Beta(2, 1),
and head's is lower by the planted drop, varied by scenario where the effect is said to vary.
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats

from benchflow.stats.bootstrap import bca_interval, expanded_interval, percentile_interval
from benchflow.stats.descriptive import mean_interval
from benchflow.stats.interval import Interval
from benchflow.stats.paired import PairedComparison, Trials, compare
from benchflow.stats.pass_k import pass_hat_k
from benchflow.stats.permutation import sign_flips, two_sample
from benchflow.stats.rates import success_rate
from benchflow.stats.sequential import look
from benchflow.stats.statistic import MEAN, MEDIAN, quantile

ROUNDS = 5
RATE = (0.0, 1.0)
SIZES = (
    (1, 5),
    (1, 30),
    (3, 3),
    (4, 3),
    (5, 10),
    (6, 1),
    (6, 3),
    (8, 3),
    (14, 1),
    (14, 3),
    (14, 10),
    (30, 3),
    (100, 1),
)
"""Scenarios, and repetitions of each."""


def cpu_ms(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the CPU milliseconds that some work takes, the best of several rounds."""
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return 1000 * min(times)


def costs() -> None:
    rng = np.random.default_rng(1)
    values = rng.lognormal(8, 1, 1_000)
    sides: list[Trials] = [{str(scenario): rng.random(3).tolist() for scenario in range(1_000)} for _ in range(2)]
    rows: tuple[tuple[str, Callable[[], object]], ...] = (
        ("median of 1,000, 10,000 draws", lambda: percentile_interval(values, MEDIAN)),
        ("the same, BCa", lambda: bca_interval(values, MEDIAN)),
        ("the same by scipy, percentile", lambda: scipys_median(values)),
        ("p95 of 1,000", lambda: percentile_interval(values, quantile(0.95))),
        ("mean of 1,000, BCa", lambda: bca_interval(values, MEAN)),
        ("mean of 100,000 by Student", lambda: mean_interval(np.tile(values, 100))),
        ("median of 100,000", lambda: percentile_interval(np.tile(values, 100), MEDIAN)),
        ("permutation of 2 x 500", lambda: two_sample(values[:500], values[500:])),
        ("sign flips of 1,000", lambda: sign_flips(values - 3_000)),
        ("compare 14 scenarios x 3", lambda: compare(*first(sides, 14), bounds=RATE)),
        ("compare 1,000 scenarios x 3", lambda: compare(*first(sides, 1_000), bounds=RATE)),
        ("a look at 1,000 trials", lambda: look([0.0, 1.0] * 500)),
        ("10,000 rates", lambda: [success_rate(7, 10) for _ in range(10_000)]),
    )
    print(f"{'cost':32} {'CPU ms':>9}")
    for name, work in rows:
        print(f"{name:32} {cpu_ms(work):9.2f}", flush=True)


def scipys_median(values: np.ndarray) -> object:
    return scipy.stats.bootstrap((values,), np.median, n_resamples=10_000, method="percentile", batch=500)


def first(sides: Sequence[Trials], count: int) -> tuple[Trials, Trials]:
    base, head = ({scenario: side[scenario] for scenario in list(side)[:count]} for side in sides)
    return base, head


def drawn(rng: np.random.Generator, rates: np.ndarray, repetitions: int) -> Trials:
    return {str(index): (rng.random(repetitions) < rate).astype(float).tolist() for index, rate in enumerate(rates)}


def lowered(rng: np.random.Generator, rates: np.ndarray, drop: float, varies: float) -> np.ndarray:
    return np.clip(rates - drop + varies * rng.normal(size=rates.size), 0, 1)


def true_drop(drop: float, varies: float) -> float:
    """The mean difference in the population; rates are cut off at 0 and 1."""
    rng = np.random.default_rng(2)
    rates = rng.beta(2, 1, 1_000_000)
    return float((lowered(rng, rates, drop, varies) - rates).mean())


def verdicts(simulations: int) -> None:
    print(
        "\nsuccess of two sides, compared by scenario at 0.95; `boot`: the coverage of a percentile cluster bootstrap"
    )
    print(f"{'scenarios':>9} {'reps':>4} {'drop':>5} {'varies':>6} {'covers':>7} {'boot':>6} {'width':>6}", end="")
    print(f" {'worse':>6} {'better':>6} {'detectable':>10}")
    for drop, varies in ((0.0, 0.0), (0.0, 0.2), (0.15, 0.0), (0.15, 0.2), (0.3, 0.0)):
        population = true_drop(drop, varies)
        for count, repetitions in SIZES:
            rng = np.random.default_rng(3)
            found, covered, by_bootstrap = [], 0, 0
            for _ in range(simulations):
                rates = rng.beta(2, 1, count)
                lower = lowered(rng, rates, drop, varies)
                found.append(compare(drawn(rng, rates, repetitions), drawn(rng, lower, repetitions), bounds=RATE))
                truth = population if found[-1].over == "scenarios" else float((lower - rates).mean())
                covered += holds(found[-1].interval, truth)
                differences = [row.difference for row in found[-1].scenarios]
                by_bootstrap += holds(percentile_interval(differences, resamples=1_000), truth)
            print(f"{count:9} {repetitions:4} {drop:5.2f} {varies:6.2f} {covered / simulations:7.3f}", end="")
            print(f" {by_bootstrap / simulations:6.3f} {summary(found)}", flush=True)


def holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.contains(truth)


def summary(found: list[PairedComparison]) -> str:
    widths = [one.interval.width for one in found if one.interval]
    detectable = sorted(2.0 if one.detectable is None else one.detectable for one in found)[len(found) // 2]
    shares = [sum(one.verdict == verdict for one in found) / len(found) for verdict in ("worse", "better")]
    shown = "none" if detectable > 1 else f"{detectable:.3f}"
    return f"{statistics.fmean(widths) if widths else 2:6.3f} {shares[0]:6.3f} {shares[1]:6.3f} {shown:>10}"


def planted(simulations: int) -> None:
    """Plant a drop of just the size that a comparison of the same rates called detectable, and count the finds."""
    print("\na drop of the smallest detectable size, planted: found (0.8 is promised), and false verdicts without it")
    for ones, zeros in ((8, 3), (30, 1)):
        for count, repetitions in ((1, 30), (4, 10), (14, 3), (14, 10), (30, 3), (100, 1)):
            rng = np.random.default_rng(4)
            drops, found, false = [], 0, 0
            for rates in rng.beta(ones, zeros, (simulations, count)):
                base, same = drawn(rng, rates, repetitions), drawn(rng, rates, repetitions)
                without = compare(base, same, bounds=RATE)
                false += without.verdict != "not distinguishable"
                drop = without.detectable
                if drop is None or drop > rates.mean():
                    continue  # no drop can be so large
                drops.append(drop)
                lower = drawn(rng, lowered(rng, rates, drop, 0), repetitions)
                found += compare(drawn(rng, rates, repetitions), lower, bounds=RATE).verdict == "worse"
            print(
                f"rate {ones / (ones + zeros):.2f} {count:4} x {repetitions:2}: drop {statistics.median(drops):.3f}",
                end="",
            )
            print(f" found {found / len(drops):.3f}, false {false / simulations:.3f}", flush=True)


def samples(simulations: int) -> None:
    print("\ncoverage of intervals at 0.95 of one skewed sample (lognormal, sigma 0.8)")
    rows: tuple[tuple[str, Callable[..., Interval | None], dict[str, Any], float], ...] = (
        ("median, percentile", percentile_interval, {"statistic": MEDIAN}, 1.0),
        ("median, BCa", bca_interval, {"statistic": MEDIAN}, 1.0),
        ("mean, percentile", percentile_interval, {"resamples": 2_000}, float(np.exp(0.32))),
        ("mean, expanded percentile", expanded_interval, {"resamples": 2_000}, float(np.exp(0.32))),
        ("mean, BCa", bca_interval, {"resamples": 2_000}, float(np.exp(0.32))),
        ("mean, Student", mean_interval, {}, float(np.exp(0.32))),
    )
    for name, interval, options, truth in rows:
        shares = []
        for size in (5, 10, 30, 100):
            rng = np.random.default_rng(5)
            kept = sum(
                holds(interval(rng.lognormal(sigma=0.8, size=size), **options), truth) for _ in range(simulations)
            )
            shares.append(f"n={size} {kept / simulations:.3f}")
        print(f"{name:26}", "  ".join(shares), flush=True)
    suites = [np.random.default_rng(seed).beta(2, 1, 14) for seed in range(simulations)]
    rng = np.random.default_rng(6)
    kept = sum(
        holds(pass_hat_k({str(n): list(rng.random(4) < p) for n, p in enumerate(rates)}, 2).interval, 0.5)
        for rates in suites
    )
    print(f"pass^2 of 14 scenarios x 4 trials: {kept / simulations:.3f}")


def looks(simulations: int) -> None:
    print(
        "\nlooking after every trial up to 200: how often any interval at 0.95 leaves the truth out; when +-0.1, +-0.2"
    )
    for rate in (0.5, 0.7, 0.9, 0.98, 1.0):
        rng = np.random.default_rng(7)
        missed = misled = 0
        stops: dict[float, list[int]] = {0.1: [], 0.2: []}
        for _ in range(simulations):
            values = (rng.random(600) < rate).astype(float).tolist()
            early = [look(values[:count]) for count in range(1, 201)]
            missed += any(not one.interval.contains(rate) for one in early)
            wilsons = (success_rate(int(sum(values[:count])), count).interval for count in range(1, 201))
            misled += any(not holds(interval, rate) for interval in wilsons)
            for width, counts in stops.items():
                counts.append(next(n for n in range(1, 601) if look(values[:n]).narrow_enough(width) or n == 600))
        trials = "  ".join(f"+-{width}: {statistics.median(counts):.0f} trials" for width, counts in stops.items())
        print(f"rate {rate}: {missed / simulations:.3f} (Wilson {misled / simulations:.3f})  {trials}", flush=True)


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    costs()
    samples(asked)
    looks(min(asked, 200))
    planted(asked)
    verdicts(asked)
