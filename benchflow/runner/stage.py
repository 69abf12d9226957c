"""What the trials of one arm share in a run: who runs them, who judges them, and where they take place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from benchflow.clock import Clock
from benchflow.contracts import Analyzer, Collector, EventObserver, Scorer, SessionProvider
from benchflow.errors import TrialError
from benchflow.runner.folder import RunFolder
from benchflow.runner.plan import Trial
from benchflow.workspaces.toolchain import Toolchains
from benchflow.workspaces.workspace import Workspace

Keep = Literal["always", "failed", "never"]


class WorkspaceMaker(Protocol):
    """Makes and removes the workspaces of tries."""

    async def make(self, trial: Trial, attempt: int) -> Workspace:
        """Return a fresh one. Raises TrialError(`sandbox`) or TrialError(`setup`)."""
        ...

    def release(self, workspace: Workspace, keep_in: Path | None) -> None:
        """Remove it, or move it to `keep_in`. Called in a thread of its own."""
        ...


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the trials of one arm share."""

    provider: SessionProvider
    scorer: Scorer
    workspaces: WorkspaceMaker
    folder: RunFolder
    clock: Clock
    toolchains: Toolchains | None = None
    """Of scenarios that bring programs; None: none does."""
    keep: Keep = "failed"
    collectors: Sequence[Collector] = ()
    analyzers: Sequence[Analyzer] = ()
    observers: Callable[[Trial], Sequence[EventObserver]] = lambda _: ()
    broken: TrialError | None = None
    """Why no trial of this arm can begin."""
    halted: Callable[[], str | None] = lambda: None
    """Why no further try may begin; None: it may. What is under way goes on."""
