"""What names a cell."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, order=True)
class CellName:
    """What is the same for all trials of a cell, whatever the scenario."""

    agent: str
    upstream: str
    model: str
    mode: str
    isolation: str
