"""How figures are written for people, each in its metric's unit. Pure."""

from benchflow.report import numbers
from benchflow.report.profile.estimate import Estimate
from benchflow.report.profile.metrics import MetricName

NONE = "-"
_TO = "\u2013"
"""An en dash, between the limits of an interval that has no signs."""


def value(name: MetricName, number: float | None) -> str:
    """Write a value of a metric; `-` where there is none."""
    if number is None:
        return NONE
    match name:
        case "success":
            return percent(number)
        case "score":
            return numbers.score(number)
        case "wall_ms":
            return numbers.duration(number)
        case "tokens":
            return numbers.count(round(number))
        case "cost_usd":
            return numbers.cost(number)
        case "turns" | "tool_calls":
            return plain(number)


def interval(name: MetricName, low: float | None, high: float | None) -> str:
    """Write an interval; a dash where there are too few values for one."""
    if low is None or high is None:
        return NONE
    return f"{value(name, low)}{_TO}{value(name, high)}"


def estimate(name: MetricName, figure: Estimate) -> str:
    """Write a value with its interval on a second line."""
    if figure.value is None:
        return NONE
    return f"{value(name, figure.value)}\n{interval(name, figure.low, figure.high)}"


def difference(name: MetricName, number: float | None) -> str:
    """Write a difference with its sign; of success in percentage points."""
    if number is None:
        return NONE
    sign = "-" if number < 0 else "+" if number > 0 else ""
    size = abs(number)
    return f"{sign}{plain(100 * size)} pp" if name == "success" else sign + value(name, size)


def difference_interval(name: MetricName, figure: Estimate) -> str:
    """Write the interval of a difference."""
    if figure.low is None or figure.high is None:
        return NONE
    return f"{difference(name, figure.low)} to {difference(name, figure.high)}"


def percent(share: float) -> str:
    """Write a share in percent, with one decimal where it is no whole number: 50%, 66.7%."""
    return f"{plain(100 * share)}%"


def change(reduction: Estimate | None) -> str:
    """Write a reduction as a change of head against base: -25% is a quarter less."""
    if reduction is None or reduction.value is None:
        return NONE
    return signed_percent(-reduction.value)


def change_interval(reduction: Estimate | None) -> str:
    """Write the interval of that change, the lower limit first."""
    if reduction is None or reduction.low is None or reduction.high is None:
        return NONE
    return f"{signed_percent(-reduction.high)} to {signed_percent(-reduction.low)}"


def signed_percent(share: float) -> str:
    """Write a change in percent with its sign."""
    rounded = round(100 * share, 1)
    return f"{rounded:+.4g}%" if rounded else "0%"


def p_value(p: float | None) -> str:
    """Write a p-value with three decimals."""
    if p is None:
        return NONE
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def plain(number: float) -> str:
    """Write a number with at most one decimal: 8, 8.5, 1,200."""
    rounded = round(number, 1)
    return f"{rounded:,.0f}" if rounded == int(rounded) else f"{rounded:,.1f}"
