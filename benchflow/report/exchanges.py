"""Model exchanges in numbers: one line each, in columns, and what they come to. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.message import Exchange
from benchflow.gateway.prices import NOTHING_BOUGHT
from benchflow.gateway.records.ledger import ALONE
from benchflow.report import numbers
from benchflow.report.text import one_line

_COLUMNS = (
    ("#", 4),
    ("role", 9),
    ("status", 8),
    ("in", 6),
    ("out", 6),
    ("cached", 6),
    ("cost", 8),
    ("ttft", 6),
    ("time", 6),
)
_ENDS = {"complete": "", "client_gone": " left", "upstream_cut": " cut", "refused": ""}


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What exchanges come to so far."""

    requests: int = 0
    failed: int = 0
    """Of all, those that got no complete answer, or an error."""
    tokens: TokenBreakdown = field(default_factory=TokenBreakdown)
    cost_usd: float | None = None
    unpriced: int = 0
    """Of those that a model answered, the ones whose cost is not known."""
    bought: bool = False
    """A model answered at least one."""

    def plus(self, exchange: Exchange) -> "Totals":
        """Return the totals with one exchange more."""
        cost, bought = exchange.cost.total_usd, is_bought(exchange)
        return replace(
            self,
            requests=self.requests + 1,
            failed=self.failed + (not exchange.succeeded),
            tokens=self.tokens + exchange.tokens if exchange.tokens else self.tokens,
            cost_usd=self.cost_usd if cost is None else (self.cost_usd or 0.0) + cost,
            unpriced=self.unpriced + (bought and cost is None),
            bought=self.bought or bought,
        )

    def __str__(self) -> str:
        failed = f" ({self.failed} failed)" if self.failed else ""
        unknown = f" (unknown for {self.unpriced})" if self.unpriced and self.cost_usd is not None else ""
        return " · ".join(
            [
                f"{numbers.plural(self.requests, 'request')}{failed}",
                f"tokens {numbers.in_out(self.tokens)}, {numbers.count(self.tokens.cache_read)} cached",
                f"cost {numbers.cost(self.cost_usd, bought=self.bought)}{unknown}",
            ]
        )


def is_bought(exchange: Exchange) -> bool:
    """Tell whether a model answered, even if it was cut short."""
    answered = exchange.kind == "generate" and exchange.status is not None and exchange.status < 400
    return answered and exchange.origin == "upstream" and exchange.cost.source != NOTHING_BOUGHT.source


def heading(*, roles: bool) -> str:
    """Return the line above the columns."""
    return _row([name for name, _ in _columns(roles)], roles) + "  model"


def describe_exchange(exchange: Exchange, *, roles: bool) -> str:
    """Return one exchange as a line under the heading. Roles are for who was told what the agent is prompted with."""
    tokens = exchange.tokens
    metered = tokens is not None or is_bought(exchange)
    cells = [
        str(exchange.seq + 1),
        *([exchange.role] if roles else []),
        f"{exchange.status or '-'}{_ENDS[exchange.end]}",
        numbers.prompt_tokens(tokens) if metered else "-",
        numbers.count(tokens and tokens.output) if metered else "-",
        numbers.count(tokens and tokens.cache_read) if metered else "-",
        numbers.cost(exchange.cost.total_usd, bought=is_bought(exchange)),
        "-" if exchange.ttft_ms is None else numbers.duration(exchange.ttft_ms),
        numbers.duration(exchange.duration_ms),
    ]
    return f"{_row(cells, roles)}  {' - '.join(_words(exchange))}"


def has_roles(exchanges: Sequence[Exchange]) -> bool:
    """Tell whether the exchanges are of a trial, where they have roles."""
    return any(exchange.role_reason != ALONE for exchange in exchanges if exchange.kind == "generate")


def exchange_value(exchange: Exchange) -> dict[str, Any]:
    """Return what a program may want to know of an exchange; the bodies are in the record."""
    return {
        "id": exchange.id,
        "ts": exchange.ts,
        "kind": exchange.kind,
        "path": exchange.path,
        "status": exchange.status,
        "end": exchange.end,
        "origin": exchange.origin,
        "error": exchange.answer.error,
        "model": {"asked": exchange.model_asked, "sent": exchange.model_sent, "answered": exchange.model_answered},
        "tokens": exchange.tokens,
        "cost": {"total_usd": exchange.cost.total_usd, "source": exchange.cost.source},
        "ttft_ms": exchange.ttft_ms,
        "duration_ms": exchange.duration_ms,
        "held_ms": exchange.held_ms,
    }


def _columns(roles: bool) -> list[tuple[str, int]]:
    return [column for column in _COLUMNS if roles or column[0] != "role"]


def _row(cells: Sequence[str], roles: bool) -> str:
    return " ".join(
        f"{cell:<{width}}" if name in ("role", "status") else f"{cell:>{width}}"
        for cell, (name, width) in zip(cells, _columns(roles), strict=True)
    )


def _words(exchange: Exchange) -> Iterator[str]:
    if exchange.kind == "generate":
        yield _model(exchange)
    else:
        yield one_line(exchange.path)
    if exchange.answer.error:
        yield one_line(exchange.answer.error, 160)


def _model(exchange: Exchange) -> str:
    asked, sent, answered = exchange.model_asked, exchange.model_sent, exchange.model_answered
    text = one_line(asked or "?")
    if sent and sent != asked:
        text += f" → {one_line(sent)}"
    if answered and answered != (sent or asked):
        text += f", served {one_line(answered)}"
    return text
