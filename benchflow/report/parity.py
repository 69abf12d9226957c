"""A comparison of the agent alone with the agent inside, on a terminal and as JSON: a verdict per check and request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchflow.gateway.differing import MISSING, Difference
from benchflow.parity.comparison import NOT_CAPTURED, Parity, ScenarioParity, Word
from benchflow.parity.outcome import AspectFound
from benchflow.parity.wire import DIVERGES, RequestFound, WireCheck
from benchflow.report import numbers
from benchflow.report.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

STYLES: Mapping[Word, str] = {"parity": "green", "divergence": "red", "undecided": "yellow"}
SHOWN = 12
"""Differences of one request that are printed; the others are counted."""
WIDEST = 240
"""Characters of a line about a difference."""


def print_parity(console: "Console", parity: Parity) -> None:
    """Print the verdicts, and for what is not equal byte for byte, why."""
    from rich.text import Text

    console.print(Text(headline(parity), "bold"), soft_wrap=True)
    for scenario in parity.scenarios:
        console.print()
        console.print(Text(f"{one_line(scenario.scenario)}: ", "bold").append(scenario.word, STYLES[scenario.word]))
        for line, style in _scenario_lines(scenario):
            console.print(Text(f"  {line}", style), soft_wrap=True)
    console.print()
    console.print(Text("verdict: ", "bold").append(parity.word, STYLES[parity.word]))
    console.print(times(parity), style="dim", soft_wrap=True)


def headline(parity: Parity) -> str:
    """Name the agent and what it was compared under."""
    version = f" {one_line(parity.agent_version)}" if parity.agent_version else ""
    without = [f"without the rules {', '.join(parity.without)}"] if parity.without else []
    against = f"alone{' (fixture)' if parity.kept else ''} against inside ({parity.isolation or 'not run'})"
    return " · ".join([one_line(parity.agent) + version, against, parity.upstream, *without])


def times(parity: Parity) -> str:
    """Say how long it took, how much of it was the agent's own, and how much BenchFlow's."""
    beyond = max(0.0, parity.took_s - parity.agent_s)
    sides = [_side_time("inside", [(each.inside_s, each.runs_inside) for each in parity.scenarios])]
    if not parity.kept:
        sides.insert(0, _side_time("alone", [(each.alone_s, each.runs_alone) for each in parity.scenarios]))
    return (
        f"took {parity.took_s:.1f} s, {beyond:.1f} s beyond the agent itself: "
        f"{' and '.join(sides)}{', at the same time' if len(sides) > 1 else ''}"
    )


def _side_time(side: str, runs: Sequence[tuple[float, int]]) -> str:
    return f"{sum(took for took, _ in runs):.1f} s in {numbers.plural(sum(count for _, count in runs), 'run')} {side}"


def _scenario_lines(scenario: ScenarioParity) -> Iterator[tuple[str, str]]:
    wire = scenario.wire
    if wire is None:
        yield f"wire: not compared: {NOT_CAPTURED}", "yellow"
    elif wire.check is None:
        yield f"wire: {wire.word}: {one_line(wire.reason or '')}", STYLES[wire.word]
    else:
        yield f"wire: {wire.word}: {summarize(wire.check)}", STYLES[wire.word]
        for request in wire.check.requests:
            yield from _request_lines(request)
    outcome = scenario.outcome
    said = outcome.reason or ", ".join(f"{_name(each.aspect)} {each.found}" for each in _aspects(scenario))
    yield f"outcome: {outcome.word}: {one_line(said)}", STYLES[outcome.word]
    for aspect in _aspects(scenario):
        yield from _aspect_lines(aspect)


def _aspects(scenario: ScenarioParity) -> Sequence[AspectFound]:
    return scenario.outcome.check.aspects if scenario.outcome.check else ()


def _name(aspect: str) -> str:
    return aspect.replace("_", " ")


def summarize(check: WireCheck) -> str:
    """Say how many requests there were, how many are equal without any rule, and which rules the others took."""
    total = len(check.requests)
    rules = ", ".join(f"{name} {count}" for name, count in check.fired.items()) or "none"
    parts = [numbers.plural(total, "request"), f"{check.identical} byte for byte", f"rules: {rules}"]
    counts = {found: sum(each.found == found for each in check.requests) for found in ("noise", "late")}
    parts += [
        f"{count} with noise" if found == "noise" else f"{count} late" for found, count in counts.items() if count
    ]
    diverging = sum(each.found in DIVERGES for each in check.requests)
    parts += [f"{diverging} diverging"] if diverging else []
    sent = [each for each in check.requests if each.forwarded is not None]
    same = sum(bool(each.forwarded) for each in sent)
    parts.append(f"forwarded unchanged: {same} of {len(sent)}")
    return " · ".join(parts)


def _request_lines(request: RequestFound) -> Iterator[tuple[str, str]]:
    rules = f" ({', '.join(f'{name} {count}' for name, count in request.needed.items())})" if request.needed else ""
    changed = f" · changed on the way: {', '.join(request.changed)}" if request.changed else ""
    style = "red" if request.found in DIVERGES else "dim"
    yield f"  {request.name}: {request.found}{rules} · {one_line(request.call, 80)}{changed}", style
    yield from _difference_lines(request.differences, "red")
    yield from _difference_lines(request.noise, "yellow", "the agent alone differs from itself: ")


def _aspect_lines(aspect: AspectFound) -> Iterator[tuple[str, str]]:
    if aspect.aspect == "score" or aspect.found != "equal":
        style = {"equal": "dim", "noise": "yellow", "undecided": "yellow"}.get(aspect.found, "red")
        yield f"  {_name(aspect.aspect)}: {aspect.found}: {one_line(aspect.said)}", style
        yield from _difference_lines(aspect.differences, "yellow" if aspect.found == "noise" else "red")


def _difference_lines(differences: Sequence[Difference], style: str, note: str = "") -> Iterator[tuple[str, str]]:
    for difference in differences[:SHOWN]:
        for number, line in enumerate(_described(difference)):
            yield f"    {note if number == 0 else ''}{one_line(line, WIDEST)}", style
    if len(differences) > SHOWN:
        yield f"    … {len(differences) - SHOWN} more", style


def _described(difference: Difference) -> list[str]:
    """Say it in the words of the two sides."""
    return [
        line.replace("  recorded: ", "  alone:  ", 1).replace("  asked:    ", "  inside: ", 1)
        for line in difference.lines()
    ]


def describe(parity: Parity) -> dict[str, Any]:
    """Return the comparison as JSON has it: a value that is not there is left out of its difference."""
    return {
        "verdict": parity.word,
        "agent": parity.agent,
        "agent_version": parity.agent_version,
        "agent_digest": parity.agent_digest,
        "isolation": parity.isolation,
        "upstream": parity.upstream,
        "without": parity.without,
        "margin": parity.margin,
        "took_s": parity.took_s,
        "agent_s": round(parity.agent_s, 3),
        "against_fixture": parity.kept,
        "scenarios": [_described_scenario(each) for each in parity.scenarios],
    }


def _described_scenario(scenario: ScenarioParity) -> dict[str, Any]:
    wire, outcome = scenario.wire, scenario.outcome
    return {
        "scenario": scenario.scenario,
        "scenario_digest": scenario.scenario_digest,
        "verdict": scenario.word,
        "alone_s": scenario.alone_s,
        "inside_s": scenario.inside_s,
        "runs_alone": scenario.runs_alone,
        "runs_inside": scenario.runs_inside,
        "wire": None
        if wire is None
        else {
            "verdict": wire.word,
            "reason": wire.reason,
            "identical": wire.check.identical if wire.check else 0,
            "rules": wire.check.fired if wire.check else {},
            "requests": [_described_request(each) for each in wire.check.requests] if wire.check else [],
        },
        "outcome": {
            "verdict": outcome.word,
            "reason": outcome.reason,
            "aspects": [_described_aspect(each) for each in _aspects(scenario)],
        },
    }


def _described_request(request: RequestFound) -> dict[str, Any]:
    return {
        "name": request.name,
        "verdict": request.found,
        "call": request.call,
        "rules": request.needed,
        "differences": [_described_difference(each) for each in request.differences],
        "noise": [_described_difference(each) for each in request.noise],
        "changes": request.changed,
        "forwarded_unchanged": request.forwarded,
    }


def _described_aspect(aspect: AspectFound) -> dict[str, Any]:
    return {
        "aspect": aspect.aspect,
        "verdict": aspect.found,
        "said": aspect.said,
        "differences": [_described_difference(each) for each in aspect.differences],
    }


def _described_difference(difference: Difference) -> dict[str, Any]:
    values = {"alone": difference.recorded, "inside": difference.asked}
    return {"path": difference.path, **{name: value for name, value in values.items() if value is not MISSING}}
