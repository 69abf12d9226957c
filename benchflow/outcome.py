"""What a trial's end means: which reason and code its row gets, and whether it is scored.

Pure. Who broke it decides: what the agent or a budget did is scored on what is there; what the surroundings did is
neither 0 nor a pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchflow.contracts import CompletionReason, Fault, LimitHit, PromptResult
from benchflow.errors import SCORED_CODES, ErrorCode, TrialError
from benchflow.gateway.message import Exchange

PRECEDENCE: tuple[ErrorCode, ...] = (
    "cancelled",
    "sandbox",
    "upstream",
    "install",
    "launch",
    "handshake",
    "auth",
    "model",
    "setup",
    "capture",
    "scorer",
    "crash",
    "protocol",
    "rejected",
)
"""Where two causes apply, the first of these is the row's; every one of them goes before a budget."""

BEFORE_SCORING = "before_scoring"
"""Where, among the extensions of a row whose scorer failed, the outcome stands that the trial would have had."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a try ended."""

    completion_reason: CompletionReason
    error_code: ErrorCode | None = None
    error: str | None = None
    stop_reason: str | None = None
    wrapped_up: bool = False
    limit: LimitHit | None = None

    @property
    def scored(self) -> bool:
        """Whether what the agent left behind is judged at all."""
        return self.error_code is None or self.error_code in SCORED_CODES


def decide(results: Sequence[PromptResult], failure: TrialError | None, fault: Fault | None) -> Outcome:
    """Join the ends of the prompts, the error that broke the try, and what the exchanges say, into one outcome."""
    last = results[-1] if results else None
    causes = [Fault(code=failure.code, message=str(failure))] if failure else []
    if fault:
        causes.append(fault)
    if last and last.error_code:
        causes.append(Fault(code=last.error_code, message=last.error or last.error_code))
    stop_reason = last.stop_reason if last else None
    if causes:
        first = min(causes, key=lambda cause: PRECEDENCE.index(cause.code))
        others = [cause.message for cause in causes if cause.code != first.code]
        return Outcome(
            completion_reason="error",
            error_code=first.code,
            error="; ".join([first.message, *(f"also: {other}" for other in others)]),
            stop_reason=stop_reason,
            limit=last.limit if last else None,
        )
    if last is None:
        raise ValueError("a try without a prompt and without a failure has no outcome")
    return Outcome(
        completion_reason=last.completion_reason,
        error=last.error,
        stop_reason=stop_reason,
        wrapped_up=last.wrapped_up,
        limit=last.limit,
    )


def exchange_fault(exchanges: Sequence[Exchange], *, require_capture: bool) -> Fault | None:
    """Say what the exchanges of a session, in which at least one prompt was sent, say went wrong.

    Only the last main exchange counts: a failure that a later one got past changes nothing.
    """
    main = [exchange for exchange in exchanges if exchange.role == "main"]
    if not main:
        return _uncaptured(exchanges) if require_capture else None
    last = main[-1]
    if last.failed_upstream:
        return Fault(code="upstream", message=f"the last model request failed at the upstream: {_ending(last)}")
    if last.origin == "upstream" and (last.end == "refused" or (last.status is not None and last.status >= 400)):
        if any(exchange.succeeded for exchange in main):
            return Fault(code="rejected", message=f"the upstream refused what the agent sent: {_ending(last)}")
        return Fault(code="setup", message=f"the upstream refused the very first model request: {_ending(last)}")
    return None


def _uncaptured(exchanges: Sequence[Exchange]) -> Fault:
    seen = f"{len(exchanges)} auxiliary ones" if exchanges else "none at all"
    return Fault(
        code="capture",
        message=f"no main model request reached the gateway ({seen}); check the manifest's routing",
    )


def _ending(exchange: Exchange) -> str:
    if exchange.status is None:
        return exchange.answer.error or f"no answer in {exchange.duration_ms / 1000:.0f} s"
    cut = ", cut" if exchange.end == "upstream_cut" else ""
    said = f": {exchange.answer.error}" if exchange.answer.error else ""
    return f"status {exchange.status}{cut}{said}"
