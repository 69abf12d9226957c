"""The scorer: every kind of check as a pass, a failure, and at its edges; and how the verdict is summed up."""

from pathlib import Path

import pytest
from sandboxes import BOTH, entered
from scenario_rig import ONE_CHECK, BrokenSandbox, Rig, check, make_rig

from benchflow.contracts import (
    Event,
    ScorerCheckResult,
    SessionTrace,
    ToolCallBreakdown,
    ToolCallRecord,
    TraceSummary,
    Turn,
)
from benchflow.scorers.checks import verdict


async def rig_without_process(tmp_path: Path, text: str, files: dict[str, str] | None = None) -> Rig:
    """Return a rig whose sandbox starts nothing: a check that needs a process cannot be judged."""
    return await make_rig(tmp_path, BrokenSandbox(), text, files)


async def passes(rig: Rig, files: dict[str, str], output: str = "") -> list[bool]:
    """Return which checks pass with these files in the workspace."""
    for name, content in files.items():
        (rig.workspace.path / name).parent.mkdir(parents=True, exist_ok=True)
        (rig.workspace.path / name).write_bytes(content.encode())
    result = await rig.score(output)
    assert result.error is None
    return [detail.passed for detail in result.details]


async def test_file_exists(tmp_path: Path) -> None:
    text = "".join(check("file_exists", path=path) for path in ("a", "sub/b", "sub", "missing", "link", "inner"))
    rig = await rig_without_process(tmp_path, text)
    (rig.workspace.path / "link").symlink_to("/etc/passwd")
    (rig.workspace.path / "inner").symlink_to("a")

    assert await passes(rig, {"a": "", "sub/b": ""}) == [True, True, False, False, False, True]


async def test_file_contains(tmp_path: Path) -> None:
    text = "".join(check("file_contains", path=path, text="käse") for path in ("a", "b", "binary", "missing"))
    rig = await rig_without_process(tmp_path, text)
    (rig.workspace.path / "binary").write_bytes(b"\xff\0k\xc3\xa4se")

    assert await passes(rig, {"a": "x käse y", "b": "Käse"}) == [True, False, True, False]


async def test_file_equals(tmp_path: Path) -> None:
    text = "".join(check("file_equals", path=path, text="a\nb\n") for path in ("same", "crlf", "bare", "more", "none"))
    text += check("file_equals", path="same", file="expected") + check("file_equals", path="more", file="expected")
    rig = await rig_without_process(tmp_path, text, {"checks/expected": "a\nb"})
    files = {"same": "a\nb\n", "crlf": "a\r\nb\r\n\r\n", "bare": "a\nb", "more": "a\nb \n"}

    assert await passes(rig, files) == [True, True, True, False, False, True, False]


@pytest.mark.parametrize(
    ("query", "equals", "passed"),
    [
        ("name", "x", True),
        ("$.name", "x", True),
        ("name", "y", False),
        ("count", 1.0, True),
        ("count", True, False),
        ("yes", 1, False),
        ("yes", True, True),
        ("items[0].id", 7, True),
        ("items[-1].id", 8, True),
        ("items[2].id", 8, False),
        ('["a key"]["b.c"]', 3, True),
        ("items", [{"id": 7}, {"id": 8}], True),
        ("items", [{"id": 8}, {"id": 7}], False),
        ("name[0]", "x", True),
        ("name.x", "x", False),
        ("missing", "x", False),
    ],
)
async def test_json_path(tmp_path: Path, query: str, equals: object, passed: bool) -> None:
    document = '{"name": "x", "count": 1, "yes": true, "items": [{"id": 7}, {"id": 8}], "a key": {"b.c": 3}}'
    toml = check("json_path", path="r.json", query=query, equals=equals).replace('{"id": ', "{id = ")
    rig = await rig_without_process(tmp_path, toml)

    assert await passes(rig, {"r.json": document}) == [passed]


async def test_json_that_is_none(tmp_path: Path) -> None:
    text = "".join(check("json_path", path=path, query="", equals={}) for path in ("a", "b", "c")).replace(
        "equals = {}", "equals = []"
    )
    rig = await rig_without_process(tmp_path, text)

    assert await passes(rig, {"a": "[]", "b": "[1,"}) == [True, False, False]


