"""What faults are to be played: which, how often, on which requests; and how that is read from a file or a line."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from benchflow.errors import InputError
from benchflow.gateway.handling import FaultKind
from benchflow.model import suggest
from benchflow.strict import read_toml

KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
SERVER_ERRORS = (500, 502, 503, 504)


@dataclass(frozen=True, kw_only=True)
class FaultPlan:
    """Which faults are played on what share of the requests, and how."""

    rates: Mapping[FaultKind, float]
    """The share of the requests, in [0, 1]; all of them together at most 1."""
    retry_after_s: float = 1.0
    """What a 429 asks its client to wait."""
    stall_s: float = 30.0
    """For how long no byte of the answer comes."""
    cut_at: float = 0.5
    """After which part of the answer's bytes it breaks off."""
    slow_bytes_per_s: float = 200.0
    requests: Literal["main", "all"] = "main"
    """Which may be hit."""
    first: int | None = None
    """Only so many of a try's requests, from its first; None: every one may be hit."""
    seed: int = 0

    @property
    def text(self) -> str:
        """The plan in one line, as it can be given again."""
        parts: dict[str, Any] = {kind: f"{rate:g}" for kind, rate in self.rates.items() if rate}
        parts |= {name: f"{getattr(self, name):g}" for kind, name in _SETTINGS.items() if self.rates.get(kind)}
        if self.requests != "main":
            parts["requests"] = self.requests
        if self.first is not None:
            parts["first"] = self.first
        parts["seed"] = self.seed
        return ",".join(f"{name}={value}" for name, value in parts.items())

    def roll(self, *place: object) -> tuple[FaultKind | None, int]:
        """Return what is played on the request at this place, and a number that is its own; the same each time."""
        digest = hashlib.sha256(repr((self.seed, *place)).encode()).digest()
        share = int.from_bytes(digest[:8], "big") / 2**64
        for kind in KINDS:
            share -= self.rates.get(kind, 0.0)
            if share < 0:
                return kind, digest[8]
        return None, digest[8]


_SETTINGS: Mapping[FaultKind, str] = {
    "429": "retry_after_s",
    "stall": "stall_s",
    "cut": "cut_at",
    "slow": "slow_bytes_per_s",
}
_KEYS = (*KINDS, *(field.name for field in fields(FaultPlan) if field.name != "rates"))


def read_faults(text: str) -> FaultPlan:
    """Read `429=0.2,stall=0.05,seed=3`, or the TOML file of that name with the same keys. Raises InputError."""
    if Path(text).is_file():
        return _plan(read_toml(Path(text)), text)
    if "=" not in text:
        raise InputError(f"--faults {text}: no such file, and no faults either; write them as in 429=0.2,cut=0.1")
    given: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise InputError(f"--faults: {part!r} has no value; write it as in 429=0.2")
        if key in given:
            raise InputError(f"--faults: {key} is there twice; leave one of them out")
        given[key] = _value(value)
    return _plan(given, "--faults")


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _plan(given: Mapping[str, Any], place: str) -> FaultPlan:
    for key in given:
        if key not in _KEYS:
            raise InputError(f"{place}: unknown key `{key}`; {suggest(key, _KEYS)}")
    rates: dict[FaultKind, float] = {kind: _number(given[kind], kind, place, most=1) for kind in KINDS if kind in given}
    if not any(rates.values()):
        raise InputError(f"{place}: no fault has a rate; give one of {', '.join(KINDS)}, as in 429=0.2")
    if sum(rates.values()) > 1:
        raise InputError(f"{place}: the rates add up to {sum(rates.values()):g}; together they can be 1 at most")
    settings = {key: _SETTING[key](value, key, place) for key, value in given.items() if key in _SETTING}
    return FaultPlan(rates=rates, **settings)


def _number(value: Any, key: str, place: str, *, least: float = 0, most: float = float("inf")) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        bounds = f"from {least:g} to {most:g}" if most < float("inf") else f"of at least {least:g}"
        raise InputError(f"{place}: {key} is {value!r}; it must be a number {bounds}")
    return float(value)


def _whole(value: Any, key: str, place: str, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{place}: {key} is {value!r}; it must be a whole number of at least {least}")
    return value


def _requests(value: Any, key: str, place: str) -> str:
    if value not in ("main", "all"):
        raise InputError(f"{place}: {key} is {value!r}; it must be main or all")
    return value


_SETTING: Mapping[str, Any] = {
    "retry_after_s": _number,
    "stall_s": _number,
    "cut_at": lambda value, key, place: _number(value, key, place, most=1),
    "slow_bytes_per_s": lambda value, key, place: _number(value, key, place, least=1),
    "requests": _requests,
    "first": lambda value, key, place: _whole(value, key, place, least=1),
    "seed": lambda value, key, place: _whole(value, key, place, least=0),
}
