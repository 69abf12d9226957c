"""An exchange under way, and what can be said of it when it ends."""

from dataclasses import dataclass
from typing import Any

from benchflow.gateway.handling import Handling
from benchflow.gateway.message import Assembled, End, ExchangeBegun, Origin, RawRequest, RawResponse
from benchflow.gateway.records.bodies import Stored
from benchflow.gateway.records.tape import Tape
from benchflow.gateway.upstream import TrialContext


@dataclass(kw_only=True)
class Pending:
    """An exchange under way."""

    begun: ExchangeBegun
    request: RawRequest
    context: TrialContext
    after_prompt: bool
    handling: Handling
    sent: RawRequest | None = None
    """As it was taken or sent on; None: it was not."""
    stored: Stored = None
    """A long request's body, as it was stored when it came."""
    response: RawResponse | None = None
    tape: Tape | None = None
    """Takes the response down; None: there is none."""
    first_byte_ms: float | None = None
    error: str | None = None
    """What broke it off."""

    @property
    def kind(self) -> Any:
        return self.context.route.kind if self.context.route else "other"


def origin_of(pending: Pending) -> Origin:
    """Say who answered."""
    return pending.response.origin if pending.response else "upstream"


def model_sent(pending: Pending, asked: str | None) -> str | None:
    """Say which model the request named when it went on; None: it did not."""
    if pending.sent is None:
        return None
    changed = [change.after for change in pending.sent.changes if change.path in ("body.model", "url.model")]
    return changed[-1] if changed else asked


def true_end(pending: Pending, answer: Assembled, end: End) -> End:
    """Correct how the connection ended by what the answer itself says."""
    response = pending.response
    if response and response.origin == "gateway" and response.status >= 400:
        return "refused"
    if response is None or pending.kind != "generate" or response.status >= 400:
        return end
    if answer.refused:
        return "refused"
    if answer.complete and end == "client_gone":
        return "complete"  # many clients leave as soon as they have read the end of the stream
    if end == "complete" and not answer.complete:
        return "upstream_cut"  # a stream that ends before its end, or with an error in it, however politely
    return end
