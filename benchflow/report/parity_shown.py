"""Whether parity was shown of an agent, for people and as JSON."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from benchflow.parity.record import ParityRecord, ScenarioRecord
from benchflow.parity.shown import Shown
from benchflow.report import numbers
from benchflow.report.text import one_line


def describe_shown(shown: Shown) -> dict[str, Any]:
    """Return what is known of an agent's parity, with the whole record."""
    record = shown.record
    return {
        "answer": shown.answer,
        "stale": shown.stale,
        "measured": record.measured if record else None,
        "record": record.model_dump(mode="json") if record else None,
    }


def shown_lines(shown: Shown, agent: str) -> Iterator[str]:
    """Say whether it was shown, on what, and the command that shows it where it was not."""
    record = shown.record
    if shown.stale:
        yield f"parity: stale: {one_line(shown.stale, 300)}; `benchflow parity {agent}` shows it anew"
        return
    if record is None:
        yield f"parity: never compared; `benchflow parity {agent}` shows it"
        return
    version = f", version {one_line(record.agent_version)}" if record.agent_version else ""
    yield f"parity: {shown.answer}, compared {record.measured}{version}, by BenchFlow {record.benchflow_version}"
    for scenario in record.scenarios:
        yield f"  {one_line(scenario.scenario)}: {scenario.word} ({scenario_said(scenario)})"
        yield from (f"    {one_line(reason, 300)}" for reason in scenario.reasons)


def scenario_said(scenario: ScenarioRecord) -> str:
    """Say in a line what was compared on a scenario."""
    if scenario.wire is None:
        return f"outcome alone: its model calls are not routed; {scenario.isolation or 'not run'}"
    rules = ", ".join(f"{name} {count}" for name, count in scenario.rules.items()) or "none"
    parts = [
        numbers.plural(scenario.requests, "request"),
        f"{scenario.identical} byte for byte",
        f"rules: {rules}",
        *([f"{scenario.noise} with noise of the agent's own"] if scenario.noise else []),
        f"forwarded unchanged {scenario.forwarded}",
        scenario.isolation or "not run",
    ]
    return " · ".join(parts)


def rules_of(record: ParityRecord) -> dict[str, int]:
    """Return the rules that all scenarios together took, and how often each fired."""
    counts: Counter[str] = Counter()
    for scenario in record.scenarios:
        counts.update(scenario.rules)
    return dict(counts.most_common())
