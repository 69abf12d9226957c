"""Which reason and code a try's row gets, and whether it is scored: every line of the outcome table."""

import itertools
from dataclasses import replace

import pytest

from benchflow.contracts import (
    CostBreakdown,
    Fault,
    LimitHit,
    PromptMetrics,
    PromptResult,
    TimingBreakdown,
    ToolCallBreakdown,
)
from benchflow.errors import ErrorCode, TrialError
from benchflow.gateway.handling import Attempt, PlayedFault
from benchflow.gateway.message import Assembled, End, Exchange, Origin, Role
from benchflow.outcome import decide, exchange_fault

REFUSED = Attempt(status=503, error="busy", ts="2026-01-01T00:00:00.000000Z", waited_ms=0, duration_ms=1)
BUDGET = LimitHit(kind="timeout_s", allowed=1, used=1.02, phase="hard", counter="wall_clock")


def ended(reason: str = "stop", code: ErrorCode | None = None) -> PromptResult:
    metrics = PromptMetrics(
        tokens=None,
        timing=TimingBreakdown(wall_ms=5),
        tool_calls=ToolCallBreakdown(),
        cost=CostBreakdown(total_usd=None),
    )
    return PromptResult(
        text="done",
        metrics=metrics,
        completion_reason=reason,  # type: ignore[arg-type]
        stop_reason="end_turn" if reason == "stop" else None,
        limit=BUDGET if reason in ("timeout", "tool_limit") else None,
        error="it broke" if code else None,
        error_code=code,
    )


def exchange(
    status: int | None = 200, *, role: Role = "main", end: End = "complete", origin: Origin = "upstream"
) -> Exchange:
    return Exchange(
        id="x1",
        kind="generate",
        path="/v1/chat/completions",
        seq=1,
        ts="2026-01-01T00:00:00.000000Z",
        mono_ms=1,
        duration_ms=1,
        ttft_ms=1,
        role=role,
        role_reason="test",
        turn=None,
        origin=origin,
        status=status,
        end=end,
        model_asked="m",
        model_sent="m",
        model_answered="m",
        answer=Assembled(body=None, error="told so" if status is None or status >= 400 else None),
        tokens=None,
        cost=CostBreakdown(total_usd=None),
    )


@pytest.mark.parametrize("reason", ["stop", "timeout", "tool_limit"])
def test_agents_own_end_and_budgets_are_scored(reason: str) -> None:
    outcome = decide([ended(reason)], None, None)

    assert (outcome.completion_reason, outcome.error_code, outcome.scored) == (reason, None, True)
    assert outcome.limit == (BUDGET if reason != "stop" else None)


@pytest.mark.parametrize("code", ["crash", "protocol", "rejected"])
def test_agents_own_failure_is_scored_on_what_is_there(code: ErrorCode) -> None:
    outcome = decide([ended("error", code)], None, None)

    assert (outcome.completion_reason, outcome.error_code, outcome.scored) == ("error", code, True)


@pytest.mark.parametrize(
    "code",
    [
        "install",
        "launch",
        "handshake",
        "auth",
        "model",
        "sandbox",
        "capture",
        "scorer",
        "setup",
        "upstream",
        "cancelled",
    ],
)
def test_failure_of_the_surroundings_is_unscored(code: ErrorCode) -> None:
    outcome = decide([], TrialError(code, "why"), None)

    assert (outcome.completion_reason, outcome.error_code, outcome.error, outcome.scored) == (
        "error",
        code,
        "why",
        False,
    )


def test_where_two_causes_apply_the_surroundings_go_before_the_agent_and_the_agent_before_a_budget() -> None:
    order: list[ErrorCode] = ["cancelled", "sandbox", "upstream", "auth", "capture", "crash", "protocol"]
    for first, second in itertools.pairwise(order):
        outcome = decide([ended("timeout")], TrialError(second, "second"), Fault(code=first, message="first"))
        assert (outcome.error_code, outcome.error) == (first, "first; also: second")


def test_upstream_failure_counts_whatever_the_agent_says_of_its_end() -> None:
    outcome = decide([ended("stop")], None, exchange_fault([exchange(200), exchange(503)], require_capture=True))

    assert (outcome.error_code, outcome.scored, outcome.stop_reason) == ("upstream", False, "end_turn")


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 502, 503, 529])
def test_last_main_exchange_failed_at_the_upstream(status: int) -> None:
    fault = exchange_fault([exchange(200), exchange(status)], require_capture=True)

    assert fault is not None
    assert fault.code == "upstream"
    assert f"status {status}" in fault.message


def test_cut_and_missing_answers_are_upstream_failures() -> None:
    for broken in (exchange(200, end="upstream_cut"), exchange(None, end="upstream_cut")):
        fault = exchange_fault([exchange(200), broken], require_capture=True)
        assert fault is not None
        assert fault.code == "upstream"


@pytest.mark.parametrize(
    "left",
    [
        replace(exchange(None, end="client_gone"), duration_ms=121_000),
        replace(exchange(None, end="client_gone"), attempts=(REFUSED,)),
        replace(exchange(200, end="client_gone"), fault=PlayedFault(kind="slow", value=10)),
    ],
    ids=["unanswered for long", "repeated in vain", "slow on purpose"],
)
def test_client_that_left_an_upstream_that_did_not_do_its_part_is_an_upstream_failure(left: Exchange) -> None:
    fault = exchange_fault([exchange(200), left], require_capture=True)

    assert fault
    assert fault.code == "upstream"


def test_client_that_left_by_itself_is_no_upstream_failure() -> None:
    assert exchange_fault([exchange(200), exchange(None, end="client_gone")], require_capture=True) is None


def test_refusal_inside_an_answer_is_one_for_what_was_sent() -> None:
    fault = exchange_fault([exchange(200), exchange(200, end="refused")], require_capture=True)

    assert fault
    assert fault.code == "rejected"


def test_failure_that_a_later_main_exchange_got_past_is_none() -> None:
    assert exchange_fault([exchange(503), exchange(429), exchange(200)], require_capture=True) is None


def test_failing_auxiliary_exchange_changes_nothing() -> None:
    assert exchange_fault([exchange(200), exchange(500, role="auxiliary")], require_capture=True) is None


@pytest.mark.parametrize("status", [400, 413, 422])
def test_refused_for_what_it_sent(status: int) -> None:
    later = exchange_fault([exchange(200), exchange(status)], require_capture=True)
    first = exchange_fault([exchange(status)], require_capture=True)

    assert later is not None
    assert first is not None
    assert (later.code, first.code) == ("rejected", "setup")


def test_our_own_refusal_is_no_upstream_failure() -> None:
    assert exchange_fault([exchange(200), exchange(429, origin="gateway")], require_capture=True) is None


def test_without_a_captured_main_exchange_the_trial_fails_closed_only_where_capture_is_required() -> None:
    auxiliary = [exchange(200, role="auxiliary")]
    fault = exchange_fault(auxiliary, require_capture=True)

    assert fault is not None
    assert fault.code == "capture"
    assert exchange_fault(auxiliary, require_capture=False) is None
