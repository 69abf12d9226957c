"""One session of a provider that asks its model through the gateway: its tap, its budgets, and its prompts."""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import anyio

from benchflow.budgets.budget import TIMED
from benchflow.budgets.trial import TrialBudgets
from benchflow.clock import Clock, Stamp
from benchflow.contracts import (
    CompletionReason,
    CreateSessionParams,
    Event,
    EventType,
    Fault,
    LimitHit,
    ModelEndpoint,
    PromptMetrics,
    PromptResult,
    SessionFacts,
    TimingBreakdown,
    ToolCallBreakdown,
)
from benchflow.errors import TrialError
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.gateway import Gateway, Tap
from benchflow.gateway.guard import Guard
from benchflow.gateway.message import Exchange
from benchflow.gateway.upstream import TrialContext
from benchflow.hosting import metering
from benchflow.hosting.broadcast import Broadcast
from benchflow.hosting.cutoff import Cutoff
from benchflow.hosting.facts import budget_facts, certificate_facts, session_facts
from benchflow.outcome import exchange_fault
from benchflow.redact import REDACTIONS, Redactor
from benchflow.sandbox.loopback import ADDRESS, reserve
from benchflow.session.turn import LOOK_AGAIN_S
from benchflow.trajectories.trajectory import exchange_moments


@dataclass(frozen=True, kw_only=True)
class _Quirks:
    """What the gateway must know of a provider that no manifest describes."""

    tools_in_text: bool
    auxiliary: Sequence[str] = ()


