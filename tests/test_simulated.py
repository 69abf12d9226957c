"""Rows of a known truth, through the real model of figures and the real gates: what is planted is found, and no more.

Seeds are fixed, so what is counted here never changes; the bounds are those that a count at the stated rate would leave
once in a thousand seeds. `python tests/simulate.py --large` counts more of it.
"""

import scipy.stats
from simulate import Tally, adaptive, comparisons, detectable_drop, profiles
from worlds import World, clipped

from benchflow.runner.repeating import UntilSure


def too_often(tally: Tally, name: str, stated: float) -> bool:
    happened, chances = tally.counts[name]
    return happened > int(scipy.stats.binom.ppf(0.999, chances, stated))


def too_seldom(tally: Tally, name: str, stated: float) -> bool:
    happened, chances = tally.counts[name]
    return happened < int(scipy.stats.binom.ppf(0.001, chances, stated))


def test_intervals_of_a_cell_cover_the_truth_at_the_stated_rate() -> None:
    tally = profiles(World(scenarios=10, repetitions=3, unscored=0.1), 40)

    names = ("success", "score", "wall_ms", "tokens", "cost_usd", "turns", "tool_calls")
    assert [name for name in names if too_seldom(tally, name, 0.95)] == []
    # The three of k on a cell stand and fall together, so each is counted as a third of a cell.
    assert min(tally.rate("pass@k"), tally.rate("pass^k")) > 0.85
    assert min(tally.rate("scenario success"), tally.rate("scenario score")) > 0.93
    assert tally.rate("bounds hold") == 1


def test_planted_nulls_are_not_found_and_do_not_fail_a_build() -> None:
    for world, times in (
        (World(scenarios=3, repetitions=3), 15),
        (World(scenarios=12, repetitions=2, unscored=0.1), 30),
    ):
        tally = comparisons(world, times)

        assert not too_often(tally, "any verdict", 0.05)
        assert not too_often(tally, "gate missed", 0.05)
        assert not too_seldom(tally, "difference of success", 0.95)
        assert not too_seldom(tally, "difference of score", 0.95)


def test_planted_effects_are_found_as_often_as_is_said() -> None:
    world = World(scenarios=12, repetitions=4)
    drop = detectable_drop(world, 7)
    assert drop

    found = comparisons(World(scenarios=12, repetitions=4, drop=clipped(drop)), 24)
    dearer = comparisons(World(scenarios=12, repetitions=4, dearer=2.0), 8)

    assert not too_seldom(found, "success worse, alone", 0.8)
    assert found.rate("gate missed") >= found.rate("success worse, alone")
    assert dearer.rate("tokens worse") > 0.7
    assert dearer.rate("success worse") == 0
    assert not too_seldom(dearer, "reduction", 0.95)


def test_looking_after_every_repetition_misleads_no_more_often_than_stated() -> None:
    tally = adaptive(World(scenarios=5, repetitions=1, unscored=0.1), UntilSure(half_width=0.15), 20, 40)

    assert not too_often(tally, "any look wrong", 0.05)
    assert not too_seldom(tally, "printed", 0.95)
    assert not too_seldom(tally, "printed score", 0.95)
    assert 2 < tally.rate("repetitions") < 20
