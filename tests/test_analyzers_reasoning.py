"""What the reasoning analyzer says: how much an agent thinks, whether before it acts, and where it is confused."""

from pathlib import Path

import pytest
from worked import Took, analyzed, edit, run, session, values

from benchflow.analyzers.reasoning import ReasoningAnalyzer
from benchflow.contracts import TokenBreakdown

LONG = "The parser drops the last part, so I read it first."
THOUGHT = TokenBreakdown.of(input=60, output=40, reasoning=30)
PLAIN = TokenBreakdown.of(input=90, output=10)


async def test_reasoning_is_weighed_by_the_tokens_that_the_provider_counts(tmp_path: Path) -> None:
    trace = session(
        tmp_path,
        Took(thought="abc", text="d", calls=[run("make"), run("test")], tokens=THOUGHT),
        Took(text="Done.", tokens=PLAIN),
    )

    found = values(
        await analyzed(ReasoningAnalyzer(), trace),
        *("reasoning_density", "reasoning_share_of_output", "reasoning_per_tool_call", "thought_share"),
    )

    assert found == [(30, 200), (30, 50), (30, 2), (3, 9)]


async def test_thoughts_whose_tokens_nobody_counts_have_an_unknown_density(tmp_path: Path) -> None:
    result = await analyzed(ReasoningAnalyzer(), session(tmp_path, Took(thought="abc", text="d", tokens=PLAIN)))

    assert values(result, "reasoning_density", "thought_share") == [(None, None), (3, 4)]


async def test_without_exchanges_words_are_taken_from_acp(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(thought="abc", text="d", calls=[run("make")]), captured=False)

    result = await analyzed(ReasoningAnalyzer(), trace)

    assert values(result, "reasoning_density", "thought_share", "planned_steps") == [(None, None), (3, 4), (0, 1)]
    assert {finding.name: finding.source for finding in result.findings}["thought_share"] == "acp"


@pytest.mark.parametrize(
    ("turns", "quality", "planned"),
    [
        ([], "none", (0, 0)),
        ([Took(text=LONG)], "none", (0, 0)),
        ([Took(text=LONG, calls=[run("a")]), Took(calls=[run("b")])], "mixed", (1, 2)),
        ([*(Took(text=LONG, calls=[run(name)]) for name in "ab"), Took(calls=[run("c")])], "proactive", (2, 3)),
        ([Took(calls=[run("a")]), Took(text="ok", calls=[run("b")]), Took(text=LONG)], "reactive", (0, 2)),
        ([Took(calls=[run("a")]), Took(text=LONG, calls=[run("b")])], "mixed", (1, 2)),
        ([Took(plan=["pending"], calls=[run("a")])], "proactive", (1, 1)),
        ([Took(text=LONG), Took(calls=[run("a")])], "proactive", (1, 1)),
    ],
)
async def test_an_agent_plans_if_it_thinks_before_it_acts(
    tmp_path: Path, turns: list[Took], quality: str, planned: tuple[int, int]
) -> None:
    result = await analyzed(ReasoningAnalyzer(), session(tmp_path, *turns))

    assert values(result, "planning_quality", "planned_steps") == [quality, planned]


async def test_the_last_plan_says_how_much_was_completed(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(plan=["pending"] * 3), Took(plan=["completed", "completed", "in_progress"]))

    assert values(await analyzed(ReasoningAnalyzer(), trace), "plan_updates", "plan_completed") == [2, (2, 3)]


async def test_signs_of_confusion_are_shown_with_what_is_around_them(tmp_path: Path) -> None:
    trace = session(
        tmp_path,
        Took(thought="Wait, that is odd.", calls=[edit("a")]),
        Took(text="I don\u2019t understand this. It is not unclear to me what awaits."),
        Took(text="All is well, unsurprisingly; I await, as ever."),
    )

    result = await analyzed(ReasoningAnalyzer(), trace)

    assert values(result, "confusion_count", "confusion_signals", "key_decisions") == [
        3,
        [
            "Wait, that is odd.",
            "I don\u2019t understand this. It is not unclear to me what awaits.",
            "I don\u2019t understand this. It is not unclear to me what awaits.",
        ],
        ["Wait, that is odd."],
    ]
    assert result.summary == "reactive: 0 of 1 step with calls planned; 3 signs of confusion"


async def test_long_thoughts_are_cut_and_no_more_than_twenty_are_kept(tmp_path: Path) -> None:
    turns = [Took(thought=f"{number} hmm " + "x" * 500) for number in range(25)]

    result = await analyzed(ReasoningAnalyzer(), session(tmp_path, *turns))

    count, signals, decisions = values(result, "confusion_count", "confusion_signals", "key_decisions")
    assert (count, len(signals), len(decisions)) == (25, 20, 20)
    assert {len(text) for text in decisions} == {80}
    assert max(len(text) for text in signals) <= 120
