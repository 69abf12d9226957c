"""What an exchange cost: by the user's own price file, else by the list of genai-prices.

What is not known is None, never 0; where no model was asked, nothing was bought.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.contracts import CostBreakdown, TokenBreakdown

if TYPE_CHECKING:
    from benchflow.gateway.own_prices import OwnPrices

VARIABLE = "BENCHFLOW_PRICES"
"""Names the user's price file where no option does."""
UNKNOWN = CostBreakdown(total_usd=None)
NOTHING_BOUGHT = CostBreakdown(total_usd=None, source="nothing was bought")


@dataclass(frozen=True, kw_only=True)
class Pricing:
    """How the answers of one upstream are priced."""

    provider: str | None = None
    """Its id in genai-prices; None: that list does not have it."""
    own: "OwnPrices | None" = None
    """Wins, whatever the upstream."""
    bought: bool = True
    """False: no model answers."""

    def load(self) -> None:
        """Load the price list now, so that no exchange waits for it."""
        if self.bought and self.provider:
            _prices()

    def price(self, models: Sequence[str | None], tokens: TokenBreakdown | None, ts: str) -> CostBreakdown:
        """Return the cost of one exchange at the time `ts`, by the first of the names that has a price."""
        if not self.bought:
            return NOTHING_BOUGHT
        if tokens is None:
            return UNKNOWN
        own = self.own.find(models) if self.own else None
        if self.own and own:
            return own.cost(tokens, self.own.source)
        return _by_list(self.provider, models, tokens, ts) if self.provider else UNKNOWN


def find_own_prices(path: Path | None, environ: Mapping[str, str]) -> "OwnPrices | None":
    """Read the price file that the user named, or the environment; None: neither did. Raises InputError."""
    named = environ.get(VARIABLE, "").strip()
    if path is None and not named:
        return None
    from benchflow.gateway.own_prices import read_prices  # 20 ms for a model that few want

    return read_prices(path or Path(named), named_by="--prices" if path else f"${VARIABLE}")


@cache
def _prices() -> Any:
    import genai_prices  # a quarter of a second, wanted only where something costs

    return genai_prices


@cache
def _source(day: str) -> str:
    """Name the list by its version, which is all the date that it has, and the day whose prices were taken from it."""
    return f"genai-prices {_prices().__version__}, its prices for {day}"


def _by_list(provider: str, models: Sequence[str | None], tokens: TokenBreakdown, ts: str) -> CostBreakdown:
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
            return CostBreakdown(
                total_usd=float(found.total_price),
                input_usd=float(found.input_price),
                output_usd=float(found.output_price),
                source=_source(ts[:10]),
            )
    return UNKNOWN