async def test_unchanged(tmp_path: Path) -> None:
    text = "".join(check("unchanged", paths=paths) for paths in (["a"], ["d"], ["*.txt", "a"], ["b"])) + ONE_CHECK
    files = {"workspace/a": "a", "workspace/b": "b", "workspace/d/x": "x", "workspace/n.txt": "n"}
    rig = await rig_without_process(tmp_path, text, files)
    (rig.workspace.path / "b").unlink()
    (rig.workspace.path / "b").symlink_to("a")

    assert await passes(rig, {"d/new": "", "a": "a"}) == [True, False, True, False, False]


async def test_a_guard_on_nothing_leaves_the_trial_unscored(tmp_path: Path) -> None:
    rig = await rig_without_process(tmp_path, check("unchanged", paths=["nope"]) + ONE_CHECK)
    result = await rig.score()

    assert result.error == "unchanged-1: nothing in the scenario's workspace matches 'nope'"


async def test_outputs(tmp_path: Path) -> None:
    text = check("output_contains", text="Done") + check("output_contains", text="not")
    text += check("output_matches", pattern=r"^ANSWER: \d+$") + check("output_matches", pattern=r"\Aanswer")
    rig = await rig_without_process(tmp_path, text)

    assert await passes(rig, {}, "well\nANSWER: 42\nI am done.") == [True, False, True, False]
    assert await passes(rig, {}) == [False] * 4


def trace_with(name: str, kind: str, event: dict[str, str]) -> SessionTrace:
    call = ToolCallRecord(id="1", name=name, kind=kind, status="completed", ms=1.0)
    turn = Turn(
        index=0, exchange="e", started_ms=0, duration_ms=1, text="", thought="", tool_calls=(call,), tokens=None
    )
    shown = Event(seq=1, ts="", mono_ms=0, type="tool_call", source="acp", session_id="s", data=event)
    summary = TraceSummary(total_turns=1, total_tool_calls=1, total_tokens=None, total_duration_ms=1)
    return SessionTrace(session_id="s", events=(shown,), turns=(turn,), tool_calls=ToolCallBreakdown(), summary=summary)


async def test_tools_by_name_and_kind(tmp_path: Path) -> None:
    text = "".join(check("tool_used", tool=tool) for tool in ("bash", "execute", "fetch", "delete"))
    text += "".join(check("tool_not_used", tool=tool) for tool in ("Bash", "delete"))
    rig = await rig_without_process(tmp_path, text)
    result = await rig.score(trace=trace_with("Bash", "execute", {"kind": "fetch"}))

    assert [detail.passed for detail in result.details] == [True, True, True, False, False, True]
    assert result.details[3].actual == "Bash, execute, fetch"


async def test_tools_without_a_trace_leave_the_trial_unscored(tmp_path: Path) -> None:
    rig = await rig_without_process(tmp_path, check("tool_not_used", tool="bash"))
    result = await rig.score()

    assert (result.success, result.score) == (None, None)
    assert result.error == "tool_not_used-1: there is no trace to find tool calls in"


async def test_a_rubric_is_left_to_a_judge(tmp_path: Path) -> None:
    rubric = '[[rubric.criteria]]\nid = "clear"\ndescription = "Is it clear?"\n'
    both = await rig_without_process(tmp_path, ONE_CHECK + check("rubric") + rubric)
    only = await rig_without_process(tmp_path / "only", check("rubric") + rubric)
    result, nothing = await both.score("done"), await only.score("done")

    assert [detail.id for detail in result.details] == ["file_exists-1"]
    assert (nothing.success, nothing.score, nothing.output_valid) == (None, None, True)
    assert nothing.error == "there is nothing to judge: every check of the scenario is one of its rubric"


