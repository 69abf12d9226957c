"""How far repetitions of the same thing agree: of a scenario's outcomes, or of a judge with itself."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How often two repetitions of one scenario come out alike."""

    scenarios: int
    """Those with at least two repetitions; only they count."""
    observed: float | None
    """The chance that two repetitions of a scenario agree, averaged over scenarios; None: none is repeated."""
    kappa: float | None
    """Fleiss' kappa: 0 is what chance gives, 1 is always; None where all came out alike, so that chance gives 1 too."""


def agreement(labels: Mapping[str, Sequence[Hashable]]) -> Agreement:
    """Return how far the labels of each scenario agree (Fleiss, Psychological Bulletin 76, 1971).

    A label is any value: passed or not, or a grade. Scenarios may have different numbers of repetitions.
    """
    repeated = [Counter(given) for given in labels.values() if len(given) > 1]
    if not repeated:
        return Agreement(scenarios=0, observed=None, kappa=None)
    observed = sum(_agreeing_pairs(counts) for counts in repeated) / len(repeated)
    total = sum(repeated, Counter[Hashable]())
    by_chance = sum((count / total.total()) ** 2 for count in total.values())
    kappa = (observed - by_chance) / (1 - by_chance) if len(total) > 1 else None
    return Agreement(scenarios=len(repeated), observed=observed, kappa=kappa)


def _agreeing_pairs(counts: Counter[Hashable]) -> float:
    total = counts.total()
    return sum(count * (count - 1) for count in counts.values()) / (total * (total - 1))
