"""What went wrong and how the agent went on, as the error analyzer says it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from trials import TryLogs
from worked import TURNS, Did, Took, analyzed, read, run, session, values

from benchflow.analyzers.error import ErrorAnalyzer
from benchflow.trace import build_trace

MISSING = read("a", status="failed", output="a: No such file or directory")
BROKEN = run("make", status="failed", output="make: *** [all] Error 2\n[exit status 2]")


async def test_errors_are_typed_and_their_recovery_is_told(tmp_path: Path) -> None:
    trace = session(
        tmp_path,
        Took(calls=[BROKEN]),
        Took(calls=[BROKEN]),
        Took(calls=[run("make -k", status="failed", output="SyntaxError: invalid syntax")]),
        Took(calls=[MISSING, run("ls")]),
        Took(calls=[run("pytest", output="1 failed in 0.1s\n[exit status 1]")]),
        Took(text="I give up."),
    )

    result = await analyzed(ErrorAnalyzer(), trace)

    assert {finding.name: values(result, finding.name)[0] for finding in result.findings} == {
        "errors_encountered": 5,
        "error_types": [("other", 2), ("syntax", 1), ("not_found", 1), ("test_failure", 1)],
        "recovery_patterns": [("adjusted", 2), ("retry", 1), ("alternative", 1), ("give_up", 1)],
        "recovered": (3, 5),
        "error_cascades": 1,
        "longest_cascade": 4,
        "wasted_turns_from_errors": 3,
        "error_messages": [
            "shell: other: make: *** [all] Error 2",
            "shell: other: make: *** [all] Error 2",
            "shell: syntax: SyntaxError: invalid syntax",
            "read_file: not_found: a: No such file or directory",
            "shell: test_failure: 1 failed in 0.1s",
        ],
    }
    assert result.summary == (
        "5 errors (other 2, syntax 1, not_found 1, test_failure 1); "
        "then adjusted 2, retry 1, alternative 1, give_up 1; 1 cascade"
    )


@pytest.mark.parametrize(
    ("after", "pattern"),
    [
        ([], "give_up"),
        ([Took(text="I stop.")], "give_up"),
        ([Took(text="Again."), Took(calls=[BROKEN])], "retry"),
        ([Took(calls=[run("make -k")])], "adjusted"),
        ([Took(calls=[read("a"), run("make -k")])], "adjusted"),
        ([Took(calls=[read("a")])], "alternative"),
    ],
)
async def test_a_recovery_is_what_the_next_step_with_calls_does(
    tmp_path: Path, after: list[Took], pattern: str
) -> None:
    broken = run("make", status="failed")

    result = await analyzed(ErrorAnalyzer(), session(tmp_path, Took(calls=[broken]), *after))

    assert (pattern, 1) in values(result, "recovery_patterns")[0]


async def test_calls_in_parallel_are_no_recovery_of_each_other(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(calls=[MISSING, read("b")]), captured=False)

    assert values(await analyzed(ErrorAnalyzer(), trace), "recovery_patterns") == [[("give_up", 1)]]


async def test_errors_beside_tools_count_too(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.prompted(10)
    logs.exchange(20, status=503)
    logs.exchange(40, text="x")
    logs.update(60, "tool_call", toolCallId="1", title="ls", kind="execute", status="completed")
    logs.received(70, {"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": "Internal error"}})

    result = await analyzed(ErrorAnalyzer(), build_trace(tmp_path))

    assert values(result, "errors_encountered", "error_types", "recovery_patterns", "error_messages") == [
        2,
        [("network", 1), ("other", 1)],
        [("retry", 1), ("give_up", 1)],
        [
            "network: main model request: status 503, complete: overloaded",
            "other: Internal error (-32603)",
        ],
    ]


async def test_without_a_further_turn_a_call_after_an_error_follows_it_up(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.prompted(10)
    logs.exchange(20, status=503)
    logs.update(60, "tool_call", toolCallId="1", title="ls", kind="execute", status="completed")

    result = await analyzed(ErrorAnalyzer(), build_trace(tmp_path))

    assert values(result, "recovery_patterns") == [[("tool_followup", 1)]]


async def test_a_session_without_errors_says_so(tmp_path: Path) -> None:
    result = await analyzed(ErrorAnalyzer(), session(tmp_path, Took(calls=[run("make"), Did(took_ms=None)])))

    assert result.summary == "no errors"
    assert values(result, "errors_encountered", "recovered", "longest_cascade") == [0, (0, 0), 0]


@settings(max_examples=30, deadline=None)
@given(turns=TURNS)
async def test_types_and_recoveries_add_up_to_the_errors(turns: list[Took]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = session(Path(folder), *turns)

    result = await analyzed(ErrorAnalyzer(), trace)
    number, types, recoveries = values(result, "errors_encountered", "error_types", "recovery_patterns")
    recovered, failed = values(result, "recovered")[0]

    assert sum(count for _, count in types) == sum(count for _, count in recoveries) == number
    assert 0 <= recovered <= failed <= number
