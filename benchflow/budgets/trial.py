"""The budgets of one trial while it runs: what they say of each model request, and what they ask of the open turn.

It is told of exchanges and events at once, by calls that wait for nothing, so that no decision is behind the facts.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import anyio

from benchflow.budgets.budget import IDLE, TIME, TIMED, TURNS, WORDS, Budget
from benchflow.budgets.choosing import notes_of
from benchflow.budgets.meter import Meter
from benchflow.budgets.ruling import Ruling
from benchflow.budgets.warned import Warned
from benchflow.contracts import Delivery, Event, EventType, LimitHit, Limits
from benchflow.gateway.handling import Handling
from benchflow.gateway.message import Exchange, Role
from benchflow.limits import GracefulTurnLimit, wrap_up_message

SETTLE_S = 1.0
"""How long a request waits for turns before it, answered and not yet counted, where they decide on a warning."""

Phase = Literal["open", "cancelling", "warned", "ended"]
"""`cancelling`: the turn is asked to end, so that the wrap-up prompt can follow, and main requests are held."""


class TrialBudgets:
    """The state of one trial's budgets."""

    def __init__(self, limits: Limits, delivery: Delivery) -> None:
        self.meter = Meter(limits)
        self.phase: Phase = "open"
        self.hit: LimitHit | None = None
        """The budget that ended the trial; None: none has."""
        self.warned: Warned | None = None
        self.delivered = False
        """The warning was in a request that went on, or in a prompt."""
        self.fell_back = False
        """The agent did not end its turn for the wrap-up prompt: the warning went out in a request."""
        self.on_call: Callable[[], None] = lambda: None
        """Called, at once, when the open turn is to be cancelled."""
        self.on_hit: Callable[[LimitHit], Awaitable[None]] = _keep_nothing
        """Awaited once when a budget ends the trial, to keep what is there: all requests and the cancel wait for it."""
        self._limits = limits
        self._delivery: Delivery = delivery
        message = limits.wrap_up_message
        self._turn_limit = GracefulTurnLimit.from_hard_cap(
            limits.max_turns or 0,
            limits.grace_turns or 0,
            message_provider=None if message is None else lambda: message,
        )
        self._unheard: deque[Event] = deque()
        self._heard_turns = 0
        self._under_way: dict[int, Role] = {}
        self._injects = False
        self._held = 0
        self._changed = anyio.Event()
        self._kept = anyio.Event()

    @property
    def watched(self) -> bool:
        """Whether there is anything to watch for beside the end of the time."""
        return any(budget.kind != TIME for budget in self.meter) or self._limits.grace is not None

    # What is told

    def began(self) -> None:
        """A prompt is about to be sent. Time that was the caller's, for a prompt before it, is forgotten."""
        if self.hit and self.hit.kind == TIME and self._limits.timeout_s is None:
            self.hit, self.phase, self._kept = None, "open", anyio.Event()
            self.meter.forget_time()
        self.meter.began()

    def exchange_ended(self, exchange: Exchange) -> None:
        """An exchange is over."""
        self.meter.exchange_ended(exchange)
        self._under_way.pop(exchange.seq, None)
        self._hear_turns()
        self._wake()

    def acp_event(self, kind: EventType, data: Mapping[str, Any]) -> None:
        """The agent has shown something."""
        if self.meter.acp_event(kind, data):
            self._hear_turns()
            self._wake()

    def _hear_turns(self) -> None:
        """Queue the end of each turn that was not told of yet."""
        done = int(self.meter.used(TURNS).amount or 0)
        for turn in range(self._heard_turns, done):
            source = "gateway" if self.meter.counts.captured else "derived"
            data = {"turn": turn}
            ended = Event(seq=turn, ts="", mono_ms=0.0, type="turn_end", source=source, session_id="", data=data)
            self._unheard.append(ended)
        self._heard_turns = max(self._heard_turns, done)

    # What a model request is told

    async def rule(self, role: Role, handling: Handling) -> Ruling:
        """Decide on a request that has arrived. A main request is held for as long as that takes."""
        if role == "main":
            self.meter.counts.captured = True
            await self._settle(handling)
        if hit := await self._refusal(role, handling):
            return await self._refuse(hit, handling)
        if role != "main":
            self._under_way[handling.number] = role
            return Ruling()
        await self._steer()
        if self.phase == "cancelling":
            await self._hold(handling)
            if hit := self.hit or (None if self._injects or self.warned is None else self.warned.hit):
                return await self._refuse(hit, handling)
            handling.stopped = False
        self._under_way[handling.number] = role
        if not self._injects or self.warned is None:
            return Ruling()
        first, self.delivered = not self.delivered, True
        handling.limit = self.warned.hit if first else None
        return Ruling(warning=self.warned.text, limit=handling.limit)

    async def _settle(self, handling: Handling) -> None:
        """Wait until the main requests under way have ended, where their ends decide on the next one."""
        until, turns = self.meter.now() + SETTLE_S, self.meter.find(TURNS)
        while self.phase != "ended" and (before := sum(role == "main" for role in self._under_way.values())):
            done = self.meter.counts.turns + before
            full = turns is not None and done >= turns.allowed
            warns = self.phase == "open" and (
                self._limits.grace is not None or (self._turn_limit is not None and done >= self._turn_limit.soft_limit)
            )
            if not full and (not warns or self.meter.now() >= until):
                return
            with handling.held():
                await self._change(None if full else until - self.meter.now())

    async def _hold(self, handling: Handling) -> None:
        """Hold a request until the agent has ended its turn, or will not."""
        handling.stopped = True  # it stays so if the agent gives it up
        handling.limit = self.warned.hit if self.warned else None
        self._held += 1
        with handling.held():
            while self.phase == "cancelling":
                await self._change()

    async def _refuse(self, hit: LimitHit, handling: Handling) -> Ruling:
        """Refuse a request; at the end of the trial not before what is there was kept."""
        handling.limit, handling.stopped = hit, True
        if self.hit is not None and not self._kept.is_set():
            with handling.held():
                await self._kept.wait()
        return Ruling(passes=False, limit=hit)

    async def _refusal(self, role: Role, handling: Handling) -> LimitHit | None:
        """Say which budget forbids a request, and end the trial if that is one of its own."""
        if self.hit or role == "auxiliary":
            return self.hit
        subagents = self.meter.subagents
        if role == "subagent" and subagents and self._subagent_turns() >= subagents.allowed:
            return subagents.hit(self.meter.used(subagents.kind), hard=True)
        for budget in self.meter:
            judged = budget.kind not in TIMED and (budget.kind != TURNS or role == "main")
            if judged and budget.spent(self.meter.used(budget.kind)):
                with handling.held():
                    await self.end(budget)
                return self.hit
        return None

    def _subagent_turns(self) -> int:
        return self.meter.counts.subagent_turns + sum(role == "subagent" for role in self._under_way.values())

    # What the open turn is asked

    async def call(self) -> Literal["cancelling", "ended"]:
        """Wait until the open turn is to be ended: for the wrap-up prompt, or for good."""
        while True:
            await self._look()
            if self.phase == "ended":
                await self._kept.wait()
                return "ended"
            if self.phase == "cancelling":
                return "cancelling"
            await self._change(self.meter.look_again_s(warns=self.phase == "open"))

    async def end(self, budget: Budget) -> None:
        """A budget is used up: from now on no model request goes on; once all is kept, the turn is to be cancelled."""
        if self.hit is not None:
            return await self._kept.wait()
        self.hit = budget.hit(self.meter.used(budget.kind), hard=True)
        self.phase = "ended"
        self._wake()
        try:
            with anyio.CancelScope(shield=True):  # whoever met the budget may be gone before that is done
                await self.on_hit(self.hit)
        finally:
            self._kept.set()
            self.on_call()

    async def time_up(self) -> None:
        """The time of the prompts is up."""
        await self.end(self.meter.has_no_time_left())

    def turn_over(self, *, prompted: bool) -> str | None:
        """The turn that was asked to end has ended. Return what to prompt with, if `prompted` says so."""
        self._resolve(injects=False)
        self.delivered = prompted
        return self.warned.text if prompted and self.warned else None

    def turn_goes_on(self) -> None:
        """The agent did not end its turn in time: what is held goes on with the warning in it."""
        self.fell_back = True
        self._resolve(injects=True)

    @property
    def held(self) -> bool:
        """Whether a request was held for the end of its turn: then the agent had more to do."""
        return self._held > 0

    def _resolve(self, *, injects: bool) -> None:
        if self.phase == "cancelling":
            self.phase = "warned"
            self._injects = injects
            self._wake()

    async def _look(self) -> None:
        """See what no model request will tell: idle time, tool calls in excess, and all of an agent that sends none."""
        idle, turns = self.meter.find(IDLE), self.meter.find(TURNS)
        for budget in filter(None, (self.meter.find("max_tool_calls"), self.meter.find("max_cost_usd"))):
            if budget.exceeded(self.meter.used(budget.kind)):
                await self.end(budget)
        if idle and idle.spent(self.meter.used(IDLE)):
            await self.end(idle)
        if not self.meter.counts.captured and turns and self.meter.counts.shown_calls > turns.allowed:
            await self.end(turns)
        if not self.meter.counts.captured or (idle and idle.warns(self.meter.used(IDLE))):
            await self._steer()

    # The warning

    async def _steer(self) -> None:
        """Hand the warning out if it is due, and was not."""
        if self.phase != "open":
            return
        turns = self.meter.find(TURNS)
        if self._turn_limit and turns:
            while self._unheard:
                await self._turn_limit.on_event(self._unheard.popleft())
            for text in await self._turn_limit.next_steering_messages():
                self._warn(text, turns)
                return
        if not self.meter.used(TURNS).amount:
            return
        for budget in self.meter:
            if budget.warns(self.meter.used(budget.kind)):
                own = self._limits.wrap_up_message
                self._warn(wrap_up_message(WORDS[budget.kind]) if own is None else own, budget)
                return

    def _warn(self, text: str, budget: Budget) -> None:
        self.warned = Warned(text=text, budget=budget, hit=budget.hit(self.meter.used(budget.kind), hard=False))
        if self._delivery == "inject" and self.meter.counts.captured:
            self.phase, self._injects = "warned", True
            return
        self.phase = "cancelling"
        self._wake()
        self.on_call()

    # What it comes to

    @property
    def limit(self) -> LimitHit | None:
        """The budget that ended the trial, or warned of its end, with what was used of it in the end."""
        if self.hit or self.warned is None or not self.delivered:
            return self.hit
        return self.warned.budget.hit(self.meter.used(self.warned.budget.kind), hard=False)

    def facts(self) -> dict[str, Any]:
        """Return what a row says of the budgets beside the limit that was hit; nothing where there is only the time."""
        if not self.watched:
            return {}
        warns = self._turn_limit is not None or self._limits.grace is not None
        return {
            "budgets": {
                "delivery": self._delivery if warns else None,
                "notes": list(notes_of(self._limits)),
                "warned": self.delivered,
                "fell_back": self.fell_back,
                "subagent_turns": self.meter.counts.subagent_turns,
                "used": self.meter.facts(),
            }
        }

    async def _change(self, timeout_s: float | None = None) -> None:
        """Wait until something is told, for so long at most."""
        changed = self._changed
        with anyio.move_on_after(timeout_s):
            await changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


async def _keep_nothing(hit: LimitHit) -> None:
    """What a hit comes to where nobody works in a workspace."""
