import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from stored import RUN_ID, entry, make_row, make_unscored, try_folder, write_json, write_run
from trials import Asked, TryLogs, two_turns

from benchflow.contracts import AnalysisResult, Event, ScorerCheckResult, TimingBreakdown
from benchflow.errors import InputError
from benchflow.machine.liveness import claim
from benchflow.report.follow import EventPrinter, follow
from benchflow.report.trial import TrialView, view_trial
from benchflow.report.trial_console import print_trial
from benchflow.row import ProfileRow
from benchflow.shell import open_shell
from benchflow.store import StoredRun
from benchflow.trace import build_trace

KEY = "fix-mini-baseline-0-1a2b3c4d"
FAILED = make_row(
    timing=TimingBreakdown(wall_ms=1_234.5, segments={"install": 0.2, "launch": 120.0, "prompt": 1_234.5}),
    success=False,
    score=0.5,
    checks_passed=1,
    checks_total=2,
    check_details=(
        ScorerCheckResult(id="file", description="there is a file", passed=True),
        ScorerCheckResult(
            id="tests",
            description="the tests pass",
            passed=False,
            expected="exit status 0",
            actual="".join(f"line {number}\n" for number in range(30)) + "\x1b[31m1 failed\x1b[0m\n",
        ),
    ),
)


def stored(
    tmp_path: Path, write: Callable[[Path], object] = two_turns, *, row: ProfileRow | None = FAILED
) -> StoredRun:
    """A run with one trial, whose last try has the logs that `write` makes."""
    unfinished = () if row else (KEY,)
    run = write_run(tmp_path / "runs", *([row] if row else []), unfinished=unfinished)
    write(try_folder(run, KEY))
    return StoredRun(run)


def view(run: StoredRun, attempt: int | None = None) -> TrialView:
    return view_trial(run, run.trial(KEY), attempt)


def printed(shown: TrialView, width: int = 80) -> str:
    output = io.StringIO()
    print_trial(Console(file=output, width=width, markup=False, highlight=False), shown, "last 1a2b3c4d")
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())


def test_a_trial_is_shown_with_its_failed_checks_and_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    shown = printed(view(stored(tmp_path)))

    actual = "\n".join(f"         line {number}" for number in range(11, 30))
    assert (
        shown
        == f"""\
fix-mini-baseline-0-1a2b3c4d
mini 0.1.0 · oracle, not a model · bubblewrap
fail · score 0.50 · 1 of 2 checks passed
4 turns · 3 tool calls · tokens 12.3k in, 678 out · cost $0.0123 · wall 1.23s
ended: stop; the agent's stop reason: end_turn
model requests: 4 main, 0 auxiliary; 0 failed at the upstream
times: launch 0.12s, prompt 1.23s
why: check tests failed: expected exit status 0, got 1 failed

checks
  ok   file: there is a file
  FAIL tests: the tests pass
       expected
         exit status 0
       actual
         … 11 lines before
{actual}
         1 failed

prompt
  do it

turn 1  10ms  100 in, 10 out
  I look.
  Let me see.
  > shell  completed 7ms
      command: ls
    | file.txt

turn 2  10ms  100 in, 10 out
  There is file.txt.

files: runs/{RUN_ID}/trials/{KEY}/try-1
more: benchflow show last 1a2b3c4d --diff | --stderr | --raw acp | --raw llm"""
    )


def test_a_kept_workspace_is_offered(tmp_path: Path) -> None:
    run = stored(tmp_path)
    (run.trial(KEY).try_folder() / "workspace").mkdir()

    assert printed(view(run)).endswith("\nits workspace: benchflow shell last 1a2b3c4d")


def test_a_trial_that_still_runs_and_one_that_was_killed_have_no_result(tmp_path: Path) -> None:
    run = stored(tmp_path, row=None)

    assert "no result: BenchFlow was ended before it could say how" in printed(view(run))
    assert view(run).state == "interrupted"

    claim(run.folder)
    assert "no result: it runs\n" in printed(view(run))
    assert view(run).state == "running"


def test_an_unscored_trial_says_what_broke_it(tmp_path: Path) -> None:
    shown = printed(view(stored(tmp_path, row=make_unscored())))

    assert "unscored (upstream) · score -\n" in shown
    assert "ended: error (upstream); the agent's stop reason: end_turn" in shown
    assert "why: the last model request failed at the upstream: status 503" in shown


def test_an_earlier_try_is_shown_on_demand(tmp_path: Path) -> None:
    last = replace(FAILED, tries=2)
    run = stored(tmp_path, row=last)
    second = try_folder(run.folder, KEY, 2)
    two_turns(second)
    write_json(try_folder(run.folder, KEY, 1) / "result.json", make_unscored())

    first = view(StoredRun(run.folder), attempt=1)

    assert (first.attempt, first.tries, first.row) == (1, (1, 2), make_unscored())
    assert "this is try 1; others, shown with --try: 2" in printed(first)
    assert view(StoredRun(run.folder)).row == last


