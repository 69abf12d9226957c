"""Which tools are used in which order, and what is repeated, as the tool-pattern analyzer says it."""

from pathlib import Path

from worked import Did, Took, analyzed, edit, read, run, session, values

from benchflow.analyzers.tool_pattern import ToolPatternAnalyzer


async def test_tools_pairs_and_repeats_are_counted(tmp_path: Path) -> None:
    failed = run("make all", status="failed")
    trace = session(
        tmp_path,
        Took(calls=[read("a"), read("a"), edit("a")]),
        Took(calls=[read("a"), read("/workspace/a"), read("a")]),
        Took(calls=[failed]),
        Took(calls=[failed]),
        Took(calls=[run("make all"), run("make all")]),
    )

    result = await analyzed(ToolPatternAnalyzer(), trace)

    assert {finding.name: values(result, finding.name)[0] for finding in result.findings} == {
        "tool_sequence": ["read_file", "read_file", "edit_file", *["read_file"] * 3, *["shell"] * 4],
        "unique_tools_used": 3,
        "tool_call_patterns": [
            ("read_file -> read_file", 3),
            ("shell -> shell", 3),
            ("read_file -> edit_file", 1),
            ("edit_file -> read_file", 1),
            ("read_file -> shell", 1),
        ],
        "redundant_call_count": 3,
        "redundant_calls": [("read_file", "a", 2), ("shell", "make all", 1)],
        "retried_call_count": 2,
        "failed_then_retried": [("shell", 2)],
    }
    assert result.summary == "10 calls of 3 tools; 3 redundant, 2 retried"


async def test_names_that_are_command_lines_never_reach_a_sequence(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(calls=[Did(name="rm -rf / \x1b[2J", kind="delete", given={"x": "\x1b" * 100})] * 2))

    result = await analyzed(ToolPatternAnalyzer(), trace)

    sequence, repeats = values(result, "tool_sequence", "redundant_calls")
    assert sequence == ["delete", "delete"]
    assert [(tool, len(given), number) for tool, given, number in repeats] == [("delete", 60, 1)]


async def test_a_very_long_sequence_is_cut(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(calls=[Did(name=f"tool-{number % 30}") for number in range(250)]))

    result = await analyzed(ToolPatternAnalyzer(), trace)

    sequence, pairs = values(result, "tool_sequence", "tool_call_patterns")
    assert (len(sequence), sequence[-1], len(pairs)) == (201, "… 50 more", 20)


async def test_a_session_without_calls_has_an_empty_pattern(tmp_path: Path) -> None:
    result = await analyzed(ToolPatternAnalyzer(), session(tmp_path, Took(text="Done.")))

    assert result.summary == "0 calls of 0 tools; 0 redundant, 0 retried"
    assert values(result, "tool_sequence", "tool_call_patterns", "redundant_calls") == [[], [], []]
