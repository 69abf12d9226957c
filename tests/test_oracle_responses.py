"""The oracle through OpenAI's responses: free-form tools, tools of OpenAI's own, and conversations the server keeps."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from responses_rig import RESPONSES
from tool_agent import TEXT, run, schema, write

from benchflow.gateway.classify import TrialSoFar, classify
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.message import Assembled, RawRequest, RawResponse
from benchflow.gateway.reading import understand
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.oracle import Oracle
from benchflow.scenario import RunStep, Solution, WriteStep

PROMPT = "Do the thing."
SOLUTION = Solution(
    steps=(
        WriteStep(write="sub/a.txt", content="one\n\n two é\n"),
        RunStep(run="cat sub/a.txt sub/a.txt > twice.txt"),
        WriteStep(write="tail.txt", content="no newline"),
        RunStep(run="echo x >> list.txt"),
    ),
    answer="It is 42.",
)
CONTEXT = TrialContext(trial="t", attempt=1, model="m", prompts=(PROMPT,), solution=SOLUTION, workspace="/work")
LEFT = {"sub/a.txt": "one\n\n two é\n", "twice.txt": "one\n\n two é\n" * 2, "tail.txt": "no newline", "list.txt": "x\n"}

Tool = Callable[[Mapping[str, Any], Path], Any]


@dataclass(kw_only=True)
class ItemAgent:
    """Loops until the model calls no tool. It sends the whole history each time, or only what is new."""

    folder: Path
    tools: Sequence[Mapping[str, Any]]
    use: Tool
    """Takes a call's item, and returns the output."""
    keeps: bool = False
    """The server keeps the conversation."""
    new: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    previous: str | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    responses: list[RawResponse] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    """Ids of the responses so far."""

    async def prompt(self, text: str) -> str:
        self.new.append({"type": "message", "role": "user", "content": text})
        for _ in range(20):
            found = await self.ask()
            calls = [item for item in found.body["output"] if item["type"].endswith("_call")]
            self.history += found.body["output"]
            for call in calls:
                self.calls.append(call)
                output = self.use(call, self.folder)
                self.new.append({"type": f"{call['type']}_output", "call_id": call["call_id"], "output": output})
            if not calls:
                return found.text
        raise AssertionError("the model never ends")

    async def ask(self) -> Assembled:
        self.history += self.new
        body = {"model": "m", "input": self.new if self.keeps else self.history, "tools": self.tools, "stream": True}
        if self.keeps and self.previous:
            body["previous_response_id"] = self.previous
        self.new = []
        request = RawRequest(method="POST", path="/v1/responses", query="", headers=(), body=json.dumps(body).encode())
        context = understand(request, CONTEXT, DIALECTS)
        assert context.parsed
        so_far = TrialSoFar(prompts=(PROMPT,), prompt_open=True, tools=None, answers=tuple(self.answers))
        self.roles.append(classify(context.parsed, so_far).role)
        response = await Oracle().send(request, context)
        assembler = RESPONSES.assembler()
        async for chunk in response.chunks:
            assembler.feed(chunk)
        self.responses.append(response)
        found = assembler.result()
        assert found.id
        self.answers.append(found.id)
        self.previous = found.id
        return found


