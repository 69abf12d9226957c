"""Which way an agent went, as the strategy analyzer says it, and with which reasons."""

from pathlib import Path

import pytest
from worked import Did, Took, analyzed, edit, read, run, session, values

from benchflow.analyzers.strategy import StrategyAnalyzer

LOOKS = [read(name) for name in "abcde"]


@pytest.mark.parametrize(
    ("calls", "summary"),
    [
        ([], "none: no tool call"),
        (
            [read("a"), edit("a"), run("make")],
            "direct: 0 rounds of change, run, change; went back 0 times; 1 of 3 calls look; 1 before the first change",
        ),
        ([edit("a"), run("make"), edit("a")], "iterative: 1 round of change, run, change; went back 0 times"),
        ([edit("a"), edit("b"), edit("a")], "iterative: 0 rounds of change, run, change; went back 1 time"),
        ([*LOOKS, edit("a"), run("make")], "exploratory: 5 of 7 calls look; 5 before the first change"),
        (LOOKS, "exploratory: 5 of 5 calls look; 5 before the first change"),
    ],
)
async def test_a_strategy_is_named_with_its_reasons(tmp_path: Path, calls: list[Did], summary: str) -> None:
    result = await analyzed(StrategyAnalyzer(), session(tmp_path, Took(calls=calls)))

    assert result.summary == summary
    assert values(result, "strategy_summary", "strategy_reasons") == [
        summary.split(":")[0],
        summary.split(": ", 1)[1].split("; "),
    ]


async def test_five_looks_among_many_runs_are_no_exploration(tmp_path: Path) -> None:
    calls = [*LOOKS, *(run(f"make {number}") for number in range(6))]

    result = await analyzed(StrategyAnalyzer(), session(tmp_path, Took(calls=calls)))

    assert values(result, "strategy_summary") == ["direct"]


async def test_phases_are_calls_in_a_row_with_one_purpose(tmp_path: Path) -> None:
    think = Did(name="todo", kind="think", given={"items": []})
    trace = session(tmp_path, Took(calls=[read("a"), run("cat b")]), Took(calls=[edit("a"), run("make"), think]))

    result = await analyzed(StrategyAnalyzer(), trace)

    assert values(result, "strategy_steps", "calls_by_purpose") == [
        ["look x2", "change x1", "run x1", "other x1"],
        [("look", 2), ("change", 1), ("run", 1), ("other", 1)],
    ]


@pytest.mark.parametrize(
    ("calls", "answer"),
    [
        ([read("a")], "nothing changed"),
        ([edit("a", status="failed")], "nothing changed"),
        ([edit("a"), run("make")], "yes"),
        ([run("make"), edit("a"), read("a")], "no"),
        ([edit("a"), run("make"), edit("b", status="failed")], "yes"),
    ],
)
async def test_a_change_is_verified_if_something_is_run_after_it(tmp_path: Path, calls: list[Did], answer: str) -> None:
    result = await analyzed(StrategyAnalyzer(), session(tmp_path, Took(calls=calls)))

    assert values(result, "verified") == [answer]


async def test_notes_say_what_could_have_been_better(tmp_path: Path) -> None:
    calls = [run("make", status="failed"), read("a"), read("a"), read("a"), edit("a")]
    fine = [read("a"), edit("a"), run("make")]

    worse = await analyzed(StrategyAnalyzer(), session(tmp_path / "worse", Took(calls=[calls[0], *calls])))
    better = await analyzed(StrategyAnalyzer(), session(tmp_path / "better", Took(calls=fine)))

    assert values(worse, "optimality_notes") == [
        ["2 of 6 calls failed", "2 redundant calls", "nothing was run after the last change"]
    ]
    assert values(better, "optimality_notes") == [[]]


async def test_a_session_of_very_many_phases_is_cut(tmp_path: Path) -> None:
    calls = [call for number in range(30) for call in (read(str(number)), run(f"make {number}"))]

    steps = values(await analyzed(StrategyAnalyzer(), session(tmp_path, Took(calls=calls))), "strategy_steps")[0]

    assert (len(steps), steps[-1]) == (51, "… 10 more")
