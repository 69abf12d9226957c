"""The plugin contracts, and the values that they exchange.

Everything here is a frozen value or a protocol. This module knows nothing of ACP, gateways or sandboxes: a provider
that speaks something else altogether implements the same contracts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from benchflow.errors import ErrorCode

if TYPE_CHECKING:
    from benchflow.row import ProfileRow
    from benchflow.scenario import Scenario
    from benchflow.scenario_file import Solution
    from benchflow.toolchain import Toolchain
    from benchflow.workspace import Workspace

CompletionReason = Literal["stop", "timeout", "error", "tool_limit"]
"""How a trial ended: the agent ended its turn, a time budget, an error (see `ErrorCode`), another budget."""

EventType = Literal[
    "prompt_begin",
    "prompt_end",
    "turn_begin",
    "turn_end",
    "user_message",
    "agent_message",
    "agent_thought",
    "tool_call",
    "tool_call_update",
    "plan",
    "permission",
    "usage",
    "limit",
    "notice",
    "error",
    "unknown",
]
EventSource = Literal["acp", "gateway", "harness", "derived"]


@dataclass(frozen=True, kw_only=True)
class TokenBreakdown:
    """Token counts of one exchange or one trial.

    `total = input + output + cache_read + cache_write` and `active = total - cache_read`.
    """

    input: int = 0
    """Prompt tokens, without cache reads and writes."""
    output: int = 0
    """Generated tokens, reasoning included."""
    reasoning: int = 0
    """The part of `output` that was reasoning."""
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    active: int = 0

    @classmethod
    def of(
        cls, *, input: int = 0, output: int = 0, reasoning: int = 0, cache_read: int = 0, cache_write: int = 0
    ) -> "TokenBreakdown":
        """Build a breakdown whose `total` and `active` follow from the rest."""
        fresh = input + output + cache_write
        return cls(
            input=input,
            output=output,
            reasoning=reasoning,
            cache_read=cache_read,
            cache_write=cache_write,
            total=fresh + cache_read,
            active=fresh,
        )

    def __add__(self, other: "TokenBreakdown") -> "TokenBreakdown":
        return TokenBreakdown.of(
            input=self.input + other.input,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, kw_only=True)
class TimingBreakdown:
    """Measured times, never a budget repeated."""

    wall_ms: float
    """From the first prompt sent to the last prompt's end."""
    segments: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage: `workspace`, `session` (of it `launch` and `handshake`), `prompt` (of it `model`, waiting
    on main exchanges), `stop`, `score`.
    """


@dataclass(frozen=True, kw_only=True)
class CostBreakdown:
    """Cost in US dollars."""

    total_usd: float | None
    """None: not known. It is never 0 for want of a price."""
    main_usd: float | None = None
    auxiliary_usd: float | None = None
    source: str | None = None
    """Where the prices come from, with their date."""


ToolStatus = Literal["pending", "in_progress", "completed", "failed"]


@dataclass(frozen=True, kw_only=True)
class ToolCallRecord:
    """One tool call of an agent."""

    id: str
    name: str
    kind: str
    """ACP's tool kind: read, edit, delete, move, search, execute, think, fetch, switch_mode, other."""
    status: ToolStatus
    """The last status seen; a call that the agent never closed stays `pending` or `in_progress`."""
    ms: float | None
    """From announcement to its final status; None if it was never closed."""
    exchange: str | None = None
    """Id of the exchange whose answer asked for this call, if the gateway saw it."""


