"""Outcome parity: what came of the runs, one of each side or many."""

from dataclasses import replace
from typing import Any

import pytest
from parity_samples import ALONE, RESULT, capture_of

from benchflow.parity.capture import Capture, FileState, NotRun, Result, ToolStep
from benchflow.parity.comparison import compare
from benchflow.parity.outcome import OutcomeCheck, compare_outcomes


def run(**fields: Any) -> Capture:
    """A run with this result."""
    result: Result = replace(RESULT, **fields)
    return capture_of([], result=result)


def aspects(check: OutcomeCheck) -> dict[str, str]:
    return {each.aspect: each.found for each in check.aspects}


def text(content: str, *, executable: bool = False) -> FileState:
    return FileState(sha256=content, executable=executable, text=content)


def test_equal_results_are_equal() -> None:
    check = compare_outcomes([run(), run()], [run()])

    assert check.parity
    assert set(aspects(check).values()) == {"equal"}


@pytest.mark.parametrize(
    ("aspect", "fields"),
    [
        ("score", {"score": 0.5}),
        ("tools", {"tools": RESULT.tools[:1]}),
        ("tools", {"tools": RESULT.tools[::-1]}),
        ("tools", {"tools": (RESULT.tools[0], ToolStep(name="bash", status="failed"))}),
        ("files", {"files": {**RESULT.files, "more.txt": text("x")}}),
        ("files", {"files": {}}),
        ("files", {"files": {"hello.txt": text("hello!\n")}}),
        ("files", {"files": {"hello.txt": text("hello\n", executable=True)}}),
        ("stop_reason", {"stop_reasons": ("refusal",)}),
        ("stop_reason", {"stop_reasons": ("end_turn", "end_turn")}),
    ],
)
def test_each_aspect_that_differs_diverges_alone(aspect: str, fields: dict[str, Any]) -> None:
    check = compare_outcomes([run(), run()], [run(**fields)])

    assert check.diverges
    assert [name for name, found in aspects(check).items() if found == "divergence"] == [aspect]


@pytest.mark.parametrize(
    ("aspect", "one", "other", "inside"),
    [
        ("score", {"score": 1.0}, {"score": 0.0}, {"score": 0.5}),
        ("tools", {}, {"tools": RESULT.tools[:1]}, {"tools": RESULT.tools[::-1]}),
        ("files", {"files": {"a": text("1")}}, {"files": {"a": text("2")}}, {"files": {"a": text("3")}}),
        ("stop_reason", {}, {"stop_reasons": ("refusal",)}, {"stop_reasons": ("max_tokens",)}),
    ],
)
def test_what_differs_between_runs_alone_is_noise(aspect: str, one: Any, other: Any, inside: Any) -> None:
    check = compare_outcomes([run(**one), run(**other)], [run(**inside)])

    assert check.parity
    assert aspects(check)[aspect] == "noise"


def test_own_paths_in_files_and_titles_of_tools_are_neutral() -> None:
    inside = run(files={"a": text("in /workspace")}, tools=(ToolStep(name="read /workspace/a", status="completed"),))
    result = replace(
        RESULT,
        files={"a": text(f"in {ALONE.workspace}")},
        tools=(ToolStep(name=f"read {ALONE.workspace}/a", status="completed"),),
    )

    check = compare_outcomes([capture_of([], where="alone", setting=ALONE, result=result)], [inside])

    assert check.parity


@pytest.mark.parametrize(
    ("names", "parity"),
    [
        (["log/20261122_101010_123456.json"], True),
        (["log/20261122_101010_123456.txt"], False),
        (["log/20261122_101010_123456.json", "log/20261122_101011_123456.json"], False),
    ],
)
def test_file_that_is_named_after_the_time_is_the_same_and_one_more_is_not(names: list[str], parity: bool) -> None:
    alone = capture_of(
        [], setting=ALONE, result=replace(RESULT, files={"log/20261123_002200_654321.json": text("said")})
    )

    files = compare_outcomes([alone], [run(files=dict.fromkeys(names, text("said")))]).aspects[2]

    assert (files.found == "equal") == parity, files


def test_files_whose_names_are_drawn_by_lot_are_noise_just_where_the_agent_alone_draws_them() -> None:
    first, second, inside = (
        run(files={"a": text("x"), f".tasks/{name}.json": text("y")})
        for name in ("0589f916c26d", "2037df14ec42", "37a28e4ca878")
    )
    other = run(files={"a": text("x"), ".cache/37a28e4ca878.json": text("y")})

    assert compare_outcomes([first, second], [inside]).aspects[2].found == "noise"
    assert compare_outcomes([first, first], [inside]).aspects[2].found == "divergence"
    assert compare_outcomes([first, second], [other]).aspects[2].found == "divergence"


def test_many_equal_scores_are_equivalent() -> None:
    alone, inside = [run(score=score) for score in (0.9, 1.0, 0.95, 1.0)], [run(score=score) for score in (1.0, 0.95)]

    score = compare_outcomes([*alone, *alone], [*inside, *inside, *inside]).aspects[0]

    assert score.found == "equal"
    assert "margin 0.1" in score.said


def test_too_few_scattered_scores_are_undecided_and_not_taken_for_equal() -> None:
    scattered = [run(score=score) for score in (0.0, 1.0, 0.0, 1.0)]

    check = compare_outcomes(scattered, scattered)

    assert check.aspects[0].found == "undecided"
    assert not check.parity
    assert not check.diverges


def test_scores_that_surely_differ_by_more_than_the_margin_diverge() -> None:
    alone, inside = [run(score=score) for score in (0.9, 1.0, 0.95)], [run(score=score) for score in (0.1, 0.2, 0.15)]

    assert compare_outcomes(alone, inside).aspects[0].found == "divergence"
    assert compare_outcomes(alone, inside, margin=1.0).aspects[0].found == "equal"


def test_side_that_could_not_run_leaves_it_undecided_with_the_reason() -> None:
    parity = compare(
        [run(), run()], [NotRun(where="inside", reason="launch: no such program")], scenario="s", scenario_digest="d"
    )

    assert parity.word == "undecided"
    assert parity.outcome.reason == "the agent could not be run inside: launch: no such program"


def test_agent_without_capture_is_judged_by_its_outcome_alone() -> None:
    parity = compare([run(), run()], [run()], scenario="s", scenario_digest="d", captured=False)

    assert (parity.wire, parity.word) == (None, "parity")


def test_routed_agent_of_which_no_call_was_seen_is_undecided() -> None:
    assert compare([run(), run()], [run()], scenario="s", scenario_digest="d").word == "undecided"
