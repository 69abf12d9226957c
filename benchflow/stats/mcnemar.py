"""McNemar's exact test: of the pairs that came out differently on the two sides, how many went which way."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class McNemar:
    """The pairs of which one side passed and the other did not."""

    only_base: int
    only_head: int
    p: float
    """Two-sided, exact; 1 where no pair differs."""


def mcnemar(pairs: Sequence[tuple[bool, bool]]) -> McNemar:
    """Test pairs of (base passed, head passed): each that differs is the toss of a fair coin under no difference.

    McNemar, Psychometrika 12, 1947, with the binomial distribution in place of his approximation.
    """
    only_base = sum(bool(base) and not head for base, head in pairs)
    only_head = sum(bool(head) and not base for base, head in pairs)
    differing = only_base + only_head
    tail = sum(math.comb(differing, count) for count in range(min(only_base, only_head) + 1))
    return McNemar(only_base=only_base, only_head=only_head, p=min(1.0, 2 * tail / 2**differing))
