"""The oracle plays a solution through whichever tools an agent offers."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import AGENTS, recorded_requests
from tool_agent import TEXT, Tool, ToolAgent, run, schema, send, write

from benchflow.gateway.dialects.chat import Chat
from benchflow.gateway.message import RawRequest
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.oracle import Oracle, working_directory
from benchflow.gateway.upstreams.oracle_steps import command_of
from benchflow.gateway.upstreams.oracle_tools import FileTool, find_shells, find_writer
from benchflow.scenario import RunStep, Solution, WriteStep

SHELLS = ("bash", "Bash", "Execute", "exec_command", "execute", "run_commands", "run_shell_command", "terminal")
WRITERS = ("create", "file_editor", "file_write", "write", "Write", "write_file", "write_text_file")
WITHOUT_WRITER = ("cline", "codex-acp", "droid")
"""What they offer for files is patches."""
WITHOUT_TOOLS = ("gptme",)
"""Their tools are in the text."""

SOLUTION = Solution(
    steps=(
        WriteStep(write="sub/greeting.txt", content="hello 'you' \"$HOME\" `id` é\n"),
        RunStep(run='cd sub && cat greeting.txt > copy.txt && [[ -f copy.txt ]] && echo "it\'s there"'),
        WriteStep(write="tail.txt", content="no newline"),
        RunStep(run="set -e\nfor x in a b; do\n  echo $x >> list.txt  # one a line\ndone\nexit 0"),
    ),
    answer="It is 42.",
)
PROMPT = "Do the thing."
CONTEXT = TrialContext(trial="t", attempt=1, model="m", prompts=(PROMPT,), solution=SOLUTION, workspace="/work")


def assert_played(folder: Path) -> None:
    left = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert left == {
        "sub/greeting.txt": "hello 'you' \"$HOME\" `id` é\n",
        "sub/copy.txt": "hello 'you' \"$HOME\" `id` é\n",
        "tail.txt": "no newline",
        "list.txt": "a\nb\n",
    }


def bash(arguments: Any, folder: Path) -> str:
    return run(["bash", "-c", arguments["command"]], folder)


def dash(arguments: Any, folder: Path) -> str:
    return run(["sh", "-c", arguments["cmd"]], folder)


def argv(arguments: Any, folder: Path) -> str:
    return run(arguments["command"], folder)


def lines(arguments: Any, folder: Path) -> str:
    return "".join(run(["bash", "-c", line], folder) for line in arguments["commands"])


def absolute_writer(arguments: Any, folder: Path) -> str:
    assert arguments["file_path"].startswith("/work/")
    return write(arguments["file_path"].removeprefix("/work/"), arguments["content"], folder)


def relative_writer(arguments: Any, folder: Path) -> str:
    assert not arguments["path"].startswith("/")
    return write(arguments["path"], arguments["contents"], folder)


def editor(arguments: Any, folder: Path) -> str:
    assert arguments["command"] == "create"
    return write(arguments["path"].removeprefix("/work/"), arguments["file_text"], folder)


BASH = ({"parameters": schema(["command"], command=TEXT)}, bash)
WRITE_ABSOLUTE = (
    {"parameters": schema(["file_path", "content"], file_path={**TEXT, "description": "Absolute path."}, content=TEXT)},
    absolute_writer,
)
WRITE_RELATIVE = ({"parameters": schema(["path", "contents"], path=TEXT, contents=TEXT)}, relative_writer)
EDITOR = (
    {
        "parameters": schema(
            ["command", "path"],
            command={"type": "string", "enum": ["view", "create", "str_replace", "insert"]},
            path={**TEXT, "description": "Absolute path to file or directory."},
            file_text=TEXT,
            old_str=TEXT,
        )
    },
    editor,
)
READ = ({"parameters": schema(["path"], path=TEXT)}, lambda arguments, folder: "never used")
TOOLBOXES: dict[str, dict[str, tuple[dict[str, Any], Tool]]] = {
    "bash alone": {"bash": BASH},
    "shell by sh": {"run_shell_command": ({"parameters": schema(["cmd"], cmd=TEXT)}, dash)},
    "argv": {
        "shell": (
            {
                "parameters": schema(
                    ["command"], command={"type": "array", "items": TEXT}, timeout_ms={"type": "number"}
                )
            },
            argv,
        )
    },
    "list of lines": {
        "run_commands": ({"parameters": schema(["commands"], commands={"type": "array", "items": TEXT})}, lines)
    },
    "bash and an absolute writer": {"read_file": READ, "Write": WRITE_ABSOLUTE, "Bash": BASH},
    "execute and a relative writer": {"create_file": WRITE_RELATIVE, "execute_command": BASH, "read": READ},
    "an editor with commands": {"str_replace_editor": EDITOR, "execute_bash": BASH},
    "many required parameters": {
        "terminal": (
            {
                "description": "Runs a shell command.",
                "parameters": schema(
                    ["command", "description", "timeout", "is_background", "security_risk", "workdir", "env"],
                    command=TEXT,
                    description=TEXT,
                    timeout={"type": "integer", "minimum": 1, "maximum": 600},
                    is_background={"type": "boolean"},
                    security_risk={"type": "string", "enum": ["UNKNOWN", "HIGH", "LOW"]},
                    workdir=TEXT,
                    env={"type": "array", "items": schema(["name"], name=TEXT)},
                ),
            },
            lambda arguments, folder: assert_filled(arguments) or bash(arguments, folder),
        )
    },
}


def assert_filled(arguments: Any) -> None:
    given = {key: value for key, value in arguments.items() if key not in ("command", "description")}
    assert given == {"timeout": 120, "is_background": False, "security_risk": "LOW", "workdir": "/work", "env": []}
    assert arguments["description"].startswith("Step ")


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("toolbox", TOOLBOXES)
async def test_solution_is_played_through_any_toolbox(toolbox: str, stream: bool, tmp_path: Path) -> None:
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=CONTEXT, tools=TOOLBOXES[toolbox], stream=stream)

    said = await agent.prompt(PROMPT)

    assert said == "It is 42."
    assert len(agent.answers) == len(SOLUTION.steps) + 1
    assert_played(tmp_path)


async def test_rewritten_ids_and_messages_of_the_agents_own_do_not_confuse_it(tmp_path: Path) -> None:
    names: dict[str, str] = {}
    agent = ToolAgent(
        folder=tmp_path,
        upstream=Oracle(),
        context=CONTEXT,
        tools={"read_file": READ, "Write": WRITE_ABSOLUTE, "Bash": BASH},
        rename=lambda call_id: names.setdefault(call_id, f"toolu_{len(names)}"),
        extra=(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "own", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "x"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "own", "content": "Error: no such file"},
            {"role": "user", "content": "<system-reminder>You have tools.</system-reminder>"},
        ),
    )

    assert await agent.prompt(PROMPT) == "It is 42."
    assert_played(tmp_path)


@pytest.fixture
def lasting_shell(tmp_path: Path) -> Iterator[Tool]:
    """A tool whose shell stays the same from call to call."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        ["bash"], cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True
    ) as shell:
        assert shell.stdin
        assert shell.stdout
        to, back = shell.stdin, shell.stdout

        def lasting(arguments: Any, folder: Path) -> str:
            to.write(arguments["command"] + "\necho; echo THE-END\n")
            to.flush()
            return "".join(iter(back.readline, "THE-END\n"))

        yield lasting
        shell.kill()


