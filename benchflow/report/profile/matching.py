"""Which cell is compared with which. Pure: names in, pairs out."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.errors import InputError
from benchflow.report.profile.naming import CellName
from benchflow.report.text import one_line
from benchflow.report.verdict import is_played

FACTORS = ("agent", "model", "mode")
"""What cells are told apart by; the model with what served it."""


@dataclass(frozen=True, kw_only=True)
class Matching:
    """The cells of two sides, paired."""

    pairs: tuple[tuple[CellName, CellName], ...]
    only_base: tuple[CellName, ...]
    only_head: tuple[CellName, ...]


def match_cells(base: Sequence[CellName], head: Sequence[CellName], *, across_upstreams: bool) -> Matching:
    """Pair the cells that have the same agent, model and mode.

    Where each side has one agent, but another, the agent is what is compared, and need not be the same; so for the
    mode, and for the model with `across_upstreams`. Raises InputError where another model or upstream answered the two
    sides and nobody said that this is meant, and where no cell is on both sides.
    """
    free = {factor for factor in FACTORS if len(_values(base, factor)) == len(_values(head, factor)) == 1}
    if "model" in free and not across_upstreams and _values(base, "model") != _values(head, "model"):
        raise InputError(
            f"base was answered by {_source(base[0])}, head by {_source(head[0])}: a difference would say nothing of "
            "the agent; compare runs with the same upstream and model, or, with `report` and `compare`, say "
            "--across-upstreams if that is what is compared"
        )
    fixed = [factor for factor in FACTORS if factor not in free]
    first, second = (
        {tuple(_value(name, factor) for factor in fixed): name for name in reversed(side)} for side in (base, head)
    )
    pairs = tuple((name, second[key]) for key, name in reversed(first.items()) if key in second)
    if not pairs:
        raise InputError(
            f"no cell is on both sides: base has {_listed(base)}; head has {_listed(head)}. "
            "Compare runs that share an agent, model and mode"
        )
    paired = {name for pair in pairs for name in pair}
    return Matching(
        pairs=pairs,
        only_base=tuple(name for name in base if name not in paired),
        only_head=tuple(name for name in head if name not in paired),
    )


def comparable(base: CellName, head: CellName) -> bool:
    """Tell whether two cells of one run may be compared: not where a model answered the one, and none the other."""
    return is_played(base.upstream) == is_played(head.upstream)


def labels(names: Sequence[CellName]) -> dict[CellName, str]:
    """Name each cell by what tells it from the others; a single one by its agent."""
    parts = [{_value(name, factor) for name in names} for factor in FACTORS]
    varying = [factor for factor, values in zip(FACTORS, parts, strict=True) if len(values) > 1] or ["agent"]
    return {name: " · ".join(_said(name, factor, names) for factor in varying) for name in names}


def name_text(name: CellName) -> str:
    """Write a cell's whole name."""
    return " · ".join([one_line(name.agent), _source(name), one_line(name.mode)])


def _said(name: CellName, factor: str, names: Sequence[CellName]) -> str:
    if factor != "model":
        return one_line(getattr(name, factor))
    several = len({_origin(other.upstream) for other in names}) > 1
    return _source(name) if several else one_line(name.model)


def _values(names: Sequence[CellName], factor: str) -> set[tuple[str, ...]]:
    return {_value(name, factor) for name in names}


def _value(name: CellName, factor: str) -> tuple[str, ...]:
    if factor != "model":
        return (getattr(name, factor),)
    origin = _origin(name.upstream)
    return (origin,) if is_played(origin) else (name.model, origin)


def _origin(upstream: str) -> str:
    """Return what answered first: a cassette answers as what it was recorded from."""
    while upstream.startswith("cassette:") and " of " in upstream:
        upstream = upstream.partition(" of ")[2]
    return upstream


def _source(name: CellName) -> str:
    if is_played(name.upstream):
        return f"{one_line(name.upstream)} (not a model)"
    return f"{one_line(name.model)} ({one_line(name.upstream)})"


def _listed(names: Sequence[CellName]) -> str:
    return ", ".join(name_text(name) for name in names) or "none"
