"""What the gateway forwards to: a provider, the oracle, a cassette. An upstream can be wrapped by another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from benchflow.gateway.dialects.dialect import Dialect
from benchflow.gateway.handling import Handling
from benchflow.gateway.message import ModelRequest, RawRequest, RawResponse, Role, Route

if TYPE_CHECKING:
    from benchflow.scenario import Solution


PLAYED = frozenset({"oracle", "null", "script"})
"""Names of the upstreams that answer without any model."""


def _ignore(request: RawRequest) -> None: ...


@dataclass(frozen=True, kw_only=True)
class TrialContext:
    """What an upstream may know of the trial, and of the request as the gateway understood it."""

    trial: str
    attempt: int
    model: str
    """The model that main requests must name; empty: whatever they name."""
    alone: bool = False
    """There is no trial, and nobody says what the client is prompted with: every request is main."""
    prompts: Sequence[str] = ()
    solution: "Solution | None" = None
    iteration: int = 0
    scenario_id: str = ""
    workspace: str = ""
    """The agent's working directory, as the agent sees it."""
    home: str = ""
    tmp: str = ""
    port: int | None = None
    """Where the agent finds the gateway."""
    memory: dict[str, Any] = field(default_factory=dict)
    """What upstreams keep of the trial between its requests; it goes when the trial does."""
    dialect: Dialect | None = None
    route: Route | None = None
    parsed: ModelRequest | None = None
    """None: no generate request, or one that cannot be read."""
    role: Role = "main"
    prompt: int | None = None
    """Index of the last prompt that the client sent; None: it sent none yet."""
    handling: Handling | None = None
    """Where what became of the request is written down; None: nobody records it."""
    on_sent: Callable[[RawRequest], None] = _ignore
    """Whoever answers the request calls this with the request as it was taken or sent on, once it was."""


class Upstream(Protocol):
    @property
    def name(self) -> str:
        """Short, for messages and logs: `oracle`, `null`, `script`, or the provider's name."""
        ...

    @property
    def priced_as(self) -> str | None:
        """The provider's id in the price list; None: what it answers has no known price."""
        ...

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Answer the request. The response's chunks raise UpstreamCut where it breaks off; `send` raises it where no
        response came at all.
        """
        ...

    async def aclose(self) -> None: ...
