"""The plan of a run: which trials, in which order, under which keys. Pure."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import orjson

from benchflow.contracts import Limits
from benchflow.mode import BASELINE, Mode
from benchflow.scenario import Scenario

SCHEMA = 1
"""Version of what a run leaves behind; part of every trial's key."""

CANARY = -1
"""The iteration of a warm-up, which has logs and no row."""


class Subject(Protocol):
    """What is tried, as rows know it. A manifest is one, a `NamedSubject` another."""

    @property
    def label(self) -> str:
        """The name under which it stands in rows."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides what it does."""
        ...

    @property
    def variant(self) -> str | None: ...

    @property
    def tier(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class NamedSubject:
    """What a provider runs that needs no manifest."""

    label: str
    digest: str
    variant: str | None = None
    tier: str = "unmeasured"


@dataclass(frozen=True, kw_only=True)
class ArmName:
    """What is compared: one agent with one model in one mode, by the names that rows have."""

    agent: str
    model: str
    upstream: str
    mode: str

    def __str__(self) -> str:
        return ", ".join((self.agent, self.model, self.mode))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One agent, model and mode on one scenario, under given conditions."""

    agent: Subject
    model: str
    upstream: str
    """The upstream's name and settings, as one text."""
    mode: Mode = BASELINE
    scenario: Scenario
    limits: Limits
    sandbox: str
    """The isolation that was taken."""
    own_backend: bool = False
    """The agent runs on its own backend; `upstream` says so."""

    @cached_property
    def arm(self) -> ArmName:
        """What it has in common with the cells of other scenarios."""
        return ArmName(agent=self.agent.label, model=self.model, upstream=self.upstream, mode=self.mode.name)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One repetition of a cell."""

    cell: Cell
    iteration: int
    """From 0; `CANARY` for a warm-up."""

    @property
    def is_canary(self) -> bool:
        return self.iteration == CANARY

    @cached_property
    def key(self) -> str:
        """`<scenario>-<agent>-<mode>-<iteration>-<hash8>`, from nothing but what is known before a process starts."""
        cell = self.cell
        known = [
            SCHEMA,
            cell.agent.digest,
            cell.agent.variant,
            cell.model,
            cell.upstream,
            cell.mode.name,
            cell.mode.digest,
            cell.scenario.digest,
            cell.limits,
            cell.sandbox,
            self.iteration,
        ]
        hash8 = hashlib.sha256(orjson.dumps(known)).hexdigest()[:8]
        parts = [cell.scenario.id, cell.agent.label, cell.mode.name, str(self.iteration), hash8]
        return "-".join(plain_name(part) for part in parts)


def plain_name(text: str) -> str:
    """Write a name so that it can be part of a path on any system."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text)


def make_plan(cells: Iterable[Cell], repetitions: int) -> list[Trial]:
    """Repeat the cells in a fair order, the same for the same cells.

    One repetition of all cells comes after the other, so that a stopped run has as many of each. In a repetition the
    cells of a scenario, which are compared with each other, stand side by side, so that a provider's slow hour hits
    all of them; and another of them goes first each time, so that none is always the one that finds caches cold.
    """
    by_scenario: dict[str, list[Cell]] = {}
    for cell in cells:
        by_scenario.setdefault(cell.scenario.id, []).append(cell)
    plan: list[Trial] = []
    for iteration in range(repetitions):
        for number, block in enumerate(by_scenario.values()):
            first = (iteration + number) % len(block)
            plan += [Trial(cell=cell, iteration=iteration) for cell in (*block[first:], *block[:first])]
    return plan


def make_canaries(plan: Iterable[Trial]) -> list[Trial]:
    """Return a warm-up for each arm of a plan, on its first scenario."""
    first: dict[ArmName, Cell] = {}
    for trial in plan:
        first.setdefault(trial.cell.arm, trial.cell)
    return [Trial(cell=cell, iteration=CANARY) for cell in first.values()]
