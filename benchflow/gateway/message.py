"""What goes through the gateway: raw requests and responses, what a dialect reads in them, what is recorded of them."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, overload

from benchflow.contracts import CostBreakdown, LimitHit, TokenBreakdown
from benchflow.gateway.handling import Attempt, PlayedFault

if TYPE_CHECKING:
    from benchflow.gateway.http.spool import LongBody

Headers = tuple[tuple[str, str], ...]
"""Names as received, in order, repeats kept."""

Role = Literal["main", "auxiliary", "subagent"]
Origin = Literal["upstream", "gateway"]
End = Literal["complete", "client_gone", "upstream_cut", "refused"]
RouteKind = Literal["generate", "count_tokens", "models", "probe"]
ExchangeKind = RouteKind | Literal["other"]
"""What a request was for; `other`: no known dialect has such a path."""
UNANSWERED_MS = 120_000.0
"""A client that leaves after so long without even the head of a response has left an upstream that did not answer."""
ChangeKind = Literal["credentials", "hop_headers", "model", "wrap_up", "replay"]
"""`replay`: what a cassette's answer has of this trial instead of the recorded one."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One of the few things that the gateway may change in a request."""

    kind: ChangeKind
    path: str
    """Where: `body.model`, `header.authorization`, `url.model`, ..."""
    before: Any
    after: Any
    """Credentials are never shown: both sides are then a word for what stood there."""


@dataclass(frozen=True, kw_only=True)
class RawRequest:
    """A request as it came in, or as it goes out."""

    method: str
    path: str
    """Undecoded, as on the wire, without the query."""
    query: str
    """Undecoded, without the `?`."""
    headers: Headers
    body: bytes
    changes: tuple[Change, ...] = ()
    """What was changed in it so far."""
    long: "LongBody | None" = None
    """Where a body lies that is too long for memory; `body` is then its short form, fit to be read, or empty."""

    def header(self, name: str) -> str | None:
        """Return the first header of that name, in whatever case."""
        return find_header(self.headers, name)


def find_header(headers: Headers, name: str) -> str | None:
    """Return the first header of that name, in whatever case; None where there is none."""
    name = name.lower()
    for key, value in headers:
        if key.lower() == name:
            return value
    return None


class Body(Protocol):
    """The bytes of a response as they arrive. Raises `UpstreamCut` where the upstream breaks off.

    Whoever takes it closes it, at its end or before: that lets go of the sender.
    """

    def __aiter__(self) -> Self: ...

    def __anext__(self) -> Awaitable[bytes]: ...

    def aclose(self) -> Awaitable[None]: ...


class Chunks:
    """A body that is all there already."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, kw_only=True)
class RawResponse:
    """A response whose body is still coming."""

    status: int
    headers: Headers
    chunks: Body
    reason: str = ""
    """What stood beside the status."""
    origin: Origin = "upstream"
    unplayable: str | None = None
    """Why the upstream cannot do its part in this trial at all, whatever it answers: the trial is then unscored."""
    cost: CostBreakdown | None = None
    """What it cost, where the upstream knows that by itself; None: it is to be priced."""


class UpstreamCut(Exception):
    """The upstream could not be reached, or broke off before its response was complete."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """What a path of a dialect means."""

    kind: RouteKind
    tail: str
    """What follows the provider's base URL."""
    model: str | None = None
    """Where the dialect has it in the path."""
    stream: bool = False
    """Where the dialect says so in the path."""
    own: bool = False
    """The path is the dialect's alone, although others would take it too."""


