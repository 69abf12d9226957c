"""What is read out of a trace: what calls are for, whether they failed, which steps there are, where the time went."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trials import Asked, TryLogs
from worked import TURNS, Did, Took, edit, read, run, session

from benchflow.behaviour.calls import read_calls
from benchflow.behaviour.failures import classify
from benchflow.behaviour.names import tool_of
from benchflow.behaviour.purpose import command_of, purpose_of, undoes
from benchflow.behaviour.repeats import backtracks, redundant, retried
from benchflow.behaviour.steps import read_steps
from benchflow.behaviour.times import TimeShares, share_time
from benchflow.contracts import SessionTrace, ToolCallBreakdown, ToolCallRecord, TraceSummary
from benchflow.trace import build_trace


@pytest.mark.parametrize(
    ("command", "purpose"),
    [
        ("cat a.py | head -n 5", "look"),
        ("cd src && grep -rn 'x > y' . 2>/dev/null", "look"),
        ("git -C /workspace log --oneline", "look"),
        ("sed -n '1,20p' a.py", "look"),
        ("env bash -c 'cat a.py'; echo \"[step 2: exit $?]\"", "look"),
        ("/usr/bin/find . -name '*.py' 2>&1", "look"),
        ("sed -i s/a/b/ a.py", "change"),
        ("cat > a.py <<'EOF'\nrm everything\nEOF", "change"),
        ("git add -A && git commit -qm 'Fix it'", "change"),
        ("mkdir -p build; echo done", "change"),
        ("sudo rm -rf build", "change"),
        ('bash -lc \'python3 - <<"PY"\nopen("a").write("rm > x")\nPY\n\'', "run"),
        ("PYTHONPATH=src pytest -q 2>&1 | tail -n 40", "run"),
        ("npm test -- --watch=false", "run"),
        ("echo hello", "other"),
        ("", "run"),
    ],
)
def test_a_command_line_is_for_what_its_programs_are_for(command: str, purpose: str) -> None:
    assert purpose_of("execute", "shell", command_of({"command": command})) == purpose


@pytest.mark.parametrize(
    ("kind", "tool", "purpose"),
    [
        ("read", "x", "look"),
        ("fetch", "x", "look"),
        ("move", "x", "change"),
        ("think", "x", "other"),
        ("other", "readFile", "look"),
        ("other", "str_replace_editor", "change"),
        ("other", "write_todos", "other"),
        ("other", "run_terminal_cmd", "run"),
        ("other", "frobnicate", "other"),
    ],
)
def test_a_call_is_for_what_its_kind_says_else_its_name(kind: str, tool: str, purpose: str) -> None:
    assert purpose_of(kind, tool, "") == purpose


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": ["bash", "-lc", "ls -la"]}, "ls -la"),
        ({"cmd": "ls"}, "ls"),
        ("ls", "ls"),
        ({"command": 5}, ""),
        ({"path": "a"}, ""),
        (None, ""),
    ],
)
def test_a_command_line_is_found_in_whatever_form_it_is_given(given: Any, command: str) -> None:
    assert command_of(given) == command


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("git checkout -- a.py", True),
        ("git -C src stash", True),
        ("git reset --hard HEAD~1", True),
        ("git checkout -b new", False),
        ("git reset a.py", False),
        ("git status", False),
        ("restore", False),
    ],
)
def test_a_command_that_takes_changes_back_is_known(command: str, answer: bool) -> None:
    assert undoes(command) is answer


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("FAILED tests/test_a.py::test_b - AssertionError\n1 failed, 3 passed in 0.1s", "test_failure"),
        ("Ran 5 tests in 0.01s\n\nFAILED (failures=2)", "test_failure"),
        ("--- FAIL: TestX\nFAIL", "test_failure"),
        ("0 failed, 3 passed", "other"),
        ("[killed after 60 s]", "timeout"),
        ("Command timed out after 120s", "timeout"),
        ("touch: cannot touch '/etc/x': Permission denied", "permission"),
        ("The user rejected this tool call; rejected by the user", "permission"),
        ("cat: a.py: No such file or directory", "not_found"),
        ("bash: frob: command not found", "not_found"),
        ("ModuleNotFoundError: No module named 'x'", "not_found"),
        ('  File "a.py", line 1\nSyntaxError: invalid syntax', "syntax"),
        ("the arguments are not valid JSON: x", "syntax"),
        ("curl: (6) Could not resolve host: example.com", "network"),
        ("main model request: status 503, complete: overloaded", "network"),
        ("it broke", "other"),
        ("", "other"),
    ],
)
def test_an_error_is_of_the_first_type_that_its_text_shows(text: str, type: str) -> None:
    assert classify(text) == type


@pytest.mark.parametrize(
    ("call", "failure"),
    [
        (run("make"), None),
        (run("make", status="failed", output="make: *** [all] Error 2"), "other"),
        (run("pytest", output="1 failed\n[exit status 1]"), "test_failure"),
        (run("frob", output="Exit code: 127"), "not_found"),
        (run("slow", more={"rawOutput": {"output": "", "metadata": {"exit": 124}}}), "timeout"),
        (run("make", more={"rawOutput": {"exit_code": 2}}), "other"),
        (run("make", more={"rawOutput": {"exit_code": 0}}, output="exit code 1"), None),
        (run("make", more={"rawOutput": {"exit_code": True}}), None),
        (run("grep x a.py", more={"rawOutput": {"exit_code": 1}}), None),
        (run("grep x a.py", more={"rawOutput": {"exit_code": 2}}, output="grep: a.py: No such file"), "not_found"),
        (read("a.py", output="the exit code 3 is documented here"), None),
        (run("cat a.py", output="the exit code 3 is documented here"), None),
    ],
)
def test_a_call_failed_if_its_status_or_its_exit_code_says_so(tmp_path: Path, call: Did, failure: str | None) -> None:
    assert [found.failure for found in read_calls(session(tmp_path, Took(calls=[call])))] == [failure]


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (read("/workspace/src/../a.py"), "a.py"),
        (edit("./a.py"), "a.py"),
        (Did(kind="edit", given={"x": 1}, more={"locations": [{"path": "b.py"}]}), "b.py"),
        (Did(kind="edit", given={"x": 1}, more={"content": [{"type": "diff", "path": "c.py", "newText": ""}]}), "c.py"),
        (run("cat a.py", more={"locations": [{"path": "/workspace"}]}), None),
        (Did(kind="edit", given={"path": 5}, more={"locations": ["x"]}), None),
    ],
)
def test_the_file_of_a_call_is_in_its_input_its_locations_or_its_diff(tmp_path: Path, call: Did, path: str) -> None:
    assert [found.path for found in read_calls(session(tmp_path, Took(calls=[call])))] == [path]


def test_what_the_agent_does_not_show_of_a_call_is_what_the_model_asked_for(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.prompted(10)
    logs.exchange(20, calls=[Asked(id="a", arguments={"command": "ls"}), Asked(id="b", arguments={"command": "pwd"})])
    logs.update(40, "tool_call", toolCallId="shell__1", title="x", kind="execute", status="completed")
    logs.update(41, "tool_call", toolCallId="shell__2", title="y", kind="execute", status="completed")

    calls = read_calls(build_trace(tmp_path))

    assert [call.given for call in calls] == [{"command": "ls"}, {"command": "pwd"}]


def test_records_without_events_are_calls_all_the_same() -> None:
    record = ToolCallRecord(id="1", name="ls -la /", kind="weird", status="failed", ms=None)
    summary = TraceSummary(total_turns=0, total_tool_calls=1, total_tokens=None, total_duration_ms=0)
    trace = SessionTrace(
        session_id="", events=[], turns=[], tool_calls=ToolCallBreakdown(total=1, records=(record,)), summary=summary
    )

    steps = read_steps(trace)

    assert [(call.tool, call.purpose, call.failure, call.key) for call in steps.calls] == [
        ("other", "other", "other", None)
    ]
    assert [len(step.calls) for step in steps.steps] == [1]


@pytest.mark.parametrize(
    ("name", "tool"),
    [("mcp__files.read", "mcp__files.read"), ("rm -rf /", "execute"), ("x" * 65, "execute"), ("a\n", "execute")],
)
def test_a_text_that_is_no_name_counts_under_its_kind(name: str, tool: str) -> None:
    assert tool_of(ToolCallRecord(id="1", name=name, kind="execute", status="completed", ms=None)) == tool


def test_without_exchanges_steps_are_derived_from_what_acp_shows(tmp_path: Path) -> None:
    trace = session(
        tmp_path,
        Took(text="I look.", calls=[read("a"), read("b", took_ms=50)]),
        Took(calls=[read("c")]),
        Took(thought="Hm.", text="Done.", plan=["completed"]),
        captured=False,
    )

    steps = read_steps(trace)

    assert steps.source == "derived"
    assert [(step.thought, step.text, step.plans, len(step.calls)) for step in steps.steps] == [
        ("", "I look.", 0, 2),
        ("", "", 0, 1),
        ("Hm.", "Done.", 1, 0),
    ]


def test_a_subagents_calls_belong_to_the_turn_that_had_begun(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.prompted(10)
    logs.exchange(20, text="first")
    logs.exchange(60, text="second")
    logs.update(45, "tool_call", toolCallId="inner", title="ls", status="completed")

    assert [len(step.calls) for step in read_steps(build_trace(tmp_path)).steps] == [1, 0]


def test_calls_that_bring_nothing_new_are_redundant(tmp_path: Path) -> None:
    trace = session(
        tmp_path,
        Took(calls=[read("a"), read("b"), read("a")]),  # again, with nothing in between
        Took(calls=[edit("a"), read("a"), read("a")]),  # an edit in between, then none
        Took(calls=[run("make"), run("make"), edit("b"), run("make")]),
        Took(calls=[read("x", status="failed"), read("x"), read("x")]),  # a retry is none
    )

    marks = redundant(read_calls(trace))

    assert marks == [False, False, True, False, False, True, False, True, False, False, False, False, True]


def test_calls_are_retried_as_the_profile_row_counts_them(tmp_path: Path) -> None:
    failed = run("make", status="failed")
    trace = session(tmp_path, Took(calls=[failed]), Took(calls=[failed]), Took(calls=[run("make"), run("make")]))

    assert retried(read_calls(trace)) == [False, True, True, False]
    assert trace.tool_calls.retried == 2


def test_going_back_to_a_file_or_taking_changes_back_is_backtracking(tmp_path: Path) -> None:
    calls = [edit("a"), edit("a"), edit("b"), edit("a"), run("git checkout -- ."), read("b"), edit("a")]

    marks = backtracks(read_calls(session(tmp_path, Took(calls=calls))))

    assert marks == [False, False, False, True, True, False, False]


def test_time_goes_to_the_model_to_tools_and_to_the_agent(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(calls=[run("make"), run("test", took_ms=50)]), Took(text="Done."))

    # From 50 to 300: exchanges of 10 at 100 and 200, tools from 120 to 170.
    assert share_time(trace, read_calls(trace)) == TimeShares(
        prompts_ms=250.0, model_ms=20.0, held_ms=0.0, tools_ms=50.0, agent_ms=180.0
    )


def test_a_tool_that_is_open_while_the_model_answers_takes_only_the_rest(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(calls=[run("make", took_ms=100)]), Took(text="Done."))

    # The tool is open from 120 to 220, the second exchange from 200 to 210.
    assert share_time(trace, read_calls(trace)).tools_ms == 90.0


def test_without_exchanges_nobody_knows_the_models_time(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(calls=[run("make")]), captured=False)

    assert share_time(trace, read_calls(trace)) == TimeShares(
        prompts_ms=150.0, model_ms=None, held_ms=None, tools_ms=30.0, agent_ms=None
    )


@settings(max_examples=40, deadline=None)
@given(turns=TURNS, captured=st.booleans())
def test_each_call_is_in_one_step_and_all_time_is_shared_out(turns: list[Took], captured: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = session(Path(folder), *turns, captured=captured)

    steps = read_steps(trace)
    shares = share_time(trace, steps.calls)

    in_steps = [call for step in steps.steps for call in step.calls]
    assert sorted(map(id, in_steps)) == sorted(map(id, steps.calls))
    assert len(steps.calls) == trace.tool_calls.total == sum(len(turn.calls) for turn in turns)
    assert sum(retried(steps.calls)) == trace.tool_calls.retried
    if captured:
        assert len(steps.steps) == trace.summary.total_turns == len(turns)
    if trace.turns:
        parts = [shares.model_ms, shares.held_ms, shares.tools_ms, shares.agent_ms]
        assert sum(part for part in parts if part is not None) == pytest.approx(shares.prompts_ms, abs=0.01)
        assert all(part is not None and part >= 0 for part in parts)