@dataclass(frozen=True, kw_only=True)
class ToolCallBreakdown:
    """All tool calls of a trial."""

    total: int = 0
    by_category: Mapping[str, int] = field(default_factory=dict)
    """Count by ACP kind."""
    failed: int = 0
    retried: int = 0
    """Calls with the same name and arguments as the failed call before them."""
    error_rate: float | None = None
    """failed / total; None without calls."""
    records: tuple[ToolCallRecord, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ExchangeCounts:
    """How many model exchanges a trial had."""

    main: int = 0
    auxiliary: int = 0
    failed: int = 0
    """Of all, those that the upstream failed: 401, 403, 408, 429, 5xx, cut, or no answer."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that went wrong in a session although its prompt may have ended well."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, kw_only=True)
class SessionFacts:
    """What a provider measured over a whole session, late exchanges included."""

    agent_version: str | None = None
    """What the agent said of itself; None if it did not."""
    model_served: str | None = None
    """What the upstream said that it served, in the last main exchange."""
    isolation: str = "process"
    tokens: TokenBreakdown | None = None
    """None where nothing was metered."""
    cost: CostBreakdown = CostBreakdown(total_usd=None)
    exchanges: ExchangeCounts = ExchangeCounts()
    segments: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage, for `TimingBreakdown.segments`."""
    fault: Fault | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LimitHit:
    """A budget that ended a prompt, or warned of its end."""

    kind: str
    """`timeout_s`, `max_turns`, ..."""
    allowed: float
    used: float
    """As measured, not the budget repeated."""
    phase: Literal["soft", "hard"]
    counter: str
    """What was counted: `wall_clock`, `main_exchanges`, `tool_calls`, ..."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The budgets of one trial. None: no such budget."""

    timeout_s: float | None = None
    """Seconds of wall time for all prompts of the trial together."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happened in a session, on the run's clock."""

    seq: int
    ts: str
    mono_ms: float
    type: EventType
    source: EventSource
    session_id: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """The rest, flattened into the event when it is written; `trace.py` lists the keys of each type."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One completed main exchange and what came of it."""

    index: int
    """From 0."""
    exchange: str
    started_ms: float
    duration_ms: float
    text: str
    thought: str
    tool_calls: Sequence[ToolCallRecord]
    tokens: TokenBreakdown | None


@dataclass(frozen=True, kw_only=True)
class TraceSummary:
    total_turns: int
    total_tool_calls: int
    total_tokens: int | None
    total_duration_ms: float


@dataclass(frozen=True, kw_only=True)
class SessionTrace:
    """The typed value made from a trajectory, which plugins read."""

    session_id: str
    events: Sequence[Event]
    turns: Sequence[Turn]
    tool_calls: ToolCallBreakdown
    summary: TraceSummary


@dataclass(frozen=True, kw_only=True)
class PermissionConfig:
    """How permission requests are answered."""

    auto_approve: bool = True
    """Allow everything but what `allowed_tools` leaves out."""
    allowed_tools: Sequence[str] | None = None
    """Tool names or kinds that are allowed; None: `auto_approve` alone decides."""


@dataclass(frozen=True, kw_only=True)
class ProviderConfig:
    """What a provider is told once, before its first session."""

    model: str
    mode: str = "baseline"
    port: int | None = None
    """Where the gateway listens, for a provider that needs a fixed port."""
    permissions: PermissionConfig = PermissionConfig()
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: Path | None = None
    """Folder for the provider's own files; None: a temporary one."""


@dataclass(frozen=True, kw_only=True)
class McpServer:
    """A stdio MCP server that the agent is asked to start."""

    name: str
    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CreateSessionParams:
    """One session: one try of one trial."""

    scenario_id: str
    iteration: int
    workspace: "Workspace"
    """The folder on the host that the agent works in, as it was prepared."""
    folder: Path
    """The try's folder in the run, for the session's logs."""
    trial: str
    """The trial's key."""
    attempt: int = 1
    """Number of the try, from 1."""
    mode: str = "baseline"
    model: str = ""
    system_instructions: str | None = None
    prompts: Sequence[str] = ()
    """All prompts that will be sent, known in advance to the upstreams that play them."""
    solution: "Solution | None" = None
    """For an upstream that plays the scenario's own answer."""
    toolchain: "Toolchain | None" = None
    """The programs that the scenario brings."""
    limits: Limits = Limits()
    permissions: PermissionConfig = PermissionConfig()
    mcp_servers: Sequence[McpServer] = ()
    observers: "Sequence[EventObserver]" = ()


@dataclass(frozen=True, kw_only=True)
class SessionHandle:
    session_id: str
    """The agent's own name for it; two agents may use the same."""
    provider: str
    created_at: str
    trial: str = ""
    """The trial's key: a trial has one session at a time."""


@dataclass(frozen=True, kw_only=True)
class PromptMetrics:
    tokens: TokenBreakdown | None
    timing: TimingBreakdown
    tool_calls: ToolCallBreakdown
    cost: CostBreakdown


@dataclass(frozen=True, kw_only=True)
class PromptResult:
    """How one prompt ended."""

    text: str
    """What the agent said."""
    metrics: PromptMetrics
    completion_reason: CompletionReason
    stop_reason: str | None
    """ACP's word for it; not an outcome."""
    wrapped_up: bool = False
    """The agent ended cleanly after a warning that its budget was near its end."""
    limit: LimitHit | None = None
    error: str | None = None
    error_code: ErrorCode | None = None


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
    """passed weight / total weight, in [0, 1]; None if unscored."""


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


@dataclass(frozen=True, kw_only=True)
class CustomMetric:
    name: str
    """Namespaced: `mine.files_read`."""
    value: float | int | str | bool | None
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class NumberFinding:
    name: str
    value: float
    unit: str = ""
    kind: Literal["number"] = "number"


@dataclass(frozen=True, kw_only=True)
class StringFinding:
    name: str
    value: str
    kind: Literal["string"] = "string"


@dataclass(frozen=True, kw_only=True)
class ListFinding:
    name: str
    items: Sequence[str]
    kind: Literal["list"] = "list"


@dataclass(frozen=True, kw_only=True)
class TableFinding:
    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | int | None]]
    kind: Literal["table"] = "table"


@dataclass(frozen=True, kw_only=True)
class RatioFinding:
    name: str
    numerator: float
    denominator: float
    kind: Literal["ratio"] = "ratio"


Finding = NumberFinding | StringFinding | ListFinding | TableFinding | RatioFinding


@dataclass(frozen=True, kw_only=True)
class AnalysisResult:
    analyzer: str
    findings: Sequence[Finding]
    summary: str


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

    In this order: `create_session`, `prompt` (one or more), `stop_session`, `export_session`, `destroy_session`.
    """

    @property
    def id(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[str]:
        """Of `capture` (exchanges are recorded), `steering`, `permissions`, `mcp`."""
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
    async def resolve(self, mode: str) -> ModeConfig: ...


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
