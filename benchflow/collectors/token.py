"""The tokens of a trial: by category, by role, per turn, and how its context grew."""

from collections.abc import Sequence
from itertools import starmap
from typing import TYPE_CHECKING

from benchflow.collectors.metering import role_tokens, usage_source
from benchflow.contracts import CustomMetric, SessionTrace, TokenBreakdown
from benchflow.row import ProfileRow

if TYPE_CHECKING:
    from benchflow.scenario import Scenario

_CATEGORIES = ("input", "output", "reasoning", "cache_read", "cache_write", "total", "active")
_ROLES = ("main", "auxiliary", "subagent")


class TokenCollector:
    """Collects `tokens.*`."""

    id = "token"

    async def collect(
        self, result: ProfileRow, scenario: "Scenario", mode: str, *, trace: SessionTrace | None = None
    ) -> list[CustomMetric]:
        """Return the metrics of all exchanges together, of each role, and of the turns."""
        source = usage_source(result) if result.tokens else ""
        tokens = [turn.tokens for turn in trace.turns if turn.tokens] if trace else []
        return [
            *(_metric(name, result.tokens and getattr(result.tokens, name), source) for name in _CATEGORIES),
            _metric("cache_hit_share", result.tokens and cache_hit_share(result.tokens), source, "share"),
            *(_metric(role, role_tokens(result, role), "gateway") for role in _ROLES),
            *starmap(_of_turns, _turns(tokens)),
        ]


def cache_hit_share(tokens: TokenBreakdown) -> float | None:
    """Return the share of the prompt that was read from a cache: cache_read / (input + cache_read + cache_write)."""
    prompt = prompt_size(tokens)
    return tokens.cache_read / prompt if prompt else None


def prompt_size(tokens: TokenBreakdown) -> int:
    """Return how large the prompt was, cached or not."""
    return tokens.input + tokens.cache_read + tokens.cache_write


def _turns(tokens: Sequence[TokenBreakdown]) -> list[tuple[str, float | None, str]]:
    """Mean use of a turn, and the size of the context: first, last, largest, and by how much it grew a turn."""
    number = len(tokens)
    contexts = [prompt_size(each) for each in tokens]
    growth = (contexts[-1] - contexts[0]) / (number - 1) if number > 1 else None
    return [
        ("per_turn", sum(each.total for each in tokens) / number if number else None, "tokens/turn"),
        ("output_per_turn", sum(each.output for each in tokens) / number if number else None, "tokens/turn"),
        ("context_first", contexts[0] if contexts else None, "tokens"),
        ("context_last", contexts[-1] if contexts else None, "tokens"),
        ("context_peak", max(contexts, default=None), "tokens"),
        ("context_growth", growth, "tokens/turn"),
    ]


def _of_turns(name: str, value: float | None, unit: str) -> CustomMetric:
    return _metric(name, value, "gateway", unit)


def _metric(name: str, value: float | None, source: str, unit: str = "tokens") -> CustomMetric:
    return CustomMetric(name=f"tokens.{name}", value=value, unit=unit, source=source if value is not None else "")
