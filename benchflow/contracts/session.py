"""What a provider is told of a session, and what it says of a prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.clock import Clock
from benchflow.contracts.measures import (
    CompletionReason,
    CostBreakdown,
    LimitHit,
    Limits,
    TimingBreakdown,
    TokenBreakdown,
    ToolCallBreakdown,
)
from benchflow.errors import ErrorCode

if TYPE_CHECKING:
    from benchflow.contracts.plugins import EventObserver
    from benchflow.scenario_file import Solution
    from benchflow.workspaces.toolchain import Toolchain
    from benchflow.workspaces.workspace import Workspace


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
class ModelEndpoint:
    """Where a session asks its model so that its calls are on record, metered, priced and held to its budgets."""

    base_urls: Mapping[str, str]
    """By dialect, what its clients expect: `{"openai-completions": "http://127.0.0.1:41/v1", ...}`."""
    api_key: str
    """Of this session alone. The real one is put in behind it."""


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
    limits: Limits = field(default_factory=Limits)
    permissions: PermissionConfig = PermissionConfig()
    mcp_servers: Sequence[McpServer] = ()
    observers: "Sequence[EventObserver]" = ()
    endpoint: ModelEndpoint | None = None
    """None: the provider does not have the capability `gateway`."""
    clock: Clock = field(default_factory=Clock)
    """The run's, from which events take their time."""


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