async def test_steps_in_one_lasting_shell_leave_it_as_it_was(lasting_shell: Tool, tmp_path: Path) -> None:
    tools = {"terminal": ({"parameters": schema(["command"], command=TEXT)}, lasting_shell)}
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=CONTEXT, tools=tools)

    assert await agent.prompt(PROMPT) == "It is 42."
    assert_played(tmp_path)


async def test_agent_without_tools_gets_fenced_shell_blocks(tmp_path: Path) -> None:
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=CONTEXT, tools={})
    text = await agent.prompt(PROMPT)
    for _ in SOLUTION.steps:
        command = text.partition("```bash\n")[2].rpartition("\n```")[0]
        text = await agent.prompt("Output:\n" + run(["bash", "-c", command], tmp_path))

    assert text == "It is 42."
    assert_played(tmp_path)


async def test_results_in_system_messages_are_read() -> None:
    command = command_of(SOLUTION.steps[0], 1)
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": f"```bash\n{command}\n```"},
        {"role": "system", "content": f"Ran:\n```bash\n{command}\n```\n[step 1: exit 0]"},
    ]

    response = await send(Oracle(), CONTEXT, {"model": "m", "messages": messages})

    assert b"Step 2 of 4." in b"".join([chunk async for chunk in response.chunks])


