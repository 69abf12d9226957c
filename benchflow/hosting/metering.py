"""Adds up the exchanges of a session: tokens, cost, counts, times. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from benchflow.contracts import CostBreakdown, ExchangeCounts, TokenBreakdown
from benchflow.gateway.message import Exchange


def of_model(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Return what the agent asked of its model, as far as its budgets let that through.

    Lists of models and probes are on record, but are none of that.
    """
    return [exchange for exchange in exchanges if exchange.kind == "generate" and not exchange.stopped]


def total_tokens(exchanges: Iterable[Exchange]) -> TokenBreakdown | None:
    """Return the tokens of all exchanges; None where nothing was metered."""
    metered = [exchange.tokens for exchange in exchanges if exchange.tokens is not None]
    return sum(metered, TokenBreakdown()) if metered else None


def total_cost(exchanges: Sequence[Exchange]) -> CostBreakdown:
    """Return the cost of all exchanges. It is not known as soon as that of one that used tokens is not."""
    priced = [exchange for exchange in exchanges if exchange.tokens is not None]
    sources = [exchange.cost.source for exchange in priced if exchange.cost.source]
    return CostBreakdown(
        total_usd=_sum_known(exchange.cost.total_usd for exchange in priced),
        main_usd=_sum_known(exchange.cost.total_usd for exchange in priced if exchange.role == "main"),
        auxiliary_usd=_sum_known(exchange.cost.total_usd for exchange in priced if exchange.role == "auxiliary"),
        input_usd=_sum_known(exchange.cost.input_usd for exchange in priced),
        output_usd=_sum_known(exchange.cost.output_usd for exchange in priced),
        source=sources[-1] if sources else None,
    )


def count(exchanges: Iterable[Exchange]) -> ExchangeCounts:
    """Count the exchanges by role. A subagent's are in `by_role` alone."""
    found = list(exchanges)
    return ExchangeCounts(
        main=sum(exchange.role == "main" for exchange in found),
        auxiliary=sum(exchange.role == "auxiliary" for exchange in found),
        failed=sum(exchange.failed_upstream for exchange in found),
    )


def by_role(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    """Return number and tokens for each role that occurred."""
    roles = dict.fromkeys(exchange.role for exchange in exchanges)
    split: dict[str, Any] = {}
    for role in roles:
        own = [exchange for exchange in exchanges if exchange.role == role]
        split[role] = {"exchanges": len(own), "tokens": total_tokens(own)}
    return split


def handling(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    """Return what the gateway did beside passing on: how long it held requests, how many it repeated, its faults."""
    repeated = sum(max(0, len(exchange.attempts) - 1) for exchange in exchanges)
    faults = Counter(kind for exchange in exchanges for kind in _faults(exchange))
    return {
        "held_ms": round(sum(exchange.held_ms for exchange in exchanges), 3),
        "repeated": repeated,
        "faults": dict(sorted(faults.items())),
    }


def _faults(exchange: Exchange) -> Iterable[str]:
    if exchange.attempts:
        return [attempt.fault for attempt in exchange.attempts if attempt.fault]
    return [exchange.fault.kind] if exchange.fault else []


def asides(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    """Return how many requests beside the work a cassette did not have, and a fixed answer stood in for."""
    number = sum(change.kind == "replay" and change.path == "response" for each in exchanges for change in each.changes)
    return {"cassette": {"asides": number}} if number else {}


def model_served(exchanges: Sequence[Exchange]) -> str | None:
    """Return what the upstream said that it served, in the last main exchange that said so."""
    said = [exchange.model_answered for exchange in exchanges if exchange.role == "main" and exchange.model_answered]
    return said[-1] if said else None


def model_ms(exchanges: Iterable[Exchange]) -> float:
    """Return the milliseconds that main exchanges took, added up, without those for which the gateway held them."""
    return round(sum(exchange.latency_ms for exchange in exchanges if exchange.role == "main"), 3)


def _sum_known(each: Iterable[float | None]) -> float | None:
    costs = list(each)
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None
