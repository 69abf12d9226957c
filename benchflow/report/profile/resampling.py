"""How often chance is played out: as often as is of use, but never so often that a report takes its time."""

from benchflow.stats.bootstrap import RESAMPLES
from benchflow.stats.permutation import PERMUTATIONS

LEAST = 2_000
NUMBERS = 1_000_000
"""How many numbers are drawn in all, where that allows for `LEAST` times."""


def resamples(scenarios: int) -> int:
    """Return how many resamples to draw of so many scenarios."""
    return _times(scenarios, RESAMPLES)


def permutations(scenarios: int) -> int:
    """Return how many permutations to take of so many scenarios."""
    return _times(scenarios, PERMUTATIONS)


def _times(size: int, most: int) -> int:
    return max(LEAST, min(most, NUMBERS // max(1, size)))
