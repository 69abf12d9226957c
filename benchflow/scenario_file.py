"""What stands in `scenario.toml`: its keys, their types and defaults, and what must agree with what."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, model_validator

from benchflow.checks import Check, InnerPath, RubricCheck, Seconds, Text, Weight
from benchflow.model import Number, StrictModel, Whole, wrong

IDENTIFIER = r"^[a-z0-9][a-z0-9._-]*$"
Amount = Annotated[Whole, Field(ge=1)]
Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER)]


def _pinned(requirement: str) -> str:
    if "==" not in requirement or "*" in requirement:
        raise wrong(f"must be pinned, as in `pytest==8.4.2`; it is {requirement!r}")
    return requirement


class RunStep(StrictModel):
    """A bash line, run in the workspace."""

    run: Text


class WriteStep(StrictModel):
    """A file written whole."""

    write: InnerPath
    content: str


def _kind_of_step(step: Any) -> str:
    given = step if isinstance(step, dict) else vars(step) if isinstance(step, StrictModel) else {}
    return "write step" if "write" in given or ("content" in given and "run" not in given) else "run step"


Step = Annotated[
    Annotated[RunStep, Tag("run step")] | Annotated[WriteStep, Tag("write step")], Discriminator(_kind_of_step)
]


class Solution(StrictModel):
    """The scenario's own answer: what to do, step by step, and what to say at the end."""

    steps: tuple[Step, ...] = ()
    answer: str = "Done."


class WorkspaceFiles(StrictModel):
    """What the agent finds: the scenario's folder `workspace`, then `files`, then what `setup` makes of them."""

    files: dict[InnerPath, str] = Field(default_factory=dict)
    """Small files, by their path."""
    setup: str = ""
    """Bash, run in the workspace before the agent starts. It should make the same every time: no network, no clock."""
    setup_timeout_s: Seconds = 120.0
    hosts: tuple[Text, ...] = ()
    """Hosts that the agent may reach beside its model."""


class Tools(StrictModel):
    """Programs that the scenario needs on PATH, for the agent, the solution and the checks alike."""

    python: tuple[Annotated[Text, AfterValidator(_pinned)], ...] = ()
    """Packages with their versions, `pytest==8.4.2`, installed as wheels into an environment that is made once."""


class ScenarioLimits(StrictModel):
    """Budgets of a trial. None: no such budget, or BenchFlow's default."""

    timeout_s: Seconds | None = None
    """Wall time of all prompts together."""
    max_turns: Amount | None = None
    """Completed main model requests; where none are seen, tool calls."""
    grace_turns: Annotated[Whole, Field(ge=0)] | None = None
    """How many of them are left when the agent is warned."""
    max_subagent_turns: Annotated[Whole, Field(ge=0)] | None = None
    max_tool_calls: Amount | None = None
    max_tokens: Amount | None = None
    max_output_tokens: Amount | None = None
    max_cost_usd: Annotated[Number, Field(ge=0)] | None = None
    idle_timeout_s: Seconds | None = None
    idle_in_tools: bool | None = None
    grace: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """The share of every budget but `max_turns` that is left when the agent is warned."""
    wrap_up: Literal["inject", "reprompt"] | None = None
    wrap_up_message: Text | None = None


class Criterion(StrictModel):
    """One question to a judge."""

    id: Identifier
    description: Text
    kind: Literal["pass_fail", "scale"] = "pass_fail"
    """`scale`: from 1 to 5."""
    weight: Weight = 1.0


class Rubric(StrictModel):
    """What a judge is asked about the outcome."""

    instructions: str = ""
    criteria: tuple[Criterion, ...] = Field(min_length=1)


class ScenarioText(StrictModel):
    """What stands in `scenario.toml`."""

    schema_version: Literal[1]
    id: Identifier
    name: Text
    description: str = ""
    difficulty: Literal["easy", "medium", "hard"] = "medium"
    prompt: Text | None = None
    """The one prompt. Read `Scenario.prompts`, which has it in any case."""
    prompts: tuple[Text, ...] = ()
    """Several prompts, sent one after another as each is answered."""
    timeout_s: Seconds = 900.0
    """Wall time of all prompts together."""
    allowed_retries: Whole = Field(default=0, ge=0)
    """How often a trial that the model's provider broke may be repeated."""
    tags: tuple[Text, ...] = ()
    limits: ScenarioLimits = Field(default_factory=ScenarioLimits)
    workspace: WorkspaceFiles = Field(default_factory=WorkspaceFiles)
    tools: Tools = Field(default_factory=Tools)
    checks: tuple[Check, ...] = Field(min_length=1)
    solution: Solution | None = None
    rubric: Rubric | None = None
    extensions: dict[str, Any] = Field(default_factory=dict)
    """For plugins and for people; BenchFlow leaves it alone."""

    @model_validator(mode="after")
    def _hangs_together(self) -> "ScenarioText":
        if bool(self.prompt) == bool(self.prompts):
            raise wrong("give either `prompt` or `prompts`")
        if "timeout_s" in self.model_fields_set and self.limits.timeout_s is not None:
            raise wrong("`timeout_s` and `limits.timeout_s` are the same budget; keep one of them")
        if not any(check.weight for check in self.checks):
            raise wrong("every check has weight 0, so that nothing could earn a score; give one a weight")
        named = [check.id for check in self.checks if check.id]
        for name in named:
            if named.count(name) > 1:
                raise wrong(f"two checks have the id `{name}`; rename one")
        return self._with_rubric()

    def _with_rubric(self) -> "ScenarioText":
        asked = [check for check in self.checks if isinstance(check, RubricCheck)]
        if bool(asked) != (self.rubric is not None):
            raise wrong("a `[rubric]` and a check of kind `rubric` need each other; add the one that is missing")
        criteria = {criterion.id for criterion in self.rubric.criteria} if self.rubric else set()
        for check in asked:
            if check.criterion is not None and check.criterion not in criteria:
                raise wrong(f"a check names the criterion `{check.criterion}`, which `[rubric]` has not")
        return self