def test_calls_that_the_agent_hides_are_named(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        logs = TryLogs(folder)
        logs.exchange(20, calls=[Asked(), Asked(id="call_2", name="todo")])
        logs.update(31, "tool_call", toolCallId="call_abcdef", title="ls")

    shown = view(stored(tmp_path, write))

    assert shown.turns[0].not_shown == ["todo"]
    assert "called, and never shown by the agent: todo" in printed(shown)
    assert "(never closed)" in printed(shown)


def test_what_the_agent_does_not_show_of_a_call_is_taken_from_its_model_requests(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        logs = TryLogs(folder)
        logs.exchange(20, calls=[Asked()])
        logs.update(31, "tool_call", toolCallId="7", title="bash", kind="execute", status="pending")
        logs.exchange(50, text="done")

    shown = view(stored(tmp_path, write))

    call = shown.turns[0].calls[0]
    assert (call.input, call.output, call.output_source) == ({"command": "ls"}, "file.txt", "gateway")
    assert "the agent did not show its output; the model got:\n    | file.txt" in printed(shown)


def test_without_captured_exchanges_messages_and_calls_are_shown(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        logs = TryLogs(folder)
        logs.prompted(10)
        logs.said(20, "I look")
        logs.update(21, "usage_update", used=1, size=2)
        logs.said(22, " around.")
        logs.update(23, "tool_call", toolCallId="1", title="ls", status="completed", rawOutput={"stdout": "a.txt"})
        logs.said(24, "Done.")
        logs.received(25, {"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": "broke"}})

    shown = view(stored(tmp_path, write))

    assert shown.messages == ["I look around.", "Done."]
    assert [(call.title, call.output) for call in shown.other_calls] == [("ls", "a.txt")]
    assert shown.errors == ["broke (-32603)"]
    assert "tool calls that no captured exchange asked for" in printed(shown)


def test_what_an_agent_sends_cannot_command_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;x\x07\u202e"

    def write(folder: Path) -> None:
        logs = TryLogs(folder)
        logs.prompted(10, evil)
        logs.exchange(20, text=evil + "text", thought=evil + "thought", calls=[Asked(name=evil, arguments={"a": evil})])
        logs.update(31, "tool_call", toolCallId="1", title=evil, rawInput=evil, rawOutput=evil + "out")
        logs.exchange(40, status=500)

    row = make_row(success=False, score=0.0, stop_reason=evil, error=evil, agent=evil, check_details=())

    assert not set(printed(view(stored(tmp_path, write, row=row)))) & {"\x1b", "\x07", "\u202e"}


@pytest.mark.parametrize(
    ("fields", "output"),
    [
        ({"content": [{"type": "content", "content": {"type": "text", "text": "a"}}], "rawOutput": "b"}, "a"),
        ({"content": [{"type": "diff", "path": "x.py", "oldText": None, "newText": "y"}]}, "changed x.py"),
        ({"content": [{"type": "terminal", "terminalId": "t1"}]}, "in terminal t1"),
        ({"content": ["text", 5, {"type": "content", "content": None}], "rawOutput": "b"}, "text\n5"),
        ({"rawOutput": "b"}, "b"),
        ({"rawOutput": {"output": "b", "exit": 0}}, "b"),
        ({"rawOutput": {"exit": 0}}, '{"exit":0}'),
        ({"rawOutput": [1]}, "[1]"),
        ({}, ""),
    ],
)
def test_what_came_out_of_a_call_is_found(tmp_path: Path, fields: dict[str, object], output: str) -> None:
    def write(folder: Path) -> None:
        TryLogs(folder).update(20, "tool_call", toolCallId="1", title="x", **fields)

    assert view(stored(tmp_path, write)).other_calls[0].output == output


def followed(run: StoredRun, steps: list[Callable[[], object]], *, dies_after: int = 100) -> list[Event]:
    """The events of a trial that is followed; at each wait the next thing happens. Waits are bounded."""
    waits = 0

    def wait() -> None:
        nonlocal waits
        assert waits < 20, "nothing ended it"
        if waits < len(steps):
            steps[waits]()
        waits += 1

    return list(follow(run, KEY, is_alive=lambda: waits < dies_after, wait=wait))


def end(run: StoredRun, row: ProfileRow | None, attempt: int = 1) -> None:
    """Write what ends a try, in the order in which it is written."""
    if row:
        with (run.folder / "rows.jsonl").open("ab") as rows:
            rows.write(row.to_json() + b"\n")
    with (run.folder / "journal.jsonl").open("ab") as journal:
        journal.write(entry(KEY, "ended", attempt))


def test_a_running_trial_is_followed_to_its_end(tmp_path: Path) -> None:
    run = stored(tmp_path, lambda _: None, row=None)
    folder = run.trial(KEY).try_folder()
    logs = TryLogs(folder)

    def cut() -> None:
        """Half a line, as a reader may see it."""
        logs.said(22, "there")
        content = (folder / "acp.ndjson").read_bytes()
        (folder / "acp.ndjson").write_bytes(content[:-20])
        rest.append(content[-20:])

    def whole() -> None:
        with (folder / "acp.ndjson").open("ab") as file:
            file.write(rest.pop())

    rest: list[bytes] = []
    events = followed(
        run,
        [
            logs.opened,
            lambda: logs.prompted(10),
            lambda: logs.said(21, "Hello "),
            cut,
            whole,
            lambda: logs.exchange(15, text="Hello there"),
            lambda: (logs.answered(30), end(run, FAILED)),
        ],
    )

    assert [event.type for event in events] == [
        "prompt_begin",
        "agent_message",
        "agent_message",
        "turn_begin",
        "turn_end",
        "prompt_end",
    ]
    assert [event.seq for event in events] == list(range(6))
    assert {event.session_id for event in events} == {"s-1"}
    assert sorted(event.type for event in build_trace(folder).events) == sorted(event.type for event in events)


def test_the_next_try_is_followed_too(tmp_path: Path) -> None:
    run = stored(tmp_path, lambda folder: TryLogs(folder).prompted(10, "first"), row=None)

    events = followed(
        run,
        [
            lambda: end(run, None, 1),
            lambda: TryLogs(try_folder(run.folder, KEY, 2)).prompted(20, "second"),
            lambda: end(run, FAILED, 2),
        ],
    )

    assert [event.data["text"] for event in events] == ["first", "second"]


def test_following_ends_when_nobody_runs_the_trial_any_more(tmp_path: Path) -> None:
    run = stored(tmp_path, lambda folder: TryLogs(folder).prompted(10), row=None)

    assert [event.type for event in followed(run, [], dies_after=3)] == ["prompt_begin"]


def test_a_trial_that_has_ended_is_followed_at_once_to_its_end(tmp_path: Path) -> None:
    run = stored(tmp_path)

    assert [event.type for event in followed(run, [])][-1] == "prompt_end"


def test_events_are_printed_as_they_come(tmp_path: Path) -> None:
    run = stored(tmp_path, lambda folder: two_turns(folder).permission(80, toolCallId="p", title="rm \x1b[2Jx"))
    output = io.StringIO()
    printer = EventPrinter(Console(file=output, width=80, markup=False, highlight=False))

    for event in build_trace(run.trial(KEY).try_folder()).events:
        printer.print(event)
    printer.close()

    assert output.getvalue() == (
        "prompt: do it\n"
        "turn 1  10ms  100 in, 10 out\n"
        "Let me see.\n"
        "> ls\n"
        "< completed\n"
        "turn 2  10ms  100 in, 10 out\n"
        "There is file.txt.\n"
        "the agent ended its turn: end_turn\n"
        "permission for rm x: allow\n"
    )


def test_a_shell_is_opened_in_the_kept_workspace(tmp_path: Path) -> None:
    run = stored(tmp_path)
    workspace = run.trial(KEY).try_folder() / "workspace"
    workspace.mkdir()
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\npwd > seen\nexit 7\n")
    shell.chmod(0o755)

    assert open_shell(run.trial(KEY), {"SHELL": str(shell)}) == 7
    assert (workspace / "seen").read_text() == f"{workspace}\n"


def test_a_workspace_that_was_not_kept_is_an_error_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its workspace was not kept; run it again with `--keep always`"):
        open_shell(stored(tmp_path).trial(KEY), {})


def test_a_shell_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    run = stored(tmp_path)
    (run.trial(KEY).try_folder() / "workspace").mkdir()

    with pytest.raises(InputError, match="/no/such/shell: cannot be run"):
        open_shell(run.trial(KEY), {"SHELL": "/no/such/shell"})


def test_what_analyzers_said_is_shown_in_a_line_each(tmp_path: Path) -> None:
    said = AnalysisResult(
        analyzer="strategy", findings=[], summary="direct: 0 rounds of change, run, change; \x1b[2Jgo"
    )
    row = make_row(extensions={"analyses": {"strategy": said}, "plugin_errors": {"efficiency": "ValueError: no"}})

    shown = printed(view(stored(tmp_path, row=row)), width=50)

    assert "\nanalysis\n  strategy: direct: 0 rounds of change, run,\n    change; go\n\nprompt" in shown
