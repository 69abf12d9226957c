"""Sends a session's prompts, and ends their turns as the trial's budgets say: to warn the agent, or for good."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from benchflow.budgets.budget import TIMED
from benchflow.budgets.trial import TrialBudgets
from benchflow.contracts import (
    CompletionReason,
    EventType,
    LimitHit,
    PromptMetrics,
    PromptResult,
    TimingBreakdown,
    ToolCallBreakdown,
)
from benchflow.errors import TrialError
from benchflow.gateway.gateway import Tap
from benchflow.hosting import metering
from benchflow.hosting.acp_usage import AcpUsage
from benchflow.session.session import AcpClient
from benchflow.session.turn import PromptOutcome

CANCEL_GRACE_S = 5.0
"""How long an agent may take to end a turn that was cancelled, before it is killed, or its turn goes on."""


class Prompting:
    """The prompts of one session. The agent's failures are results."""

    def __init__(
        self,
        client: AcpClient,
        tap: Tap,
        budgets: TrialBudgets,
        *,
        before: str | None = None,
        keep: Callable[[], Awaitable[None]] | None = None,
        cancel_grace_s: float = CANCEL_GRACE_S,
    ) -> None:
        """`before` is a text that goes before the first prompt, in a block of its own; it is no part of the task.
        `keep` is awaited when a budget ends the trial, before the agent hears of that.
        """
        self.usage = AcpUsage()
        self.prompts = 0
        """How many were sent, the one to wrap up included."""
        self._client = client
        self._tap = tap
        self._budgets = budgets
        self._grace_s = cancel_grace_s
        self._before = [before] if before else []
        self._keep = keep
        self._texts: list[str] = []
        self._over = False
        budgets.on_call = client.ask_to_cancel
        budgets.on_hit = self._hit

    def saw(self, kind: EventType, data: Mapping[str, Any]) -> None:
        """Take an event of the session."""
        if kind == "usage":
            self.usage.updated(data)
        elif kind == "agent_message" and not self._over:
            self._texts.append(str(data.get("text", "")))
        self._budgets.acp_event(kind, data)

    async def prompt(self, text: str, timeout_s: float | None) -> PromptResult:
        """Send a prompt and wait for its end, or for the end of a budget."""
        self._texts.clear()
        self._budgets.began()
        self._over = self._budgets.hit is not None
        begun = self._budgets.meter.now()
        try:
            outcome = await self._turn(text, timeout_s)
            if wrap_up := self._wrap_up(outcome):
                left_s = None if timeout_s is None else max(0.0, timeout_s - (self._budgets.meter.now() - begun))
                outcome = await self._turn(wrap_up, left_s)
        except TrialError as error:
            return self._result(begun, error=error)
        return self._result(begun, stop_reason=outcome.stop_reason)

    async def _hit(self, hit: LimitHit) -> None:
        """A budget ends the trial: what the agent has done and said until now is what it has delivered."""
        if self._keep:
            await self._keep()
        self._over = True
        self._client.note_limit(hit)

    async def _turn(self, text: str, timeout_s: float | None) -> PromptOutcome:
        """Send one prompt of the protocol. Raises TrialError."""
        self.prompts += 1
        self._tap.prompt_sent(text)
        usage = None
        try:
            outcome = await (self._watched if self._budgets.watched else self._send)(text, timeout_s)
            usage = outcome.usage
        finally:
            self._tap.prompt_answered()
            self.usage.prompt_ended(usage)
        return outcome

    async def _send(self, text: str, timeout_s: float | None) -> PromptOutcome:
        before = self._before if self.prompts == 1 else []
        return await self._client.prompt(
            [*before, text], timeout_s, self._grace_s, self._budgets.meter.now, on_time_up=self._budgets.time_up
        )

    async def _watched(self, text: str, timeout_s: float | None) -> PromptOutcome:
        """Send it, and heed the budgets as long as its turn is open."""
        outcome, failure = None, None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._heed)
            try:
                outcome = await self._send(text, timeout_s)
            except TrialError as error:  # kept out of the group, which would wrap it
                failure = error
            tasks.cancel_scope.cancel()
        if failure or outcome is None:
            raise failure or AssertionError("a prompt ends in an outcome or in a failure")
        return outcome

    async def _heed(self) -> None:
        """End the open turn when the budgets ask for that."""
        while await self._budgets.call() == "cancelling":
            if await self._client.interrupt(self._grace_s):
                return
            self._budgets.turn_goes_on()
        await self._client.cancel(self._grace_s)

    def _wrap_up(self, outcome: PromptOutcome) -> str | None:
        """Return what to prompt with now that a turn has ended; None: nothing. An agent that was done is let be."""
        if self._budgets.phase != "cancelling":
            return None
        unfinished = self._budgets.held or outcome.stop_reason in (None, "cancelled")
        return self._budgets.turn_over(prompted=outcome.cancelled and not outcome.timed_out and unfinished)

    def _result(self, begun: float, *, stop_reason: str | None = None, error: TrialError | None = None) -> PromptResult:
        exchanges = metering.of_model(self._tap.exchanges)
        limit = self._budgets.limit
        ended_by_limit = limit is not None and (limit.phase == "hard" or stop_reason == "cancelled")
        reason: CompletionReason = "stop"
        if error:
            reason = "error"
        elif limit and ended_by_limit:
            reason = "timeout" if limit.kind in TIMED else "tool_limit"
        return PromptResult(
            text="".join(self._texts),
            metrics=PromptMetrics(
                tokens=metering.total_tokens(exchanges),
                timing=TimingBreakdown(wall_ms=round((self._budgets.meter.now() - begun) * 1000, 3)),
                tool_calls=ToolCallBreakdown(),
                cost=metering.total_cost(exchanges),
            ),
            completion_reason=reason,
            stop_reason=stop_reason,
            wrapped_up=reason == "stop" and limit is not None,
            limit=limit,
            error=str(error) if error else None,
            error_code=error.code if error else None,
        )