class CapturedSession:
    """A place at the gateway with what passes there. Made by `open`; `close` ends it."""

    def __init__(self, params: CreateSessionParams, *, clock: Clock, redactor: Redactor) -> None:
        self.redactor = redactor
        self.prompts: list[Event] = []
        """Begin and end of each prompt, and where a budget ended the work."""
        self.endpoint = ModelEndpoint(base_urls={}, api_key="")
        self._params = params
        self._clock = clock
        self._broadcast = Broadcast(params.observers)
        self._budgets = TrialBudgets(params.limits, "inject")
        self._budgets.on_hit = self._hit
        self._cutoff = Cutoff(params.workspace.path)
        self._tap: Tap | None = None
        self._sent = 0

    @classmethod
    async def open(
        cls, gateway: Gateway, params: CreateSessionParams, *, clock: Clock, redactor: Redactor, tools_in_text: bool
    ) -> Self:
        """Listen for the session's requests. Raises TrialError(`sandbox`)."""
        session = cls(params, clock=clock, redactor=redactor)
        spec = reserve("tcp", 0)
        assert spec.bound is not None
        key = f"sk-benchflow-{secrets.token_hex(16)}"  # nobody else on this machine may spend the run's
        session._tap = await gateway.attach(
            spec.bound,
            _context(params, spec.port),
            folder=params.folder,
            quirks=_Quirks(tools_in_text=tools_in_text),
            redactor=redactor,
            guard=lambda recording: Guard(recording, key, lambda _: None),
            on_exchange=session._exchange_ended,
            budgets=session._budgets,
        )
        session._budgets.meter.now = session._tap.agent_time.now
        place = f"{ADDRESS}:{spec.port}"
        urls = {dialect: gateway.base_url(dialect, place) for dialect in DIALECTS}
        session.endpoint = ModelEndpoint(base_urls=urls, api_key=key)
        return session

    @property
    def id(self) -> str:
        """The provider's name for the session."""
        return self._broadcast.session_id

    @id.setter
    def id(self, name: str) -> None:
        self._broadcast.session_id = name

    @property
    def folder(self) -> Path:
        """Where its logs are."""
        return self._params.folder

    async def prompt(
        self, text: str, send: Callable[[], Awaitable[PromptResult]], timeout_s: float | None
    ) -> PromptResult:
        """Have a prompt sent, and return its result as it was measured. A budget that ends cancels `send`.

        What `send` raises is a result, too: what was used until then is known.
        """
        tap, meter = self._opened, self._budgets.meter
        meter.began()
        begun = meter.now()
        tap.prompt_sent(text)
        self._prompted("prompt_begin", {"index": self._sent, "text": text})
        result: PromptResult | TrialError | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._heed, timeout_s, tasks.cancel_scope)
                try:
                    result = await send()
                except TrialError as error:  # kept out of the group, which would wrap it
                    result = error
                tasks.cancel_scope.cancel()
        finally:
            tap.prompt_answered()
            said = {"stop_reason": result.stop_reason if isinstance(result, PromptResult) else None}
            self._prompted("prompt_end", {"index": self._sent, **said})
            self._sent += 1
        return self._result(result, wall_ms=round((meter.now() - begun) * 1000, 3))

    def tell(self, event: Event) -> None:
        """Hand on what the provider tells."""
        self._broadcast.send(event.type, event.source, event.data, Stamp(ts=event.ts, mono_ms=event.mono_ms))

    def facts(self, own: SessionFacts, *, require_capture: bool) -> SessionFacts:
        """Return what was measured so far, with what the provider says of itself."""
        measured = session_facts(
            self._exchanges,
            agent_version=own.agent_version,
            isolation=own.isolation,
            segments=own.segments,
            fault=self._fault(require_capture) or own.fault,
            usage=None,
            extensions={**own.extensions, **budget_facts(self._budgets, self._cutoff), **certificate_facts(self._tap)},
        )
        if not self.redactor.counts:
            return measured
        return replace(measured, extensions={**measured.extensions, REDACTIONS: dict(self.redactor.counts)})

    async def close(self) -> None:
        """Serve no more; may be called again."""
        await self._opened.close()
        await self._broadcast.aclose()

    async def put_back(self) -> None:
        """Have the workspace be what it was when a budget ended the work. Raises TrialError(`sandbox`)."""
        await self._cutoff.put_back()

    async def _hit(self, hit: LimitHit) -> None:
        await self._cutoff.make()
        self._prompted("limit", vars(hit).copy())

    async def _heed(self, timeout_s: float | None, prompt: anyio.CancelScope) -> None:
        """Cancel the prompt when a budget ends."""
        async with anyio.create_task_group() as clocks:
            if timeout_s is not None:
                clocks.start_soon(self._watch_time, timeout_s)
            while await self._budgets.call() != "ended":
                self._budgets.turn_goes_on()
            clocks.cancel_scope.cancel()
        prompt.cancel()

    async def _watch_time(self, timeout_s: float) -> None:
        """Wait until the time is up on the session's clock, which stands still while the gateway holds its requests."""
        now = self._budgets.meter.now
        deadline = now() + timeout_s
        while (left := deadline - now()) > 0:  # noqa: ASYNC110 - no event tells that a clock went on
            await anyio.sleep(max(left, LOOK_AGAIN_S))
        await self._budgets.time_up()

    def _result(self, result: PromptResult | TrialError | None, *, wall_ms: float) -> PromptResult:
        limit = self._budgets.limit
        ended_by = limit if limit and limit.phase == "hard" else None
        told = result if isinstance(result, PromptResult) else None
        error, code = (str(result), result.code) if isinstance(result, TrialError) else (None, None)
        if told:
            error, code = told.error, told.error_code
        if ended_by:  # what broke then is what the end of a budget does
            error, code = None, None
        return PromptResult(
            text=told.text if told else "",
            metrics=PromptMetrics(
                tokens=metering.total_tokens(self._exchanges),
                timing=TimingBreakdown(wall_ms=wall_ms),
                tool_calls=told.metrics.tool_calls if told else ToolCallBreakdown(),
                cost=metering.total_cost(self._exchanges),
            ),
            completion_reason=_reason(ended_by, failed=code is not None, told=told),
            stop_reason=told.stop_reason if told else None,
            wrapped_up=code is None and limit is not None and not ended_by,
            limit=limit or (told.limit if told else None),
            error=error,
            error_code=code,
        )

    def _prompted(self, kind: EventType, data: dict[str, Any]) -> None:
        stamp = self._clock.now()
        event = Event(
            seq=len(self.prompts),
            ts=stamp.ts,
            mono_ms=stamp.mono_ms,
            type=kind,
            source="harness",
            session_id=self.id,
            data=data,
        )
        self.prompts.append(event)
        self.tell(event)

    def _exchange_ended(self, exchange: Exchange) -> None:
        for moment in exchange_moments(exchange):
            stamp = Stamp(ts=moment.ts, mono_ms=moment.mono_ms)
            self._broadcast.send(moment.type, moment.source, moment.data, stamp)

    def _fault(self, require_capture: bool) -> Fault | None:
        if failure := self._opened.failure:
            return Fault(code=failure.code, message=str(failure))
        return exchange_fault(self._exchanges, require_capture=require_capture) if self._sent else None

    @property
    def _exchanges(self) -> list[Exchange]:
        return metering.of_model(self._opened.exchanges)

    @property
    def _opened(self) -> Tap:
        assert self._tap is not None
        return self._tap


def _reason(ended_by: LimitHit | None, *, failed: bool, told: PromptResult | None) -> CompletionReason:
    if ended_by:
        return "timeout" if ended_by.kind in TIMED else "tool_limit"
    return "error" if failed or told is None else told.completion_reason


def _context(params: CreateSessionParams, port: int) -> TrialContext:
    """Return what the gateway may know of the trial of a session that runs beside it."""
    return TrialContext(
        trial=params.trial,
        attempt=params.attempt,
        model=params.model,
        prompts=params.prompts,
        solution=params.solution,
        iteration=params.iteration,
        scenario_id=params.scenario_id,
        workspace=str(params.workspace.path),
        port=port,
    )
