"""Many rows, drawn from a population with a seed, for tests of what sums them up."""

import random
from typing import Any

from stored import make_row, make_unscored

from benchflow.contracts import CostBreakdown, ScorerCheckResult, TimingBreakdown, TokenBreakdown, ToolCallBreakdown
from benchflow.row import ProfileRow


def draw_rows(
    *,
    scenarios: int = 8,
    repetitions: int = 3,
    modes: tuple[str, ...] = ("baseline",),
    drop: float = 0.0,
    dearer: float = 1.0,
    unscored: float = 0.0,
    seed: int = 0,
    **changes: Any,
) -> list[ProfileRow]:
    """Draw rows of one agent. In each mode after the first, trials pass less often by `drop`, and use more tokens."""
    rng = random.Random(seed)
    rates = [rng.betavariate(2, 1) for _ in range(scenarios)]
    return [
        _draw(rng, f"s{scenario:03}", mode, iteration, rates[scenario] - place * drop, dearer**place, unscored, changes)
        for place, mode in enumerate(modes)
        for scenario in range(scenarios)
        for iteration in range(repetitions)
    ]


def _draw(
    rng: random.Random,
    scenario: str,
    mode: str,
    iteration: int,
    rate: float,
    dearer: float,
    unscored: float,
    changes: dict[str, Any],
) -> ProfileRow:
    agent = changes.get("agent", "mini")
    common = {
        "upstream": "openai",
        "scenario_id": scenario,
        "scenario_digest": f"digest of {scenario}",
        "iteration": iteration,
        "mode": mode,
        "trial": f"{scenario}-{agent}-{mode}-{iteration}-{rng.getrandbits(32):08x}",
        **changes,
    }
    if rng.random() < unscored:
        return make_unscored(**common)
    passed = rng.random() < rate
    calls = rng.randint(1, 9)
    return make_row(
        **{
            "success": passed,
            "score": 1.0 if passed else rng.choice([0.0, 1 / 3]),
            "checks_passed": 3 if passed else 1,
            "check_details": (
                ScorerCheckResult(id="sums", description="sums are right", passed=passed, actual="4", expected="3"),
            ),
            "timing": TimingBreakdown(wall_ms=round(rng.lognormvariate(8, 0.5), 3), segments={"model": 12.5}),
            "tokens": TokenBreakdown.of(input=int(dearer * rng.lognormvariate(8, 0.2)), output=rng.randint(50, 500)),
            "tool_calls": ToolCallBreakdown(total=calls, by_category={"execute": calls}),
            "cost": CostBreakdown(total_usd=rng.lognormvariate(-4, 0.5)),
            "agent_turns": calls + 1,
            **common,
        }
    )
