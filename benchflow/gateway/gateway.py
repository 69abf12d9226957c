"""The gateway of a run: a server for each trial's socket, and one upstream behind all of them."""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from benchflow.clock import Clock
from benchflow.errors import InputError, TrialError
from benchflow.gateway.changing import Changing
from benchflow.gateway.classify import Quirks
from benchflow.gateway.dialects.dialect import Dialect
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.handling import AgentTime
from benchflow.gateway.http.server import HttpServer
from benchflow.gateway.message import Exchange, ExchangeBegun
from benchflow.gateway.prices import Pricing
from benchflow.gateway.records.ledger import Ledger
from benchflow.gateway.records.recording import Recording
from benchflow.gateway.turnstile import Turnstile
from benchflow.gateway.upstream import PLAYED, TrialContext, Upstream
from benchflow.redact import Redactor

if TYPE_CHECKING:
    from benchflow.budgets.trial import TrialBudgets
    from benchflow.gateway.own_prices import OwnPrices

LOG = "llm.jsonl"


class Tap:
    """One trial's access to the gateway. Whoever attached it closes it."""

    def __init__(self, server: HttpServer, ledger: Ledger) -> None:
        self._server = server
        self._ledger = ledger

    @property
    def exchanges(self) -> list[Exchange]:
        """All exchanges that have ended, in the order of their ends."""
        return self._ledger.exchanges

    @property
    def agent_time(self) -> AgentTime:
        """The clock of the trial's agent, which stands still while all that it has asked for is held."""
        return self._ledger.agent_time

    @property
    def failure(self) -> TrialError | None:
        """Why this trial cannot be scored, if it cannot: its log could not be written (`capture`), or the upstream
        cannot do its part whatever the agent does (`setup`). It may come at any time until the tap is closed.
        """
        return self._ledger.failure

    def prompt_sent(self, text: str) -> None:
        """Say, before it is sent, what the client prompts the agent with."""
        self._ledger.prompt_sent(text)

    def prompt_answered(self) -> None:
        """Say that the agent has answered the prompt: what still comes is beside the work."""
        self._ledger.prompt_answered()

    async def close(self, grace_s: float = 2.0) -> None:
        """Serve no more. Exchanges under way get `grace_s` seconds to end, and are entered either way."""
        try:
            await self._server.aclose(grace_s)
        finally:
            self._ledger.close()


class Gateway:
    """Passes the model calls of a run's trials on to one upstream. An asynchronous context manager."""

    def __init__(
        self,
        upstream: Upstream,
        *,
        clock: Clock,
        redactor: Redactor,
        strict_model: bool = False,
        prices: "OwnPrices | None" = None,
    ) -> None:
        self._upstream = upstream
        self._pricing = Pricing(provider=upstream.priced_as, own=prices, bought=upstream.name not in PLAYED)
        self._clock = clock
        self._redactor = redactor
        self._changing = Changing(upstream, strict_model=strict_model)

    async def __aenter__(self) -> Self:
        self._pricing.load()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._upstream.aclose()

    def base_url(self, dialect: str | None, host_port: str) -> str:
        """Return what clients of the dialect expect as their base URL, the gateway being at `host_port` for them.

        Raises InputError for a dialect that the gateway does not speak. None: the bare address.
        """
        return f"http://{host_port}{find_dialect(dialect).base_path if dialect else ''}"

    async def attach(
        self,
        sock: socket.socket,
        context: TrialContext,
        folder: Path,
        dialects: Sequence[str] = tuple(DIALECTS),
        quirks: Quirks | None = None,
        *,
        redactor: Redactor | None = None,
        guard: Callable[[Upstream], Upstream] | None = None,
        on_exchange: Callable[[Exchange], None] | None = None,
        on_begin: Callable[[ExchangeBegun], None] | None = None,
        budgets: "TrialBudgets | None" = None,
    ) -> Tap:
        """Serve one trial on its listening socket, which is taken over; its exchanges go to `folder`.

        `redactor` is the trial's own, which counts what it replaced; `guard` stands before all else; `budgets` judge
        each request. Raises InputError for a dialect that the gateway does not speak, or a log that cannot be written.
        """
        served = {name: find_dialect(name) for name in dialects}
        upstream: Upstream = self._changing
        if budgets:
            upstream = turnstile = Turnstile(self._changing, budgets)
            on_begin, on_exchange = _both(budgets, turnstile, on_begin, on_exchange)
        ledger = Ledger(
            folder / LOG,
            clock=self._clock,
            redactor=redactor or self._redactor,
            upstream=self._upstream.name,
            pricing=self._pricing,
            quirks=quirks,
            on_begin=on_begin,
            on_exchange=on_exchange,
        )
        recording = Recording(upstream, ledger)
        server = HttpServer(guard(recording) if guard else recording, context, served, folder)
        try:
            await server.start([sock])
        except BaseException:
            ledger.close()
            raise
        return Tap(server, ledger)


def _both(
    budgets: "TrialBudgets",
    turnstile: Turnstile,
    on_begin: Callable[[ExchangeBegun], None] | None,
    on_exchange: Callable[[Exchange], None] | None,
) -> tuple[Callable[[ExchangeBegun], None], Callable[[Exchange], None]]:
    """Return what tells the budgets first, and then whoever else wants to know."""

    def begun(exchange: ExchangeBegun) -> None:
        budgets.meter.exchange_began()
        if on_begin:
            on_begin(exchange)

    def ended(exchange: Exchange) -> None:
        turnstile.exchange_ended(exchange)
        if on_exchange:
            on_exchange(exchange)

    return begun, ended


def find_dialect(name: str) -> Dialect:
    """Look a dialect up. Raises InputError."""
    if name not in DIALECTS:
        raise InputError(f"api_protocol {name!r}: the gateway does not speak it; it speaks {', '.join(DIALECTS)}")
    return DIALECTS[name]