@pytest.mark.parametrize(
    ("system", "block"),
    [
        ("You can run commands:\n```shell\nls\n```\nand\n```shell\npwd\n```\nnot ```bash``` ones.", "```shell\n"),
        ("Write ```bash blocks.\n```sh\nls\n```", "```sh\n"),
        ("You are an agent.", "```bash\n"),
    ],
)
async def test_shell_blocks_are_called_what_the_agent_calls_them(system: str, block: str) -> None:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": PROMPT}]

    response = await send(Oracle(), CONTEXT, {"model": "m", "messages": messages})

    assert block in json.loads(b"".join([chunk async for chunk in response.chunks]))["choices"][0]["message"]["content"]


async def test_request_sent_twice_gets_the_same_answer(tmp_path: Path) -> None:
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=CONTEXT, tools={"bash": BASH})
    agent.messages.append({"role": "user", "content": PROMPT})

    async def answered() -> bytes:
        response = await send(Oracle(), CONTEXT, agent.body())
        return b"".join([chunk async for chunk in response.chunks])

    assert await answered() == await answered()


@pytest.mark.parametrize(
    "refusal",
    [
        "Error: the file has not been read yet. Read it first.",
        "Path /workspace/a.txt already exists as a file. Use `view` to check contents then edit it.",
    ],
)
async def test_failed_write_is_repeated_through_the_shell(refusal: str, tmp_path: Path) -> None:
    def refuses(arguments: Any, folder: Path) -> str:
        return refusal

    tools = {"Write": (WRITE_ABSOLUTE[0], refuses), "Bash": BASH}
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=CONTEXT, tools=tools)

    assert await agent.prompt(PROMPT) == "It is 42."
    used = [call.name for answer in agent.answers for call in answer.tool_calls]
    assert used == ["Write", "Bash", "Bash", "Write", "Bash", "Bash"]
    assert_played(tmp_path)


@pytest.mark.parametrize(
    ("result", "told"),
    [("[step 1: exit 3]", "[step 1: exit 3]"), ("The user rejected this tool use.", "The user rejected")],
)
async def test_step_that_fails_twice_ends_the_work_with_its_failure(result: str, told: str, tmp_path: Path) -> None:
    tools = {"bash": (BASH[0], lambda arguments, folder: result)}
    solution = Solution(steps=(RunStep(run="exit 3"), RunStep(run="touch never")), answer="done")
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=replace(CONTEXT, solution=solution), tools=tools)

    said = await agent.prompt(PROMPT)

    assert said.startswith("Step 1 of 2 failed twice.")
    assert told in said
    assert len(agent.answers) == 3
    assert agent.responses[-1].unplayable is None


async def test_step_whose_output_the_agent_cut_is_not_done_again(tmp_path: Path) -> None:
    def cutting(arguments: Any, folder: Path) -> str:
        return run(["bash", "-c", arguments["command"]], folder)[:100] + "\n[output truncated]"

    solution = Solution(steps=(RunStep(run="echo x >> once; seq 1000"), RunStep(run="cat once")), answer="Done.")
    tools = {"bash": (BASH[0], cutting)}
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=replace(CONTEXT, solution=solution), tools=tools)

    assert await agent.prompt(PROMPT) == "Done."
    assert (tmp_path / "once").read_text() == "x\n"


async def test_run_without_a_shell_is_said_to_be_unplayable(tmp_path: Path) -> None:
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=CONTEXT, tools={"Write": WRITE_ABSOLUTE})

    said = await agent.prompt(PROMPT)

    reason = "the oracle cannot play step 2: none of the tools runs commands: Write"
    assert (said, agent.responses[-1].unplayable) == (reason, reason)


async def test_scenario_without_a_solution_is_said_to_be_unplayable(tmp_path: Path) -> None:
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=replace(CONTEXT, solution=None), tools={"bash": BASH})

    await agent.prompt(PROMPT)

    assert agent.responses[-1].unplayable


async def test_second_prompt_is_answered_without_doing_it_all_again(tmp_path: Path) -> None:
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=CONTEXT, tools={"bash": BASH})
    await agent.prompt(PROMPT)

    assert await agent.prompt("And now?") == "It is 42."
    assert len(agent.answers) == len(SOLUTION.steps) + 2


