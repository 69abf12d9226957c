"""How many turns brought something, as the efficiency analyzer says it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from worked import TURNS, Took, analyzed, edit, read, run, session, values

from benchflow.analyzers.efficiency import EfficiencyAnalyzer
from benchflow.contracts import TokenBreakdown


def spent(total: int) -> TokenBreakdown:
    return TokenBreakdown.of(input=total)


@pytest.mark.parametrize(
    ("turn", "productive"),
    [
        (Took(calls=[run("make")]), 1),
        (Took(calls=[run("make", status="failed")]), 0),
        (Took(calls=[run("make", status="failed"), read("a")]), 1),
        (Took(calls=[run("pytest", status="failed", output="2 failed")]), 1),
        (Took(calls=[run("sleep", took_ms=None)]), 1),
        (Took(text="Done."), 1),
        (Took(text="  \n"), 0),
        (Took(thought="Only thinking."), 0),
    ],
)
async def test_a_turn_is_productive_if_something_came_of_it(tmp_path: Path, turn: Took, productive: int) -> None:
    result = await analyzed(EfficiencyAnalyzer(), session(tmp_path, turn))

    assert values(result, "productive_turns", "wasted_turns", "turn_efficiency") == [
        productive,
        1 - productive,
        (productive, 1),
    ]


async def test_everything_that_was_wasted_is_counted(tmp_path: Path) -> None:
    trace = session(
        tmp_path,
        Took(calls=[read("a"), read("b")], tokens=spent(100)),
        Took(calls=[read("/workspace/a")], tokens=spent(200)),
        Took(calls=[read("a")], tokens=spent(300)),
        Took(calls=[edit("a"), edit("b")], tokens=spent(400)),
        Took(calls=[edit("a", status="failed")], tokens=spent(500)),
        Took(text="Done.", tokens=spent(600)),
    )

    result = await analyzed(EfficiencyAnalyzer(), trace)

    assert {finding.name: values(result, finding.name)[0] for finding in result.findings} == {
        "total_turns": 6,
        "productive_turns": 4,
        "wasted_turns": 2,
        "turn_efficiency": (4, 6),
        "wasted_tokens": (800, 2100),
        "information_redundancy": (1, 7),
        "backtracking_events": 1,
        "files_read": 2,
        "files_changed": 2,
    }
    assert result.summary == "4 of 6 turns productive; 1 redundant call; went back 1 time"


async def test_without_exchanges_steps_stand_in_for_turns(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(calls=[read("a")]), Took(calls=[read("a")]), Took(text="Done."), captured=False)

    result = await analyzed(EfficiencyAnalyzer(), trace)

    assert values(result, "total_turns", "wasted_turns", "wasted_tokens") == [3, 1, (None, None)]
    assert {finding.name: finding.source for finding in result.findings}["total_turns"] == "derived"


async def test_a_session_in_which_nothing_happened_has_no_efficiency(tmp_path: Path) -> None:
    result = await analyzed(EfficiencyAnalyzer(), session(tmp_path))

    assert values(result, "total_turns", "turn_efficiency") == [0, (0, 0)]
    assert result.summary == "0 of 0 turns productive; 0 redundant calls; went back 0 times"


@settings(max_examples=30, deadline=None)
@given(turns=TURNS)
async def test_productive_and_wasted_turns_are_all_turns(turns: list[Took]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = session(Path(folder), *turns)

    result = await analyzed(EfficiencyAnalyzer(), trace)
    total, productive, wasted = values(result, "total_turns", "productive_turns", "wasted_turns")

    assert productive + wasted == total == len(turns)
    for name in ("turn_efficiency", "wasted_tokens", "information_redundancy"):
        numerator, denominator = values(result, name)[0]
        assert numerator is None or 0 <= numerator <= denominator