@dataclass(frozen=True, kw_only=True)
class ToolDefinition:
    """A tool that a request offers, in any dialect."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema; empty where the dialect gives none."""
    kind: str = "function"
    """The dialect's own word for what kind of tool it is: `function`, or one that is called in another form."""
    namespace: str | None = None
    """Where the dialect groups tools: what stands, with a dot, at the beginning of the name."""


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """A call that the model asked for."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    """Empty where the arguments are no JSON object."""


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What the agent sends back for a call."""

    call_id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of a conversation, in any dialect. A message may hold texts, calls and results at once."""

    role: Literal["system", "user", "assistant", "tool"]
    texts: tuple[str, ...] = ()
    """The text parts, in order."""
    tool_uses: tuple[ToolUse, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()


class Messages(Sequence[Message]):
    """The messages of a request, each read when it is asked for: there may be hundreds that nobody looks at."""

    def __init__(self, items: Sequence[Any], read: Callable[[Any], Message]) -> None:
        self._items = items
        self._read = read

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> "Messages": ...
    def __getitem__(self, index: int | slice) -> "Message | Messages":
        if isinstance(index, slice):
            return Messages(self._items[index], self._read)
        return self._read(self._items[index])

    def __iter__(self) -> Iterator[Message]:
        return map(self._read, self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """What a dialect reads in a generate request."""

    model: str
    messages: Sequence[Message]
    tools: tuple[ToolDefinition, ...]
    tool_choice: str | None
    """`auto`, `none`, `required`, or the name of the one tool that is forced; None: not said."""
    stream: bool
    include_usage: bool = True
    """The client wants the usage at the end of a stream."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema that the answer's text must fit; None: any text."""
    stream_form: Literal["events", "array"] = "events"
    """A stream comes as events, or, where the dialect knows that too, as one JSON array in pieces."""
    continues: str | None = None
    """The id of the response whose conversation, kept by the server, this request goes on with; None: all is in it."""
    conversation: str | None = None
    """The server's id of a conversation that it keeps, and adds to with each request; None: there is none."""
    compacts: bool = False
    """It asks for the conversation in a shorter form, and for no answer to it."""


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """What an upstream of ours answers, before a dialect writes it."""

    text: str = ""
    tool_calls: tuple[ToolUse, ...] = ()
    tokens: TokenBreakdown = field(default_factory=TokenBreakdown)


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """What an assembler made of a response."""

    body: Any
    """The whole response as one JSON value, for a stream too; None where it is not JSON."""
    id: str | None = None
    """By which a later request may go on with the response; None: its server does not keep it."""
    model: str | None = None
    text: str = ""
    thought: str = ""
    tool_calls: tuple[ToolUse, ...] = ()
    finish: str | None = None
    """The dialect's own word for why it ended."""
    tokens: TokenBreakdown | None = None
    """None: the response did not say."""
    complete: bool = False
    """The response reached its end as the dialect defines it."""
    error: str | None = None
    refused: bool = False
    """The error is one inside a response with status 200, and says that the request was refused for what is in it."""


@dataclass(frozen=True, kw_only=True)
class ExchangeBegun:
    """A model request that has just arrived."""

    id: str
    seq: int
    ts: str
    mono_ms: float
    role: Role
    role_reason: str
    turn: int | None
    """Index of the turn that it will be if it completes; None where it is not main."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One model request with its response, as the gateway saw it, without the bodies: those are in `llm.jsonl`."""

    id: str
    seq: int
    """Order of arrival in the trial, from 0."""
    kind: ExchangeKind
    path: str
    """As the agent asked for it, without the query."""
    ts: str
    mono_ms: float
    """Both of its arrival."""
    duration_ms: float
    ttft_ms: float | None
    """To the first byte of the response's body."""
    role: Role
    role_reason: str
    turn: int | None
    """Index of the turn that a completed main exchange was; None for others."""
    origin: Origin
    status: int | None
    """None: no response came."""
    end: End
    model_asked: str | None
    model_sent: str | None
    model_answered: str | None
    answer: Assembled
    """Without its body."""
    tokens: TokenBreakdown | None
    cost: CostBreakdown
    changes: Sequence[Change] = ()
    sha256_received: str = ""
    """Of the request's body as the agent sent it."""
    sha256_forwarded: str | None = None
    """Of the same as it was sent on; None: it was not."""
    after_prompt: bool = False
    """It began after the prompt's response."""
    held_ms: float = 0.0
    """The part of `duration_ms` during which the gateway held the request: for a limit, or to repeat it."""
    attempts: Sequence[Attempt] = ()
    """All sendings of the request, in order, where the gateway repeats what fails; empty where it does not."""
    fault: PlayedFault | None = None
    """What was played on purpose, on the last sending."""
    limit: LimitHit | None = None
    """The budget of which the agent was first warned in it, or that stopped it; None: none."""
    stopped: bool = False
    """A budget of the trial did not let it through: it counts as nothing that the agent did."""

    @property
    def latency_ms(self) -> float:
        """What it took, without the time for which the gateway held it."""
        return round(self.duration_ms - self.held_ms, 3)

    @property
    def succeeded(self) -> bool:
        """A complete answer of the upstream with a status below 400."""
        return self.end == "complete" and self.status is not None and self.status < 400

    @property
    def failed_upstream(self) -> bool:
        """The upstream failed: 401, 403, 408, 429, 5xx, cut, or no answer. A refusal of ours does not count."""
        if self.origin == "gateway" or self.stopped:
            return False
        if self.end == "upstream_cut" or (self.end == "client_gone" and self._left_waiting):
            return True
        return self.status is not None and (self.status in (401, 403, 408, 429) or self.status >= 500)

    @property
    def _left_waiting(self) -> bool:
        """Whether a client that left had waited in vain: through a fault, for repetitions, or for very long."""
        unanswered = self.status is None and (bool(self.attempts) or self.duration_ms >= UNANSWERED_MS)
        return self.fault is not None or unanswered