def left_in(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def command(call: Mapping[str, Any], folder: Path) -> str:
    return run(["bash", "-c", json.loads(call["arguments"])["cmd"]], folder)


def patch(call: Mapping[str, Any], folder: Path) -> str:
    if call["type"] == "function_call":
        return command(call, folder)
    match = re.fullmatch(r"\*\*\* Begin Patch\n\*\*\* Add File: (.+)\n((?:\+.*\n)+)\*\*\* End Patch\n", call["input"])
    assert match
    return write(match[1], re.sub(r"^\+", "", match[2], flags=re.MULTILINE), folder)


def script(call: Mapping[str, Any], folder: Path) -> list[dict[str, str]]:
    match = re.fullmatch(r"text\(await tools\.exec_command\((.+)\)\);", call["input"], re.DOTALL)
    assert match
    arguments = json.loads(match[1])
    assert arguments.keys() == {"cmd", "yield_time_ms"}
    said = json.dumps({"output": run(["bash", "-c", arguments["cmd"]], folder)})
    return [{"type": "input_text", "text": "Script completed\nOutput:\n"}, {"type": "input_text", "text": said}]


def local_shell(call: Mapping[str, Any], folder: Path) -> str:
    return run(call["action"]["command"], folder)


def shell(call: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    return [{"stdout": run(["bash", "-c", line], folder), "stderr": ""} for line in call["action"]["commands"]]


EXEC = {"type": "function", "name": "exec_command", "parameters": schema(["cmd"], cmd=TEXT)}
PATCH = {
    "type": "custom",
    "name": "apply_patch",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'begin_patch: "*** Begin Patch" LF'},
}
SCRIPT = {
    "type": "custom",
    "name": "exec",
    "description": """Run JavaScript code. `text(value)` appends a text.

```ts
declare const tools: { read_clock(args: {}): Promise<unknown>; };
declare const tools: { exec_command(args: {
  // Shell command; to execute.
  cmd: string;
  // Given before.
  prefix?: Array<string>;
  mode?: "fast" | "slow";
  yield_time_ms?: number;
}): Promise<{
  output: string;
}>; };
```
""",
}
TOOLBOXES: dict[str, tuple[list[dict[str, Any]], Tool]] = {
    "a function": ([EXEC], command),
    "a function in a namespace": ([{"type": "namespace", "name": "box", "tools": [EXEC]}], command),
    "patches": ([EXEC, PATCH], patch),
    "scripts": ([{"type": "namespace", "name": "functions", "tools": [SCRIPT]}], script),
    "the local shell": ([{"type": "local_shell"}], local_shell),
    "the shell": ([{"type": "web_search"}, {"type": "shell"}], shell),
}


@pytest.mark.parametrize("keeps", [False, True], ids=["all sent", "kept by the server"])
@pytest.mark.parametrize("box", TOOLBOXES)
async def test_solution_is_played_through_tools_of_every_form(box: str, keeps: bool, tmp_path: Path) -> None:
    tools, use = TOOLBOXES[box]
    agent = ItemAgent(folder=tmp_path, tools=tools, use=use, keeps=keeps)

    assert await agent.prompt(PROMPT) == "It is 42."
    assert left_in(tmp_path) == LEFT
    assert len(agent.calls) == len(SOLUTION.steps)
    assert agent.roles == ["main"] * 5


async def test_files_that_end_without_a_newline_are_not_written_by_patches(tmp_path: Path) -> None:
    agent = ItemAgent(folder=tmp_path, tools=[EXEC, PATCH], use=patch)

    await agent.prompt(PROMPT)

    assert [call["type"] for call in agent.calls] == [
        "custom_tool_call",
        "function_call",
        "function_call",
        "function_call",
    ]


@pytest.mark.parametrize("keeps", [False, True], ids=["all sent", "kept by the server"])
async def test_failed_patch_is_made_good_through_the_shell(keeps: bool, tmp_path: Path) -> None:
    def refuses(call: Mapping[str, Any], folder: Path) -> str:
        refusal = "Exit code: 1\nWall time: 0 seconds\nOutput:\napply_patch verification failed: no such place"
        return refusal if call["type"] == "custom_tool_call" else command(call, folder)

    agent = ItemAgent(folder=tmp_path, tools=[EXEC, PATCH], use=refuses, keeps=keeps)

    assert await agent.prompt(PROMPT) == "It is 42."
    assert left_in(tmp_path) == LEFT


@pytest.mark.parametrize("keeps", [False, True], ids=["all sent", "kept by the server"])
async def test_step_that_fails_twice_ends_the_work(keeps: bool, tmp_path: Path) -> None:
    def breaks(call: Mapping[str, Any], folder: Path) -> str:
        said = command(call, folder)
        return said.replace("exit 0", "exit 3") if "twice" in call["arguments"] else said

    agent = ItemAgent(folder=tmp_path, tools=[EXEC], use=breaks, keeps=keeps)

    assert "Step 2 of 4 failed twice" in await agent.prompt(PROMPT)
    assert len(agent.calls) == 3


async def test_later_prompt_of_a_kept_conversation_cannot_be_played(tmp_path: Path) -> None:
    agent = ItemAgent(folder=tmp_path, tools=[EXEC], use=command, keeps=True)
    await agent.prompt(PROMPT)

    await agent.prompt("And now?")

    assert [response.unplayable is None for response in agent.responses] == [True] * 5 + [False]


def test_request_that_goes_on_with_somebody_elses_answer_is_a_subagents() -> None:
    tools = [EXEC]
    items = [{"type": "function_call_output", "call_id": "1", "output": "ok"}]
    body = {"model": "m", "input": items, "tools": tools, "previous_response_id": "resp_2"}
    asked = RESPONSES.read(
        RawRequest(method="POST", path="/v1/responses", query="", headers=(), body=json.dumps(body).encode())
    )
    so_far = TrialSoFar(prompts=(PROMPT,), prompt_open=True, tools=None, answers=("resp_1",))

    assert classify(asked, so_far).role == "subagent"
