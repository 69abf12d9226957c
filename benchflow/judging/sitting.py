"""Who judges the trials of a run: for each case a judge is there while it is heard, and gone after."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchflow.contracts import JudgeProvider, ScorerContext
from benchflow.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Case:
    """One try of one trial, as a judge's own record names it."""

    iteration: int
    trial: str
    attempt: int
    folder: Path | None
    """The try's folder; None: the record is not kept."""


def case_of(scenario: Scenario, context: ScorerContext) -> Case:
    """Return the case that a scorer was called for."""
    told = context.metadata
    return Case(
        iteration=context.iteration,
        trial=str(told.get("trial") or scenario.id),
        attempt=int(told.get("attempt") or 1),
        folder=told.get("folder"),
    )


class Judges(Protocol):
    """Whoever can judge any case of a run."""

    @property
    def model(self) -> str:
        """The model that is asked; empty: the judge's own affair."""
        ...

    def sit(self, case: Case) -> AbstractAsyncContextManager[JudgeProvider]:
        """Have a judge while the block runs. Raises TrialError(`scorer`) where there can be none."""
        ...


class OneJudge:
    """One `JudgeProvider` for every case: somebody's own."""

    model = ""

    def __init__(self, judge: JudgeProvider) -> None:
        self._judge = judge

    @asynccontextmanager
    async def sit(self, case: Case) -> AsyncIterator[JudgeProvider]:
        """Hear a case."""
        yield self._judge
