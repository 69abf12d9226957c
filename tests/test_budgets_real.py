"""Real agents under a cap of six turns with a grace of two, at a model that goes on for ever or obeys.

Run by hand: `pytest -m real`. The first time installs the agents below `$BENCHFLOW_HOME`.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import PROGRAM

TOOLS = {"opencode": "bash", "mistral-vibe": "bash", "claude-agent-acp": "Bash"}
"""Agents, each with the name of its shell tool."""

pytestmark = pytest.mark.real


def turns(folder: Path) -> list[tuple[int | None, bool]]:
    """Which main request was which turn, and whether it carried the warning, in its body or as the prompt."""
    (log,) = folder.glob("*/trials/*/try-1/llm.jsonl")
    found = [json.loads(line) for line in log.read_text().splitlines()]
    return [
        (line["turn"], any(change["kind"] == "wrap_up" for change in line["changes"]))
        for line in sorted(found, key=lambda line: line["seq"])
        if line["role"] == "main" and not line["stopped"]
    ]


def prompts(folder: Path) -> list[str]:
    (log,) = folder.glob("*/trials/*/try-1/acp.ndjson")
    frames = [json.loads(line).get("frame", {}) for line in log.read_text().splitlines()]
    return [frame["params"]["prompt"][0]["text"] for frame in frames if frame.get("method") == "session/prompt"]


@pytest.mark.parametrize("obeys", [True, False], ids=["obeying", "ignoring"])
@pytest.mark.parametrize("delivery", ["inject", "reprompt"])
@pytest.mark.parametrize("agent", TOOLS)
def test_agent_is_warned_before_its_fifth_turn_and_stopped_after_its_sixth(
    agent: str, delivery: str, obeys: bool, tmp_path: Path
) -> None:
    arguments = {"command": "echo looked >> log.txt", "description": "look"}
    look: dict[str, Any] = {"tool_calls": [{"name": TOOLS[agent], "arguments": arguments}]}
    script = tmp_path / "script.json"
    script.write_text(json.dumps([*[look] * 4, "This is what I have."] if obeys else [look]))
    words = (
        "run",
        agent,
        "fix-failing-test",
        "--upstream",
        f"script:{script}",
        "--json",
        "--out",
        str(tmp_path / "runs"),
    )
    limits = ("--max-turns", "6", "--grace-turns", "2", "--wrap-up", delivery)

    ended = subprocess.run(
        [*PROGRAM, *words, *limits],
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    (row,) = json.loads(ended.stdout)["rows"]
    used = 5 if obeys else 6
    assert (row["completion_reason"], row["wrapped_up"]) == (("stop", True) if obeys else ("tool_limit", False))
    assert (row["agent_turns"], row["exchanges"]["main"], row["limit"]["used"]) == (used, used, used)
    assert row["extensions"]["budgets"]["fell_back"] is False
    injected = delivery == "inject"
    assert turns(tmp_path / "runs") == [(turn, injected and turn > 3) for turn in range(used)]
    assert len(prompts(tmp_path / "runs")) == (1 if injected else 2)
