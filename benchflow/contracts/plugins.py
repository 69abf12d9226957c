"""The protocols that plugins implement, and what the runner tells them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from benchflow.contracts.findings import AnalysisResult, CustomMetric
from benchflow.contracts.measures import CostBreakdown, SessionFacts, TokenBreakdown
from benchflow.contracts.session import CreateSessionParams, PromptResult, ProviderConfig, SessionHandle
from benchflow.contracts.trace import Event, SessionTrace
from benchflow.contracts.verdict import ScorerContext, ScorerResult

if TYPE_CHECKING:
    from benchflow.row import ProfileRow
    from benchflow.scenario import Scenario
    from benchflow.workspaces.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class ModeConfig:
    """What a mode changes for its trials."""

    environment: Mapping[str, str] = field(default_factory=dict)
    system_instructions: str | None = None
    provider_overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BeforeScenarioContext:
    scenario: "Scenario"
    mode: str
    model: str
    iteration: int


@dataclass(frozen=True, kw_only=True)
class AfterScenarioContext(BeforeScenarioContext):
    result: "ProfileRow"
    trace: SessionTrace | None


@dataclass(frozen=True, kw_only=True)
class RunContext:
    run_id: str
    modes: Sequence[str]
    scenarios: Sequence[str]
    repetitions: int


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    prompt: str
    model: str
    max_output_tokens: int = 2_000


@dataclass(frozen=True, kw_only=True)
class JudgeResponse:
    text: str
    tokens: TokenBreakdown | None
    cost: CostBreakdown


class EventObserver(Protocol):
    """Sees events as they happen."""

    async def on_event(self, event: Event) -> None: ...


class SteeringSource(Protocol):
    """May have something to say to the agent; polled between turns."""

    async def next_steering_messages(self) -> list[str]: ...


class SessionProvider(Protocol):
    """Runs sessions of one agent.

    In this order: `create_session`, `prompt` (one or more), `stop_session`, `export_session`, `destroy_session`. What
    breaks is raised as TrialError, whose code says who broke it; or it is in the result of the prompt.

    With the capability `gateway` the run itself times the prompts, records turns, meters tokens and cost, and enforces
    the budgets; `facts` and the trace then add what only the provider knows.
    """

    @property
    def id(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[str]:
        """Of `capture` (exchanges are recorded), `steering`, `permissions`, `mcp`; and of `gateway` (the model is asked
        at `CreateSessionParams.endpoint`, in the dialect that an attribute `api_protocol` names, if there is one) and
        `tools` (and it is offered tools).
        """
        ...

    async def init(self, config: ProviderConfig) -> None: ...

    async def create_session(self, params: CreateSessionParams) -> SessionHandle: ...

    async def prompt(self, handle: SessionHandle, text: str, timeout_s: float | None = None) -> PromptResult:
        """Send one prompt and wait for its end. Cancelling this call ends the turn over the protocol."""
        ...

    async def stop_session(self, handle: SessionHandle) -> "Workspace":
        """End the agent and everything it started, and return only when nothing of it is alive."""
        ...

    async def export_session(self, handle: SessionHandle) -> SessionTrace: ...

    def facts(self, handle: SessionHandle) -> SessionFacts:
        """Return what was measured. Complete once the session is stopped."""
        ...

    async def destroy_session(self, handle: SessionHandle) -> None:
        """Free folders and sockets."""
        ...

    async def shutdown(self) -> None: ...


class Scorer(Protocol):
    @property
    def id(self) -> str: ...

    async def evaluate(self, scenario: "Scenario", context: ScorerContext) -> ScorerResult: ...


class Collector(Protocol):
    @property
    def id(self) -> str: ...

    async def collect(
        self, result: "ProfileRow", scenario: "Scenario", mode: str, *, trace: SessionTrace | None = None
    ) -> list[CustomMetric]: ...


class Analyzer(Protocol):
    @property
    def name(self) -> str: ...

    async def analyze(self, trace: SessionTrace, scenario: "Scenario", mode: str) -> AnalysisResult: ...


class ModeResolver(Protocol):
    async def resolve(self, mode: str) -> ModeConfig:
        """Return what a mode is. Raises LookupError for one that it does not know: then the next resolver is asked."""
        ...


class JudgeProvider(Protocol):
    @property
    def id(self) -> str: ...

    async def judge(self, request: JudgeRequest) -> JudgeResponse: ...


class RunHooks:
    """Override what you need. A hook's error is logged and ends nothing; `after_scenario` fires on failure too."""

    async def before_run(self, context: RunContext) -> None: ...

    async def before_mode(self, mode: str) -> None: ...

    async def before_scenario(self, context: BeforeScenarioContext) -> None: ...

    async def after_scenario(self, context: AfterScenarioContext) -> None: ...

    async def after_mode(self, mode: str) -> None: ...

    async def after_run(self, context: RunContext, rows: "Sequence[ProfileRow]") -> None: ...
