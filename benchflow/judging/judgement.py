"""Joins a judge's verdicts on one outcome into rulings, and says how far the judge agrees with itself. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.contracts import ScorerCheckResult
from benchflow.judging.rubrics import ENOUGH, HIGHEST, Value, grade_of
from benchflow.judging.verdict import Verdict
from benchflow.scenario_file import Criterion, Rubric
from benchflow.stats.agreement import agreement


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What all verdicts together say of one criterion."""

    criterion: Criterion
    values: tuple[Value, ...]
    """One a verdict, in order."""
    passed: bool
    grade: float
    """In [0, 1]."""
    rationale: str
    """Of the first verdict that says what the ruling does, or is nearest to it."""

    @property
    def found(self) -> str:
        """Say in a few words what was found: `pass`, `4 of 5`, `2 of 3 say pass`, `mean 4.33 of 5 (5, 4, 4)`."""
        if self.criterion.kind == "pass_fail":
            passes = self.values.count("pass")
            return str(self.values[0]) if len(self.values) == 1 else f"{passes} of {len(self.values)} say pass"
        if len(self.values) == 1:
            return f"{self.values[0]} of {HIGHEST}"
        return f"mean {_mean(self.values):.2f} of {HIGHEST} ({', '.join(map(str, self.values))})"

    def as_result(self, *, id: str | None = None, weight: float | None = None) -> ScorerCheckResult:
        """Return the ruling as the result of a check."""
        kind = self.criterion.kind
        return ScorerCheckResult(
            id=id or self.criterion.id,
            description=self.criterion.description,
            passed=self.passed,
            actual=self.found,
            expected="pass" if kind == "pass_fail" else f"{ENOUGH} of {HIGHEST} or more",
            weight=self.criterion.weight if weight is None else weight,
            grade=round(self.grade, 6),
            rationale=self.rationale,
        )


@dataclass(frozen=True, kw_only=True)
class SelfAgreement:
    """How far a judge's verdicts on one outcome agree."""

    observed: float
    """The chance that two verdicts on a criterion are the same, averaged over criteria."""
    kappa: float | None
    """Fleiss' kappa over the criteria; None where all verdicts are one and the same value."""
    by_criterion: dict[str, float]


def rule(rubric: Rubric, verdicts: Sequence[Verdict]) -> list[Ruling]:
    """Join one verdict or more: the majority for pass or fail, where a tie fails; the mean for a scale."""
    return [_rule(criterion, verdicts) for criterion in rubric.criteria]


def self_agreement(verdicts: Sequence[Verdict]) -> SelfAgreement | None:
    """Return how far the verdicts agree; None: there is but one."""
    labels = {id: [verdict[id].value for verdict in verdicts] for id in verdicts[0]}
    found = agreement(labels)
    if found.observed is None:
        return None
    by_criterion = {id: agreement({id: values}).observed or 0.0 for id, values in labels.items()}
    return SelfAgreement(
        observed=round(found.observed, 6),
        kappa=None if found.kappa is None else round(found.kappa, 6),
        by_criterion={id: round(share, 6) for id, share in by_criterion.items()},
    )


def _rule(criterion: Criterion, verdicts: Sequence[Verdict]) -> Ruling:
    opinions = [verdict[criterion.id] for verdict in verdicts]
    values: tuple[Value, ...] = tuple(opinion.value for opinion in opinions)
    mean = sum(map(grade_of, values)) / len(values)
    passed = mean > 0.5 if criterion.kind == "pass_fail" else mean >= grade_of(ENOUGH)
    grade = float(passed) if criterion.kind == "pass_fail" else mean
    nearest = min(opinions, key=lambda opinion: abs(grade_of(opinion.value) - grade))
    return Ruling(criterion=criterion, values=values, passed=passed, grade=grade, rationale=nearest.rationale)


def _mean(values: Sequence[Value]) -> float:
    numbers = [value for value in values if not isinstance(value, str)]
    return sum(numbers) / len(numbers)
