"""The correction of p-values for asking several questions of the same data."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the order given: compare each with the level as it is.

    The step-down method (Holm, Scandinavian Journal of Statistics 6, 1979) holds the chance of even one false finding
    below the level, whatever the dependence between the questions.
    """
    for index, p in enumerate(p_values):
        if not 0 <= p <= 1:
            raise ValueError(f"p_values[{index}] is {p}; a p-value is between 0 and 1")
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted
