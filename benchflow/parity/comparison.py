"""What a comparison came to: for each scenario both checks, and one verdict over all of them. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from benchflow.parity.capture import Capture, NotRun
from benchflow.parity.neutral import Laid
from benchflow.parity.noise import join
from benchflow.parity.outcome import MARGIN, OutcomeCheck, compare_outcomes
from benchflow.parity.wire import WireCheck, compare_laid, measure_noise

Word = Literal["parity", "divergence", "undecided"]
EXIT_CODES: dict[Word, int] = {"parity": 0, "divergence": 1, "undecided": 3}
NOT_CAPTURED = "its model calls are not routed through BenchFlow: there is nothing on the wire to compare"
NO_CALL = "no model call was recorded on either side, although its manifest declares how they are routed"


@dataclass(frozen=True, kw_only=True)
class WireVerdict:
    """Whether the agent inside asked its model the very same."""

    word: Word
    check: WireCheck | None
    """Of the run inside that differs most; None: there was nothing to compare."""
    reason: str | None = None
    """Why there was nothing to compare."""


@dataclass(frozen=True, kw_only=True)
class OutcomeVerdict:
    """Whether the same came of it."""

    word: Word
    check: OutcomeCheck | None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScenarioParity:
    """Both checks on one scenario."""

    scenario: str
    scenario_digest: str
    wire: WireVerdict | None
    """None: the agent's tier does not allow it."""
    outcome: OutcomeVerdict
    alone_s: float
    """Seconds that the agent took, over all its runs alone."""
    inside_s: float
    runs_alone: int
    runs_inside: int

    @property
    def word(self) -> Word:
        """The worse of the two."""
        return worst([self.outcome.word, *([self.wire.word] if self.wire else [])])


@dataclass(frozen=True, kw_only=True)
class Parity:
    """A whole comparison."""

    agent: str
    agent_version: str | None
    agent_digest: str
    isolation: str | None
    upstream: str
    without: tuple[str, ...]
    """Rules that were not applied."""
    margin: float
    scenarios: tuple[ScenarioParity, ...]
    took_s: float
    """Of the whole command, without an install."""
    kept: bool = False
    """The runs alone are those of a fixture."""

    @property
    def word(self) -> Word:
        return worst([each.word for each in self.scenarios])

    @property
    def exit_code(self) -> int:
        """0 on parity, 1 on divergence, 3 where it could not be decided."""
        return EXIT_CODES[self.word]

    @property
    def agent_s(self) -> float:
        """Seconds that the agent itself took: both sides run at the same time, so that of the slower one counts."""
        alone = 0.0 if self.kept else sum(each.alone_s for each in self.scenarios)
        return max(alone, sum(each.inside_s for each in self.scenarios))


def worst(words: Sequence[Word]) -> Word:
    """A divergence is one, whatever else is undecided."""
    for word in ("divergence", "undecided"):
        if word in words:
            return word
    return "parity" if words else "undecided"


def compare(
    alone: Sequence[Capture | NotRun],
    inside: Sequence[Capture | NotRun],
    *,
    scenario: str,
    scenario_digest: str,
    captured: bool = True,
    without: Collection[str] = (),
    margin: float = MARGIN,
) -> ScenarioParity:
    """Compare the runs of one scenario. `captured`: the agent's model calls are routed, so they can be compared."""
    base = [each for each in alone if isinstance(each, Capture)]
    head = [each for each in inside if isinstance(each, Capture)]
    missing = _missing(alone, inside)
    return ScenarioParity(
        scenario=scenario,
        scenario_digest=scenario_digest,
        wire=_wire(base, head, missing, without) if captured else None,
        outcome=_outcome(base, head, missing, margin),
        alone_s=round(sum(each.took_s for each in base), 3),
        inside_s=round(sum(each.took_s for each in head), 3),
        runs_alone=len(base),
        runs_inside=len(head),
    )


def _missing(alone: Sequence[Capture | NotRun], inside: Sequence[Capture | NotRun]) -> str | None:
    """Say which side could not be run, and why."""
    for runs, where in ((alone, "alone"), (inside, "inside")):
        if not any(isinstance(each, Capture) for each in runs):
            reasons = list(dict.fromkeys(each.reason for each in runs if isinstance(each, NotRun)))
            return f"the agent could not be run {where}: {'; '.join(reasons) or 'there was no run'}"
    return None


def _wire(
    base: Sequence[Capture], head: Sequence[Capture], missing: str | None, without: Collection[str]
) -> WireVerdict:
    if missing is not None:
        return WireVerdict(word="undecided", check=None, reason=missing)
    if not any(each.requests for each in (*base, *head)):
        return WireVerdict(word="undecided", check=None, reason=NO_CALL)
    first, *others = [Laid(each) for each in base]
    noise = join(measure_noise(first, each) for each in others)  # by all rules: what one takes out is no noise
    first = Laid(base[0], without) if without else first
    checks = [compare_laid(first, Laid(each, without), noise) for each in head]
    check = max(checks, key=_divergences)
    return WireVerdict(word="parity" if check.parity else "divergence", check=check)


def _divergences(check: WireCheck) -> int:
    return sum(len(request.differences) for request in check.requests)


def _outcome(base: Sequence[Capture], head: Sequence[Capture], missing: str | None, margin: float) -> OutcomeVerdict:
    if missing is not None:
        return OutcomeVerdict(word="undecided", check=None, reason=missing)
    check = compare_outcomes(base, head, margin=margin)
    word: Word = "divergence" if check.diverges else "parity" if check.parity else "undecided"
    return OutcomeVerdict(word=word, check=check)
