"""The normal and Student's t distribution, without the second that a library of distributions takes to import."""

import math
from functools import lru_cache
from statistics import NormalDist

STANDARD_NORMAL = NormalDist()
TINY = 1e-300


def normal_cdf(value: float) -> float:
    """Return the probability that a standard normal value is at most this."""
    return STANDARD_NORMAL.cdf(value)


def normal_quantile(probability: float) -> float:
    """Return the value that a standard normal one is below with this probability, within (0, 1)."""
    return STANDARD_NORMAL.inv_cdf(probability)


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), for a and b above 0.

    The continued fraction of DLMF 8.17.22 by Lentz's method, on the side of the mean where it converges fast.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / (a * _fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """Return 1 + d1/(1 + d2/(1 + ...)), the denominator of the continued fraction."""
    value, above, below = 1.0, 1.0, 0.0
    for step in range(1, 10_000):
        half = step // 2
        if step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + step - 1) * (a + step))
        else:
            term = half * (b - half) * x / ((a + step - 1) * (a + step))
        below = 1 / (1 + term * below or TINY)
        above = 1 + term / above or TINY
        value *= above * below
        if abs(above * below - 1) < 1e-15:
            break
    return value


def t_cdf(value: float, df: float) -> float:
    """Return the probability that Student's t with `df` degrees of freedom, above 0, is at most this (DLMF 8.17)."""
    tail = beta_cdf(df / (df + value * value), df / 2, 0.5) / 2
    return 1 - tail if value > 0 else tail


@lru_cache(maxsize=1024)
def t_quantile(probability: float, df: float) -> float:
    """Return the value that Student's t is below with this probability, within (0, 1), by bisection."""
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    low, high = 0.0, 1.0
    while t_cdf(high, df) < probability:
        low, high = high, high * 2
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_cdf(middle, df) < probability else (low, middle)
    return (low + high) / 2
