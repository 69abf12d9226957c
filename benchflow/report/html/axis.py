"""Round numbers along an axis. Pure."""

import math
from collections.abc import Callable
from dataclasses import dataclass

_STEPS = 4


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A place on an axis, and what is written there."""

    at: float
    text: str


def make_ticks(greatest: float, write: Callable[[float], str]) -> tuple[Tick, ...]:
    """Return round numbers from 0 to the first that is not below `greatest`."""
    if greatest <= 0:
        return (Tick(at=0, text="0"), Tick(at=1, text=write(1)))
    rough = greatest / _STEPS
    unit = 10 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= rough * (1 - 1e-9))
    places = [step * number for number in range(math.ceil(greatest / step - 1e-9) + 1)]
    return tuple(Tick(at=at, text=write(at) if at else "0") for at in places)
