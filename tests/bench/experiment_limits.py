"""What a warning is worth: real agents on scenarios that need more turns than the cap, with and without grace.

    python tests/bench/experiment_limits.py [-n REPETITIONS] [AGENT...]

The model is a program, the same for all agents: it reads one note a turn, and only at the end writes down what it has
found. Told that its budget is used up, it writes down what it has, says so, and stops. All that differs is the limit.
Prints a table: how the trials ended, and their mean score, which is the share of the notes that were delivered.
"""

import argparse
import asyncio
import json
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from command_line import PROGRAM

from benchflow.gateway.http.server import serve
from benchflow.gateway.message import ModelAnswer, ModelRequest, RawRequest, RawResponse, ToolUse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.oracle_tools import find_shells
from benchflow.gateway.upstreams.playing import Played, answer_aside, play

AGENTS = ("opencode", "mistral-vibe", "claude-agent-acp")
MAX_TURNS, GRACE_TURNS = 6, 2
NOTES = (8, 10, 16)
"""How many notes each scenario has: all more than there are turns."""
DELIVERIES = {
    "hard cap only": (),
    "inject": ("--grace-turns", str(GRACE_TURNS), "--wrap-up", "inject"),
    "reprompt": ("--grace-turns", str(GRACE_TURNS), "--wrap-up", "reprompt"),
}
WARNING = "Stop calling work tools"
_FOUND = re.compile(r"codeword-\d+-\d+")
_NOTES = re.compile(r"all (\d+) notes")


class Reader:
    """A model that reads notes one by one, and delivers at the end, or when it is told to."""

    name = "reader"
    priced_as: str | None = None

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Answer the request."""
        return play(request, context, _answer)

    async def aclose(self) -> None:
        """Nothing is held."""


def _answer(request: ModelRequest, _: TrialContext) -> Played:
    shells = find_shells(request.tools)
    if not shells:
        return Played(answer=answer_aside(request))
    asked = "\n".join(text for message in request.messages for text in message.texts)
    results = [result.text for message in request.messages for result in message.tool_results]
    found = list(dict.fromkeys(word for text in results for word in _FOUND.findall(text)))
    notes = int((_NOTES.search(asked) or [0, 0])[1])
    written = any("DELIVERED" in text for text in results)
    if written:
        return Played(answer=ModelAnswer(text=f"Found {len(found)} of {notes}: {', '.join(found)}. I stop here."))
    if WARNING in asked or len(found) >= notes:
        command = f"printf '%s\\n' {' '.join(found)} > report.txt; echo DELIVERED"
    else:
        command = f"cat notes/{len(results) + 1:02}.txt"
    arguments = shells[0].arguments(command, "Look", ".")
    call = ToolUse(id=f"call_{len(results)}", name=shells[0].tool.name, arguments=arguments)
    return Played(answer=ModelAnswer(tool_calls=(call,)))


def write_scenarios(folder: Path) -> Iterator[str]:
    """Make a scenario for each number of notes; yield how the command line calls them."""
    for notes in NOTES:
        words = [f"codeword-{notes}-{number}" for number in range(1, notes + 1)]
        place = folder / f"notes-{notes}"
        (place / "workspace" / "notes").mkdir(parents=True)
        for number, word in enumerate(words, start=1):
            (place / "workspace" / "notes" / f"{number:02}.txt").write_text(f"The word here is {word}\n")
        checks = "".join(
            f'[[checks]]\nkind = "file_contains"\npath = "report.txt"\ntext = {json.dumps(word + chr(10))}\n'
            for word in words
        )
        content = json.dumps("\n".join(words) + "\n")
        (place / "scenario.toml").write_text(
            f'schema_version = 1\nid = "notes-{notes}"\nname = "{notes} notes"\ntimeout_s = 120\n'
            f'prompt = "Read all {notes} notes in notes/, and write the words in them to report.txt, one a line."\n'
            f'{checks}[[solution.steps]]\nwrite = "report.txt"\ncontent = {content}\n'
        )
        yield f"./notes-{notes}"


def run(agent: str, scenarios: Sequence[str], url: str, more: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Run an agent over the scenarios; return the rows."""
    words = ("run", agent, *scenarios, "--upstream", url, "--model", "reader", "--json", "--max-turns", str(MAX_TURNS))
    ended = subprocess.run([*PROGRAM, *words, *more], cwd=folder, capture_output=True, text=True, check=False)
    if not ended.stdout:
        raise SystemExit(ended.stderr)
    return json.loads(ended.stdout)["rows"]


def line(agent: str, delivery: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return a line of the table."""
    wrapped_up = sum(row["wrapped_up"] for row in rows) / len(rows)
    capped = sum(row["completion_reason"] == "tool_limit" for row in rows) / len(rows)
    scores = [row["score"] for row in rows if row["score"] is not None]
    mean = f"{sum(scores) / len(scores):.2f}" if scores else "-"
    turns = sorted({row["agent_turns"] for row in rows})
    fell_back = sum(row["extensions"].get("budgets", {}).get("fell_back", False) for row in rows)
    unscored = len(rows) - len(scores)
    return (
        f"{agent:18} {delivery:14} {len(rows):6} {wrapped_up:10.0%} {capped:7.0%} {mean:>6} "
        f"{', '.join(map(str, turns)):>6} {fell_back:9} {unscored:9}"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-n", type=int, default=1)
    parser.add_argument("agents", nargs="*", default=AGENTS)
    asked = parser.parse_args()
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    print(
        f"{'agent':18} {'limit':14} {'trials':>6} {'wrapped up':>10} {'capped':>7} {'score':>6} {'turns':>6} "
        f"{'fell back':>9} {'unscored':>9}"
    )
    with tempfile.TemporaryDirectory() as place:
        scenarios = list(write_scenarios(Path(place)))
        async with serve(Reader(), [listening]):
            for agent in asked.agents:
                for delivery, words in DELIVERIES.items():
                    more = (*words, "-n", str(asked.n))
                    rows = await asyncio.to_thread(run, agent, scenarios, url, more, Path(place))
                    print(line(agent, delivery, rows), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
