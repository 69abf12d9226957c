"""What a user said of the scoring: values, before anything is looked up."""

from dataclasses import dataclass, field
from pathlib import Path

from benchflow.errors import InputError


@dataclass(frozen=True, kw_only=True)
class JudgeChoice:
    """What the user said of the judge."""

    provider: str | None = None
    """A `JudgeProvider`: a plugin's name, or `module:attribute`. None: a model is asked."""
    model: str | None = None
    """`provider/model`, or a name that `upstream` knows."""
    upstream: str | None = None
    """A base URL, a provider's name, `script:FILE`, or `cassette:FILE`."""
    repeats: int = 1
    """Verdicts on each trial."""
    record: Path | None = None
    """The cassette to write; None: none."""

    def __post_init__(self) -> None:
        if self.provider and (self.model or self.upstream or self.record):
            raise InputError(
                "--judge: it is somebody's own judge; leave out --judge-model, --judge-upstream and --judge-record"
            )

    @property
    def named(self) -> bool:
        """Whether there is a judge at all."""
        return any((self.provider, self.model, self.upstream))


@dataclass(frozen=True, kw_only=True)
class ScorerChoice:
    """What the user said of the scorer, and of its judge."""

    scorer: str | None = None
    """`checks`, `rubric`, `composite`, or a plugin. None: `composite` where a scenario has a rubric, else `checks`."""
    judge: JudgeChoice = field(default_factory=JudgeChoice)
