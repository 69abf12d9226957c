"""The plan of a run: which trials, in which order, under which keys. Pure."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import orjson

from benchflow.contracts import Limits
from benchflow.manifest import Manifest
from benchflow.scenario import Scenario

SCHEMA = 1
"""Version of what a run leaves behind; part of every trial's key."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is compared: one agent, model and mode on one scenario, under given conditions."""

    agent: Manifest
    model: str
    upstream: str
    """The upstream's name and settings, as one text."""
    mode: str
    scenario: Scenario
    limits: Limits
    sandbox: str
    """The isolation that was taken."""
    own_backend: bool = False
    """The agent runs on its own backend; `upstream` says so."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One repetition of a cell."""

    cell: Cell
    iteration: int
    """From 0."""

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
            cell.mode,
            cell.scenario.digest,
            cell.limits,
            cell.sandbox,
            self.iteration,
        ]
        hash8 = hashlib.sha256(orjson.dumps(known)).hexdigest()[:8]
        parts = [cell.scenario.id, cell.agent.label, cell.mode, str(self.iteration), hash8]
        return "-".join(plain_name(part) for part in parts)


def plain_name(text: str) -> str:
    """Write a name so that it can be part of a path on any system."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text)


def make_plan(cells: Iterable[Cell], repetitions: int) -> list[Trial]:
    """Repeat each cell; iterations vary fastest, so that a stopped run has whole cells."""
    return [Trial(cell=cell, iteration=iteration) for cell in cells for iteration in range(repetitions)]
