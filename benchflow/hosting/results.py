"""What the end of a prompt comes to, from what was measured of it. Pure."""

from collections.abc import Sequence

from benchflow.contracts import LimitHit, PromptMetrics, PromptResult, TimingBreakdown, ToolCallBreakdown
from benchflow.errors import TrialError
from benchflow.gateway.message import Exchange
from benchflow.hosting import metering


def prompt_result(
    text: str,
    exchanges: Sequence[Exchange],
    *,
    wall_ms: float,
    stop_reason: str | None = None,
    limit: LimitHit | None = None,
    error: TrialError | None = None,
) -> PromptResult:
    """Return the result of a prompt: of its own end, of a limit, or of the agent's failure."""
    return PromptResult(
        text=text,
        metrics=PromptMetrics(
            tokens=metering.total_tokens(exchanges),
            timing=TimingBreakdown(wall_ms=round(wall_ms, 3)),
            tool_calls=ToolCallBreakdown(),
            cost=metering.total_cost(exchanges),
        ),
        completion_reason="error" if error else "timeout" if limit else "stop",
        stop_reason=stop_reason,
        limit=limit,
        error=str(error) if error else None,
        error_code=error.code if error else None,
    )


def time_limit(used_s: float, allowed_s: float | None) -> LimitHit:
    """Say that the time of the trial's prompts was up, after how much of it, as measured."""
    return LimitHit(
        kind="timeout_s",
        allowed=used_s if allowed_s is None else allowed_s,
        used=round(used_s, 3),
        phase="hard",
        counter="wall_clock",
    )