async def test_agent_that_must_use_a_tool_ends_with_its_finishing_tool(tmp_path: Path) -> None:
    ends: list[Any] = []
    tools = {
        "execute_command": BASH,
        "attempt_completion": (
            {"parameters": schema(["result"], result=TEXT)},
            lambda arguments, _: ends.append(arguments) or "ok",
        ),
    }
    agent = ToolAgent(folder=tmp_path, upstream=Oracle(), context=CONTEXT, tools=tools, choice="required")
    agent.messages.append({"role": "user", "content": PROMPT})
    while not ends:
        agent._use((await agent.ask()).tool_calls, "")

    assert ends == [{"result": "It is 42."}]
    assert_played(tmp_path)


ASIDE = replace(CONTEXT, role="auxiliary")
CLASSIFIER = {
    "type": "function",
    "function": {
        "name": "verdict",
        "parameters": schema(
            ["shouldBlock", "reason", "level", "score"],
            shouldBlock={"type": "boolean"},
            reason=TEXT,
            level={"enum": ["high", "low"]},
            score={"type": "integer", "minimum": 1},
            more=TEXT,
        ),
    },
}


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "verdict"}}])
async def test_forced_tool_beside_the_work_lets_the_work_go_on(choice: Any) -> None:
    body = {"model": "m", "messages": [], "tools": [CLASSIFIER], "tool_choice": choice}
    response = await send(Oracle(), ASIDE, body)
    assembler = Chat().assembler()
    async for chunk in response.chunks:
        assembler.feed(chunk)

    (call,) = assembler.result().tool_calls
    assert call.arguments == {"shouldBlock": False, "reason": "Working on the task", "level": "low", "score": 1}


@pytest.mark.parametrize(
    ("response_format", "text"),
    [
        (None, "Working on the task"),
        (
            {
                "type": "json_schema",
                "json_schema": {"schema": schema(["title", "isNewTopic"], title=TEXT, isNewTopic={"type": "boolean"})},
            },
            '{"title":"Working on the task","isNewTopic":false}',
        ),
        ({"type": "json_object"}, "{}"),
    ],
)
async def test_question_beside_the_work_gets_a_short_text_in_its_form(response_format: Any, text: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}], "response_format": response_format}
    response = await send(Oracle(), ASIDE, body)
    assembler = Chat().assembler()
    async for chunk in response.chunks:
        assembler.feed(chunk)

    answer = assembler.result()
    assert (answer.text, answer.tool_calls) == (text, ())
    assert answer.tokens
    assert min(answer.tokens.input, answer.tokens.output) > 0


@settings(max_examples=40, deadline=None)
@given(content=st.text(st.characters(blacklist_characters="\x00\r", blacklist_categories=["Cs"])))
@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_written_file_is_exact_whatever_is_in_it(
    shell: str, content: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("w")
    for text in (content, content + "\nEND_OF_FILE\n", content + "\n"):
        said = run([shell, "-c", command_of(WriteStep(write="d/it's", content=text), 7)], folder)

        assert (folder / "d" / "it's").read_bytes() == text.encode()
        assert said == "[step 7: exit 0]\n"


@pytest.mark.parametrize("agent", sorted({*AGENTS} - {*WITHOUT_TOOLS}))
def test_tools_of_real_agents_are_recognised(agent: str) -> None:
    request = next(recorded.request for recorded in recorded_requests(agent) if recorded.role == "main")
    shell, writer = find_shells(request.tools)[0], find_writer(request.tools, "x\n")

    assert shell.tool.name in SHELLS
    assert working_directory(request, "/workspace") == "/workspace"
    if agent not in WITHOUT_WRITER:
        assert isinstance(writer, FileTool)
        assert writer.tool.name in WRITERS
        path_asked = writer.arguments("a.txt", "x", "note", "/workspace")[writer.path]
        assert path_asked in ("a.txt", "/workspace/a.txt")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Working directory: /home/me/project\nPlatform: linux", "/home/me/project"),
        ("The current working directory is `/srv/app`.", "/srv/app"),
        ("<cwd>/tmp/x</cwd>", "/tmp/x"),
        ("Workspace root folder: /workspace.", "/workspace"),
        ("- cwd=/a/b", "/a/b"),
        ("Nothing of the kind.", "/known"),
    ],
)
def test_working_directory_is_read_where_the_agent_names_it(text: str, place: str) -> None:
    body = {"model": "m", "messages": [{"role": "system", "content": text}]}
    request = Chat().read(RawRequest(method="POST", path="", query="", headers=(), body=json.dumps(body).encode()))

    assert working_directory(request, "/known") == place
