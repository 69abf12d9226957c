"""The trials of a run by what they have in common: agent, upstream, model and mode."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.row import ProfileRow
from benchflow.store import StoredRun

_PLAIN = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, kw_only=True)
class CellRows:
    """One cell's rows, in the order of tables."""

    agent: str
    upstream: str
    model: str
    mode: str
    rows: Sequence[ProfileRow]

    name: str
    """What the cell is called in names of files: unlike any other cell of the run."""

    @property
    def started_at(self) -> str:
        return min(row.started_at for row in self.rows)

    @property
    def completed_at(self) -> str:
        return max(row.completed_at for row in self.rows)


def cells_of(run: StoredRun) -> list[CellRows]:
    """Return the cells of a run, in the order of its table."""
    found: dict[tuple[str, str, str, str], list[ProfileRow]] = {}
    for row in run.rows:
        found.setdefault((row.agent, row.upstream, row.model, row.mode), []).append(row)
    names: Counter[str] = Counter()
    cells = []
    for (agent, upstream, model, mode), rows in found.items():
        plain = _PLAIN.sub("-", f"{agent}-{upstream}-{model}-{mode}").strip("-")
        names[plain] += 1
        name = plain if names[plain] == 1 else f"{plain}-{names[plain]}"
        cells.append(CellRows(agent=agent, upstream=upstream, model=model, mode=mode, rows=rows, name=name))
    return cells
