"""What a user said of the scoring: values, before anything is looked up."""

from dataclasses import dataclass, field

from benchflow.errors import InputError


@dataclass(frozen=True, kw_only=True)
class JudgeChoice:
    """What the user said of the judge."""

    provider: str | None = None
    """A `JudgeProvider`: a plugin's name, or `module:attribute`. None: a model is asked."""
    model: str | None = None
    """`provider/model`, or a name that `upstream` knows."""
    upstream: str | None = None
    """A base URL, a provider's name, or `script:FILE`."""
    repeats: int = 1
    """Verdicts on each trial."""

    def __post_init__(self) -> None:
        if self.provider and (self.model or self.upstream):
            raise InputError("--judge: it is somebody's own judge; leave out --judge-model and --judge-upstream")

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
