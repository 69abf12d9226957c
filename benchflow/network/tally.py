"""Counts names that an agent makes up, however many."""

from collections import Counter
from collections.abc import Mapping

MOST = 1000
"""Different names that are kept; what comes after them is counted as `OTHERS`."""
OTHERS = "(others)"


class Tally:
    """Names, each with how often it came."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, name: str) -> None:
        """Count a name once more."""
        self._counts[name if name in self._counts or len(self._counts) < MOST else OTHERS] += 1

    def sorted(self) -> Mapping[str, int]:
        """Return the counts, by name."""
        return dict(sorted(self._counts.items()))