@pytest.mark.parametrize("kind", BOTH)
async def test_commands(tmp_path: Path, kind: str) -> None:
    text = check("command", run="cat a.txt", prints="hello") + check("command", run="cat a.txt", prints="goodbye")
    text += check("command", run="exit 3") + check("command", run="exit 3", exit_code=3)
    text += check("command", run="echo out; echo err >&2; kill -9 $$") + check("command", run="no-such-program")
    text += check("command", run="python3 -c 'import sys; assert sys.version_info >= (3, 11)'")
    text += check("command", run="cat $BENCHFLOW_CHECKS/secret.txt", prints="hidden")
    text += check("command", run="echo x > a.txt") + check("command", run="cat a.txt", prints="hello")
    text += check("command", run="sleep 1000 & echo started", prints="started")
    async with entered(kind) as sandbox:
        rig = await make_rig(tmp_path, sandbox, text, {"workspace/a.txt": "hello\n", "checks/secret.txt": "hidden\n"})
        result = await rig.score()

    assert result.error is None
    expected = [True, False, False, True, False, False, True, True, True, True, True]
    assert [detail.passed for detail in result.details] == expected
    assert result.details[4].actual == "exit code -9\nout\nerr"
    assert (result.details[2].actual, result.details[2].expected) == ("exit code 3", "exit code 0")
    assert (rig.workspace.path / "a.txt").read_text() == "hello\n"
    assert [path.name for path in rig.workspace.path.parent.iterdir()] == ["workspace"]


async def test_a_command_that_hangs_fails(tmp_path: Path) -> None:
    async with entered("process") as sandbox:
        rig = await make_rig(tmp_path, sandbox, check("command", run="echo waiting; sleep 1000", timeout_s=0.3))
        result = await rig.score()

    assert (result.success, result.score) == (False, 0)
    assert result.details[0].actual == "not done after 0.3 s\nwaiting"


async def test_a_command_sees_only_the_end_of_what_it_printed(tmp_path: Path) -> None:
    line = 'python3 -c \'print("x" * 3_000_000); print("the end")\''
    async with entered("process") as sandbox:
        rig = await make_rig(tmp_path, sandbox, check("command", run=f"{line}; exit 1"))
        result = await rig.score()

    actual = result.details[0].actual or ""
    assert actual.startswith("exit code 1\nxxx")
    assert actual.endswith("xxx\nthe end")
    assert len(actual) <= 4_000


async def test_a_sandbox_that_fails_leaves_the_trial_unscored(tmp_path: Path) -> None:
    rig = await rig_without_process(tmp_path, ONE_CHECK + check("command", run="true"))
    result = await rig.score()

    assert (result.success, result.score, result.passed, result.total) == (None, None, 0, 2)
    assert result.error == "command-2: the check could not be run: it is broken"


async def test_a_tool_that_cannot_be_had_leaves_the_trial_unscored(tmp_path: Path) -> None:
    tools = '[tools]\npython = ["benchflow-no-such-package==1.0"]\n'
    async with entered("process") as sandbox:
        rig = await make_rig(tmp_path, sandbox, check("command", run="true") + tools)
        result = await rig.score()

    assert result.score is None
    assert "benchflow-no-such-package==1.0 cannot be installed" in (result.error or "")


def detail(passed: bool, weight: float, error: str | None = None) -> ScorerCheckResult:
    return ScorerCheckResult(id="x", description="", passed=passed, weight=weight, error=error)


@pytest.mark.parametrize(
    ("details", "success", "score"),
    [
        ([detail(True, 1), detail(True, 1)], True, 1.0),
        ([detail(True, 1), detail(False, 3)], False, 0.25),
        ([detail(True, 1), detail(False, 0)], False, 1.0),
        ([detail(False, 1), detail(True, 0)], False, 0.0),
        ([detail(True, 1), detail(True, 1), detail(False, 1)], False, 0.666667),
        ([detail(True, 1), detail(False, 1, "broken")], None, None),
    ],
)
def test_the_score_is_the_share_of_the_weight(
    details: list[ScorerCheckResult], success: bool | None, score: float | None
) -> None:
    result = verdict(tuple(details), total=len(details), output_valid=True)

    assert (result.success, result.score, result.total) == (success, score, len(details))
