"""Budgets of whole runs: what the command line takes, what rows say, and that nothing of an agent is left."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import pytest
from command_line import TINY, open_shell
from dialect_samples import ChatSample
from wire import MODEL, provider, whole

README = Path(__file__).parent.parent / "README.md"
LOOK = {"tool_calls": [{"name": "shell", "arguments": {"command": "echo done > done.txt"}}]}
OBEYS = [LOOK, LOOK, LOOK, LOOK, "It is done."]
DEAF_WORKER = {
    "description": "works as it should, ignores cancel, the end of stdin and SIGTERM, and never ends its turn",
    "deaf": True,
    "on": {
        "session/prompt": [
            {"child": {"daemon": True, "pid_file": "child.pid"}},
            {"model": {"hide": True}},
            {"hang": True},
        ]
    },
}


@pytest.mark.parametrize("delivery", ["inject", "reprompt"])
def test_obeying_model_ends_wrapped_up(delivery: str, tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    script = shell.write("script.json", json.dumps(OBEYS))
    limits = ("--max-turns", "6", "--grace-turns", "2", "--wrap-up", delivery, "--wrap-up-message", "Enough.")

    row = shell.row("mini", "--upstream", f"script:{script}", *limits)

    assert (row["completion_reason"], row["wrapped_up"], row["agent_turns"], row["score"]) == ("stop", True, 5, 1.0)
    assert row["limit"] == {
        "kind": "max_turns",
        "allowed": 6,
        "used": 5,
        "phase": "soft",
        "counter": "main_exchanges",
    }
    assert row["extensions"]["budgets"]["delivery"] == delivery
    (events,) = tmp_path.glob("runs/*/trials/*/try-1/events.jsonl")
    found = [json.loads(line) for line in events.read_text().splitlines()]
    assert [event["phase"] for event in found if event["type"] == "limit"] == ["soft"]
    assert not [event for event in found if event["type"] == "error"]


@pytest.mark.parametrize("delivery", ["inject", "reprompt"])
def test_model_that_ignores_the_warning_has_exactly_six_turns(delivery: str, tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    script = shell.write("script.json", json.dumps([LOOK]))
    limits = ("--max-turns", "6", "--grace-turns", "2", "--wrap-up", delivery)

    row = shell.row("mini", "--upstream", f"script:{script}", *limits)

    assert (row["completion_reason"], row["wrapped_up"], row["agent_turns"]) == ("tool_limit", False, 6)
    assert (row["limit"]["phase"], row["limit"]["used"], row["exchanges"]["main"], row["score"]) == ("hard", 6, 6, 1.0)
    assert (row["extensions"]["budgets"]["warned"], row["extensions"]["budgets"]["discarded"]) == (True, 0)


def test_deaf_agent_is_killed_at_the_cap_with_all_that_it_started_and_what_it_left_is_scored(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    script = shell.write("script.json", json.dumps([LOOK]))
    behaviour = shell.write("deaf.json", json.dumps(DEAF_WORKER))
    command = f"{sys.executable} -m benchflow.agents.fake {behaviour}"
    shell.write("tiny/scenario.toml", TINY + "[limits]\nmax_turns = 6\ngrace_turns = 2\n")

    words = (
        "--command",
        command,
        "./tiny",
        "--sandbox",
        "process",
        "--upstream",
        f"script:{script}",
        "--keep",
        "always",
    )
    ended = shell.run("run", *words, "--json")

    assert ended.returncode == 0, ended.stderr
    (row,) = json.loads(ended.stdout)["rows"]
    assert (row["completion_reason"], row["wrapped_up"], row["agent_turns"]) == ("tool_limit", False, 6)
    assert (row["limit"]["phase"], row["limit"]["used"], row["exchanges"]["main"]) == ("hard", 6, 6)
    assert (row["score"], row["error"]) == (1.0, None)
    assert row["tokens"]["total"] > 0
    (pid,) = tmp_path.glob("runs/*/trials/*/try-1/workspace/child.pid")
    assert not Path("/proc", pid.read_text()).exists()


def test_grace_without_room_for_a_warning_is_the_hard_cap_alone_and_stderr_says_so(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    script = shell.write("script.json", json.dumps([LOOK]))

    ended = shell.run(
        "run", "fake", "./tiny", "--json", "--upstream", f"script:{script}", "--max-turns", "3", "--grace-turns", "3"
    )

    assert "max_turns 3, grace_turns 3: no room for a warning; hard cap only" in ended.stderr
    (row,) = json.loads(ended.stdout)["rows"]
    assert (row["completion_reason"], row["agent_turns"]) == ("tool_limit", 3)
    assert row["extensions"]["budgets"]["delivery"] is None
    assert row["extensions"]["budgets"]["notes"] == ["max_turns 3, grace_turns 3: no room for a warning; hard cap only"]


async def test_run_that_has_cost_too_much_begins_no_further_trial(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    shell.write("prices.toml", '[[prices]]\nmodel = "gpt-4.1"\ninput_usd_per_mtok = 10000\noutput_usd_per_mtok = 0\n')
    words = ("run", "fake", "./tiny", "-n", "5", "--json", "--prices", "prices.toml", "--max-cost", "1")

    async with provider(whole(ChatSample.whole)) as upstream:
        where = ("--model", MODEL, "--upstream", f"http://127.0.0.1:{upstream.port}/v1")
        ended = await anyio.to_thread.run_sync(lambda: shell.run(*words, *where))

    assert ended.returncode == 1, ended.stderr
    found = json.loads(ended.stdout)
    assert [row["cost"]["total_usd"] for row in found["rows"]] == [1.0]
    assert found["summary"]["missing"] == 4
    said = "--max-cost: the run has cost $1.0000 of $1; no further trial is started"
    assert said in ended.stderr
    assert found["summary"]["halted"] == said


async def test_tokens_and_cost_up_to_the_cut_are_in_the_row(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    shell.write("prices.toml", '[[prices]]\nmodel = "gpt-4.1"\ninput_usd_per_mtok = 10000\noutput_usd_per_mtok = 0\n')
    function = {"name": "shell", "arguments": json.dumps({"command": "echo done > done.txt"})}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": function}],
    }
    answer = {
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
    }
    words = ("run", "fake", "./tiny", "--json", "--prices", "prices.toml", "--max-turns", "3")

    async with provider(whole(json.dumps(answer).encode())) as upstream:
        where = ("--model", MODEL, "--upstream", f"http://127.0.0.1:{upstream.port}/v1")
        ended = await anyio.to_thread.run_sync(lambda: shell.run(*words, *where))

    (row,) = json.loads(ended.stdout)["rows"]
    assert (row["completion_reason"], row["agent_turns"], row["score"]) == ("tool_limit", 3, 1.0)
    assert (row["tokens"]["total"], row["cost"]["total_usd"]) == (315, 3.0)


def test_example_in_the_readme_does_what_it_says(tmp_path: Path) -> None:
    (code,) = [
        block for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "from_hard_cap" in block
    ]

    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    said = ast.literal_eval(ended.stdout)
    assert said[1:5] == ["I look further."] * 4
    assert said[5].startswith("You have used your turn budget.")
    assert said[6:] == ["Done: it is the linker, I think."]
