"""What an agent does after a budget has ended its trial counts for nothing, in any sandbox."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell
from sandboxes import BOTH
from trials import Asked, TryLogs

from benchflow.hosting.cutoff import Cutoff
from benchflow.trace import build_trace

LOOK = {"tool_calls": [{"name": "shell", "arguments": {"command": "echo done > done.txt"}}]}
"""A model that goes on for ever."""
SCENARIO = """\
schema_version = 1
id = "tiny"
name = "One file"
prompt = "Write the file done.txt with the word done in it."
timeout_s = 20
[limits]
max_turns = 2
[[checks]]
kind = "file_equals"
path = "done.txt"
text = "done\\n"
[[checks]]
kind = "command"
run = "test ! -e late.txt"
[[checks]]
kind = "output_contains"
text = "I came late"
[[checks]]
kind = "tool_used"
tool = "late tool"
[[solution.steps]]
write = "done.txt"
content = "done\\n"
"""
SHOWS = {"sessionUpdate": "tool_call", "toolCallId": "late", "title": "late tool", "status": "completed"}
GOES_ON = [
    {"write": {"path": "late.txt", "content": "late"}},
    {"write": {"path": "done.txt", "content": "done, and more"}},
    {"say": "I came late"},
    {"update": SHOWS},
    {"hang": True},
]


MANIFEST = """\
contract_version = "1.1"
name = "late"
description = "Goes on when it is asked to stop."
api_protocol = "openai-completions"
install_cmd = "true"
launch_cmd = 'exec "$BENCHFLOW_PYTHON" -I -m benchflow.agents.fake "$BENCHFLOW_AGENT_DIR/behaviour.json"'
"""


def run(shell: Shell, steps: list[dict[str, Any]], *words: str, deaf: bool) -> tuple[dict[str, Any], Path]:
    """Run one trial of a fake agent that takes these steps; return its row, and the folder of its logs."""
    behaviour = {"description": "goes on", "deaf": deaf, "on": {"session/prompt": steps}}
    shell.write("late/manifest.toml", MANIFEST)
    shell.write("late/behaviour.json", json.dumps(behaviour))
    shell.write("tiny/scenario.toml", SCENARIO)
    script = shell.write("script.json", json.dumps([LOOK]))
    ended = shell.run("run", "./late", "./tiny", "--json", "--keep", "always", "--upstream", f"script:{script}", *words)
    assert ended.stdout, ended.stderr
    (row,) = json.loads(ended.stdout)["rows"]
    (folder,) = shell.folder.glob("runs/*/trials/*/try-1")
    return row, folder


def passed(row: dict[str, Any]) -> list[bool]:
    return [check["passed"] for check in row["check_details"]]


@pytest.mark.parametrize("sandbox", BOTH)
def test_nothing_is_graded_or_counted_that_was_done_after_the_hard_cap(sandbox: str, tmp_path: Path) -> None:
    shell = open_shell(tmp_path)

    row, folder = run(shell, [{"model": {"hide": True}}, *GOES_ON], "--sandbox", sandbox, deaf=True)

    assert (row["completion_reason"], row["limit"]["used"], row["agent_turns"]) == ("tool_limit", 2, 2)
    assert passed(row) == [True, True, False, False]
    assert (row["tool_calls"]["total"], row["extensions"]["budgets"]["discarded"]) == (2, 2)
    assert sorted(path.name for path in (folder / "workspace").iterdir()) == ["done.txt"]
    assert "late" not in (folder / "workspace.diff").read_text()
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    ends = [number for number, event in enumerate(events) if (event["type"], event["source"]) == ("limit", "harness")]
    assert len(ends) == 1
    assert "late tool" in {event.get("title") for event in events[ends[0] :]}
    assert "late tool" not in {event.get("title") for event in events[: ends[0]]}


def test_nothing_is_graded_that_was_done_after_the_time_was_up(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    early: list[dict[str, Any]] = [{"write": {"path": "done.txt", "content": "done\n"}}, {"model": {"requests": 1}}]

    row, folder = run(shell, [*early, {"hang": False}, *GOES_ON], "--sandbox", "process", "--timeout", "1", deaf=False)

    assert (row["completion_reason"], row["limit"]["kind"]) == ("timeout", "timeout_s")
    assert passed(row) == [True, True, False, False]
    assert (row["tool_calls"]["total"], row["extensions"]["budgets"]["discarded"]) == (1, 2)
    assert shell.run("score", "last").returncode == 0
    (rescored,) = folder.parents[2].glob("rows.rescored-1.jsonl")
    assert passed(json.loads(rescored.read_text())) == passed(row)


def test_only_what_ended_before_the_limit_is_a_turn_or_a_call(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.opened()
    logs.prompted(10)
    logs.exchange(20, 10, calls=[Asked(id="a")])
    logs.update(31, "tool_call", toolCallId="a", title="early", status="completed")
    logs.exchange(40, 30, calls=[Asked(id="b")])
    logs.limited(50, kind="timeout_s", allowed=1, used=1.0, phase="hard", counter="wall_clock")
    logs.update(71, "tool_call", toolCallId="b", title="late", status="completed")
    logs.answered(80, "cancelled")

    trace = build_trace(tmp_path)

    assert [turn.index for turn in trace.turns] == [0]
    assert [call.id for call in trace.tool_calls.records] == ["a"]
    assert [event.data.get("title") for event in trace.events if event.type == "tool_call"] == ["early", "late"]
    assert [event.source for event in trace.events if event.type == "limit"] == ["harness"]


async def test_workspace_that_cannot_be_kept_is_graded_as_it_is_and_the_row_says_so(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "done.txt").write_text("done")
    cutoff = Cutoff(workspace, keep_s=-1)

    assert cutoff.facts() == {}
    await cutoff.make()
    (workspace / "late.txt").write_text("late")
    await cutoff.put_back()

    assert cutoff.facts() == {"discarded": None, "kept": "the workspace was too large to keep in -1 s"}
    assert (workspace / "late.txt").exists()
