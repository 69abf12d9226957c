"""Real agents from PyPI and npm, installed by BenchFlow itself, do every bundled scenario with the oracle.

Run by hand: `pytest -m real`. The first time installs some gigabytes below `$BENCHFLOW_HOME`.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_line import PROGRAM
from sandboxes import needs_bubblewrap

AGENTS = (
    "mini",
    "agentao",
    "mistral-vibe",
    "opencode",
    "qwen-code",
    "kilo",
    "fast-agent",
    "copilot",
    "cline",
    "openhands",
    "kimi-code",
    "droid",
    "deepagents-acp",
    "pi-acp",
    "gptme",
    "claude-agent-acp",
    "codex-acp",
    "gemini",
)

pytestmark = pytest.mark.real


@pytest.mark.parametrize("sandbox", [pytest.param("bubblewrap", marks=needs_bubblewrap), "process"])
@pytest.mark.parametrize("agent", AGENTS)
def test_agent_does_every_scenario_with_the_oracle(agent: str, sandbox: str, tmp_path: Path) -> None:
    words = ("run", agent, "all", "--upstream", "oracle", "--sandbox", sandbox, "--concurrency", "2", "--json")

    ended = subprocess.run(
        [*PROGRAM, *words, "--out", str(tmp_path)],
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    rows = json.loads(ended.stdout)["rows"]
    assert {row["scenario_id"]: row["error"] or row["score"] for row in rows} == {
        row["scenario_id"]: 1.0 for row in rows
    }
    assert all(row["exchanges"]["main"] >= row["agent_turns"] > 0 for row in rows)
