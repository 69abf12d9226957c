"""What a scorer may look at, and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchflow.contracts.trace import SessionTrace

if TYPE_CHECKING:
    from benchflow.workspaces.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class ScorerCheckResult:
    id: str
    description: str
    passed: bool
    actual: str | None = None
    """What was found, its last 4,000 characters."""
    expected: str | None = None
    error: str | None = None
    """Why the check could not be judged; the trial is then unscored."""
    weight: float = 1.0
    grade: float | None = None
    """In [0, 1], what it earns of its weight; None: all of it if it passed, else nothing."""
    rationale: str | None = None
    """Why a judge says so, shown whether it passed or not; None: no judge was asked."""


@dataclass(frozen=True, kw_only=True)
class ScorerResult:
    """A verdict. `error` set: there is none, and the trial is unscored, which is neither 0 nor a pass."""

    success: bool | None
    """Every check passed; None if unscored."""
    passed: int
    total: int
    details: tuple[ScorerCheckResult, ...]
    output_valid: bool = True
    """The agent said something."""
    error: str | None = None
    score: float | None = None
    """earned weight / total weight, in [0, 1]; None if unscored."""
    extensions: Mapping[str, Any] = field(default_factory=dict)
    """What else the row keeps of the scoring, also of one that failed: a judge's tokens and cost under `judge`."""


@dataclass(frozen=True, kw_only=True)
class ScorerContext:
    """What a scorer may look at."""

    agent_output: str
    workspace: "Workspace"
    trace: SessionTrace | None = None
    mode: str = "baseline"
    model: str = ""
    iteration: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """`trial` (its key), `attempt`, `folder` (a Path: the try's, where a scorer may leave files), and of a stored run
    `diff` (what the agent changed, as it was written down).
    """
