"""A price file of the user's own, which wins over every other price list. Read strictly, once, before a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path

from pydantic import Field, field_validator

from benchflow.contracts import CostBreakdown, TokenBreakdown
from benchflow.errors import InputError
from benchflow.model import Number, StrictModel, parse, wrong
from benchflow.strict import parse_toml


class ModelPrices(StrictModel):
    """What a model costs, in US dollars per million tokens."""

    model: str = Field(min_length=1)
    """As it is asked for, or as it names itself in its answers."""
    input_usd_per_mtok: Number
    output_usd_per_mtok: Number
    """Reasoning is output."""
    cache_read_usd_per_mtok: Number | None = None
    """None: as input."""
    cache_write_usd_per_mtok: Number | None = None
    """None: as input."""

    @field_validator("*")
    @classmethod
    def _is_a_price(cls, value: object) -> object:
        if isinstance(value, int | float) and value < 0:
            raise wrong(f"must be a price, 0 or more, not {value}")
        return value

    def cost(self, tokens: TokenBreakdown, source: str) -> CostBreakdown:
        """Return what so many tokens cost."""
        cache_read, cache_write = self.cache_read_usd_per_mtok, self.cache_write_usd_per_mtok
        prompt = (
            tokens.input * self.input_usd_per_mtok
            + tokens.cache_read * (self.input_usd_per_mtok if cache_read is None else cache_read)
            + tokens.cache_write * (self.input_usd_per_mtok if cache_write is None else cache_write)
        )
        answer = tokens.output * self.output_usd_per_mtok
        return CostBreakdown(
            total_usd=(prompt + answer) / 1e6, input_usd=prompt / 1e6, output_usd=answer / 1e6, source=source
        )


class _PriceFile(StrictModel):
    as_of: date | None = None
    prices: tuple[ModelPrices, ...] = Field(min_length=1)


@dataclass(frozen=True, kw_only=True)
class OwnPrices:
    """The content of a price file."""

    source: str
    """The file, with its date where it states one, and its digest."""
    models: Mapping[str, ModelPrices]

    def find(self, names: Sequence[str | None]) -> ModelPrices | None:
        """Return the prices under the first of the names that the file has."""
        return next((self.models[name] for name in names if name is not None and name in self.models), None)


def read_prices(path: Path, *, named_by: str = "--prices") -> OwnPrices:
    """Read a price file. Raises InputError that names the file, the key and the remedy."""
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise InputError(f"{named_by} {path}: cannot be read ({exc.strerror}); name a TOML file with prices") from exc
    file = parse(_PriceFile, parse_toml(content, str(path)), path)
    models = {prices.model: prices for prices in file.prices}
    if len(models) < len(file.prices):
        names = [prices.model for prices in file.prices]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path}: prices: {twice!r} is there twice; leave one of them out")
    stated = f" of {file.as_of}" if file.as_of else ""
    return OwnPrices(source=f"{path.name}{stated}, sha256 {sha256(content).hexdigest()[:12]}", models=models)
