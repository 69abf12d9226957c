"""The cost of a trial, in US dollars: by role, by prompt and answer, and per turn. Unknown is None, never 0."""

from typing import TYPE_CHECKING

from benchflow.collectors.metering import has_role, usage_source
from benchflow.contracts import CustomMetric, SessionTrace
from benchflow.row import ProfileRow

if TYPE_CHECKING:
    from benchflow.scenario import Scenario

_DIGITS = 12
"""Decimals that are kept of a difference or a mean: enough for a ten-thousandth of a token."""


class CostCollector:
    """Collects `cost.*`."""

    id = "cost"

    async def collect(
        self, result: ProfileRow, scenario: "Scenario", mode: str, *, trace: SessionTrace | None = None
    ) -> list[CustomMetric]:
        """Return the metrics. Where nothing was bought, and where a price is missing, nothing is known."""
        source = usage_source(result)
        main, auxiliary, subagent = cost_by_role(result)
        mean, most = _turns(trace)
        values = {
            "total": (result.cost.total_usd, source),
            "main": (main, "gateway"),
            "auxiliary": (auxiliary, "gateway"),
            "subagent": (subagent, "gateway"),
            "input": (result.cost.input_usd, "gateway"),
            "output": (result.cost.output_usd, "gateway"),
            "per_turn": (mean, "gateway"),
            "turn_max": (most, "gateway"),
        }
        return [
            CustomMetric(
                name=f"cost.{name}",
                value=value,
                unit="USD/turn" if name == "per_turn" else "USD",
                source=source if value is not None else "",
            )
            for name, (value, source) in values.items()
        ]


def cost_by_role(row: ProfileRow) -> tuple[float | None, float | None, float | None]:
    """Return what main, auxiliary and subagent exchanges cost: 0 where the others are priced, and there were none.

    The subagents' is what the total leaves.
    """
    cost = row.cost
    if cost.total_usd is None or not row.extensions.get("by_role"):
        return None, None, None
    main = cost.main_usd if has_role(row, "main") else 0.0
    auxiliary = cost.auxiliary_usd if has_role(row, "auxiliary") else 0.0
    if not has_role(row, "subagent"):
        return main, auxiliary, 0.0
    if main is None or auxiliary is None:
        return main, auxiliary, None
    return main, auxiliary, max(0.0, round(cost.total_usd - main - auxiliary, _DIGITS))


def _turns(trace: SessionTrace | None) -> tuple[float | None, float | None]:
    """Mean and highest cost of a turn; None as soon as that of one is not known."""
    costs = [turn.cost_usd for turn in trace.turns] if trace else []
    known = [cost for cost in costs if cost is not None]
    if not known or len(known) < len(costs):
        return None, None
    return round(sum(known) / len(known), _DIGITS), max(known)
