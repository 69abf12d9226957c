"""What every statistic starts from: finite numbers in one row. It knows nothing of trials and rows."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]


def sample(values: Iterable[float], name: str = "values") -> Numbers:
    """Return the values as an array. Raise ValueError where one is NaN or infinite: it is no measurement."""
    numbers = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"{name}: {numbers.ndim} dimensions; give one row of numbers")
    finite = np.isfinite(numbers)
    if not finite.all():
        index = int(np.argmin(finite))
        raise ValueError(f"{name}[{index}] is {numbers[index]}; leave out what was not measured, and count it")
    return numbers


def weighted_sums(weights: Numbers, values: Numbers) -> Numbers:
    """Return the sum of the values by each row of weights.

    Without BLAS, whose threads take longer to find each other on a busy machine than the sums take.
    """
    return np.einsum("ij,j->i", weights, values)
