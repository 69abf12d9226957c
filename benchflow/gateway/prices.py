"""What an exchange cost, from the price list of genai-prices. What is not known is None, never 0."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Any

from benchflow.contracts import CostBreakdown, TokenBreakdown

UNKNOWN = CostBreakdown(total_usd=None)


@cache
def _prices() -> Any:
    import genai_prices  # a quarter of a second, wanted only where something costs

    return genai_prices


@cache
def _source(day: str) -> str:
    from importlib.metadata import version  # 20 ms, wanted only where something costs

    return f"genai-prices {version('genai-prices')}, prices of {day}"


def load_prices() -> None:
    """Load the price list now, so that no exchange waits for it."""
    price("openai", ("gpt-4.1",), TokenBreakdown.of(input=1), "2026-01-01T00:00:00Z")


def price(provider: str | None, models: Sequence[str | None], tokens: TokenBreakdown | None, ts: str) -> CostBreakdown:
    """Return the cost of one exchange at the time `ts`, by the first of the names that the provider has a price for."""
    if provider is None or tokens is None:
        return UNKNOWN
    prices = _prices()
    usage = prices.Usage(
        input_tokens=tokens.input + tokens.cache_read + tokens.cache_write,
        cache_read_tokens=tokens.cache_read or None,
        cache_write_tokens=tokens.cache_write or None,
        output_tokens=tokens.output,
    )
    when = datetime.fromisoformat(ts)
    for model in filter(None, models):
        with suppress(LookupError):
            found = prices.calc_price(usage, model, provider_id=provider, genai_request_timestamp=when)
            return CostBreakdown(total_usd=float(found.total_price), source=_source(ts[:10]))
    return UNKNOWN
