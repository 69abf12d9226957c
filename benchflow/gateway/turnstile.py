"""Lets a trial's model requests through as its budgets say: on, on with a warning in it, later, or not at all."""

from dataclasses import replace
from typing import TYPE_CHECKING

from benchflow.contracts import LimitHit
from benchflow.gateway.altered import altered
from benchflow.gateway.dialects.dialect import Dialect
from benchflow.gateway.http.spool import TooLongToChange
from benchflow.gateway.message import Exchange, RawRequest, RawResponse
from benchflow.gateway.reading import plain
from benchflow.gateway.upstream import TrialContext, Upstream
from benchflow.gateway.warning import StandingWarning

if TYPE_CHECKING:
    from benchflow.budgets.trial import TrialBudgets

REFUSED = 400
"""No client sends again what is refused so, unlike 408, 409, 429 and 5xx."""
_FINAL = (("x-should-retry", "false"),)
"""What the clients of two providers obey before they look at the status."""


class Turnstile:
    """An upstream that asks the budgets of one trial about each model request."""

    def __init__(self, upstream: Upstream, budgets: "TrialBudgets") -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self._upstream = upstream
        self._budgets = budgets
        self._warning = StandingWarning()

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Send the request on, or refuse it."""
        dialect, handling = context.dialect, context.handling
        if dialect is None or handling is None or context.route is None or context.route.kind != "generate":
            return await self._upstream.send(request, context)
        ruling = await self._budgets.rule(context.role, handling)
        if not ruling.passes:
            return _refuse(dialect, request, ruling.limit)
        if ruling.warning is None or context.parsed is None:
            return await self._upstream.send(request, context)
        try:
            request = self._warning.put(ruling.warning, request, handling.number, dialect, context.parsed)
            context = altered(context, parsed=dialect.read(plain(request)))
        except TooLongToChange as exc:
            return dialect.refuse(request, 413, str(exc))
        return await self._upstream.send(request, context)

    def exchange_ended(self, exchange: Exchange) -> None:
        """Take an exchange that has ended, before the next one is decided on."""
        self._warning.exchange_ended(exchange)
        self._budgets.exchange_ended(exchange)

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._upstream.aclose()


def _refuse(dialect: Dialect, request: RawRequest, limit: LimitHit | None) -> RawResponse:
    """Refuse in the dialect's form. The words must not look like those of an overlong context, which agents repair."""
    said = "this turn was cancelled" if limit and limit.phase == "soft" else "the budget of this run is used up"
    refusal = dialect.refuse(request, REFUSED, f"{said}; no further requests are answered")
    return replace(refusal, headers=(*refusal.headers, *_FINAL))
