"""What unscored trials could change: every figure again with all of them taken as 0, and all of them taken as 1."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Scores = Mapping[str, Sequence[float | None]]
"""Scenario → what its trials scored, within [0, 1]; None for an unscored one."""


@dataclass(frozen=True, kw_only=True)
class ScoreBounds:
    """The mean score (or rate of success) of one side, and where it would be, were all trials scored."""

    scored: int
    unscored: int
    mean: float | None
    """Over the scored trials; None: there are none."""
    as_zero: float | None
    """With every unscored trial 0: the least that it can be. None: there are no trials."""
    as_one: float | None
    """With every unscored trial 1: the most that it can be."""


@dataclass(frozen=True, kw_only=True)
class DifferenceBounds:
    """The mean difference of scenarios' means, head less base, over the scenarios with trials on both sides."""

    base_unscored: int
    head_unscored: int
    difference: float | None
    """Over the scored trials; None: no scenario has some on both sides."""
    as_zero: float | None
    """With every unscored trial of both sides 0. None, as in what follows: no scenario has trials on both sides."""
    as_one: float | None
    """With every unscored trial of both sides 1."""
    least: float | None
    """With head's 0 and base's 1: nothing that is not known could make it less (Manski, AER 80, 1990)."""
    most: float | None
    """With head's 1 and base's 0."""


def score_bounds(scores: Sequence[float | None]) -> ScoreBounds:
    """Return the bounds of a mean over trials. Raise ValueError for a score outside [0, 1]."""
    _check(scores)
    scored = [score for score in scores if score is not None]
    return ScoreBounds(
        scored=len(scored),
        unscored=len(scores) - len(scored),
        mean=_mean(scored),
        as_zero=_mean(_filled(scores, 0)),
        as_one=_mean(_filled(scores, 1)),
    )


def difference_bounds(base: Scores, head: Scores) -> DifferenceBounds:
    """Return the bounds of a paired difference. Raise ValueError for a score outside [0, 1]."""
    for scores in (*base.values(), *head.values()):
        _check(scores)
    return DifferenceBounds(
        base_unscored=_unscored(base),
        head_unscored=_unscored(head),
        difference=_difference(base, head, None, None),
        as_zero=_difference(base, head, 0, 0),
        as_one=_difference(base, head, 1, 1),
        least=_difference(base, head, 1, 0),
        most=_difference(base, head, 0, 1),
    )


def _check(scores: Sequence[float | None]) -> None:
    for index, score in enumerate(scores):
        if score is not None and not 0 <= score <= 1:
            raise ValueError(f"scores[{index}] is {score}; a score is between 0 and 1, and None where there is none")


def _filled(scores: Sequence[float | None], unscored: float | None) -> list[float]:
    if unscored is None:
        return [score for score in scores if score is not None]
    return [unscored if score is None else score for score in scores]


def _unscored(scores: Scores) -> int:
    return sum(values.count(None) for values in scores.values())


def _difference(base: Scores, head: Scores, base_unscored: float | None, head_unscored: float | None) -> float | None:
    sides = (
        (_mean(_filled(values, base_unscored)), _mean(_filled(head.get(scenario, ()), head_unscored)))
        for scenario, values in base.items()
    )
    return _mean([second - first for first, second in sides if first is not None and second is not None])


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
