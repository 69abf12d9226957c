"""A model without an agent: what it is shown, what it writes, and what is recorded, judged and charged of it."""

import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from command_line import open_shell
from own_provider import OwnRun, OwnWorkspaces

from benchflow.chat.blocks import FileBlock, read_blocks, show_files
from benchflow.chat.provider import ChatProvider
from benchflow.clock import Clock
from benchflow.contracts import CreateSessionParams, Limits, PromptResult, SessionHandle, SessionProvider
from benchflow.errors import InputError
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.message import Chunks, RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer
from benchflow.hosting.captured import CapturedProvider
from benchflow.hosting.foreign import ForeignProvider
from benchflow.redact import Redactor
from benchflow.row import ProfileRow
from benchflow.runner.lookup import look_up
from benchflow.runner.plan import Trial, make_plan
from benchflow.runner.request import RunRequest
from benchflow.workspaces.workspace import Workspace

DONE = ScriptedAnswer(text="I write it.\n\n```path=done.txt\ndone\n```\n")


class Kept(Script):
    """A script that keeps what it was asked."""

    def __init__(self, answers: Sequence[ScriptedAnswer]) -> None:
        super().__init__(answers)
        self.asked: list[dict[str, Any]] = []

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        self.asked.append(json.loads(request.body))
        return await super().send(request, context)


class Raw(Script):
    """Answers with one choice, whatever it is."""

    def __init__(self, choice: dict[str, Any]) -> None:
        super().__init__([])
        self.body = json.dumps({"choices": [choice]}).encode()

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        context.on_sent(request)
        return RawResponse(status=200, headers=(("Content-Type", "application/json"),), chunks=Chunks([self.body]))


class Hanging(Script):
    """Never answers."""

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        await anyio.sleep_forever()
        raise AssertionError


@asynccontextmanager
async def captured(
    upstream: Script, provider: SessionProvider | None = None, clock: Clock | None = None
) -> AsyncIterator[CapturedProvider]:
    """Put a provider, the chat if no other, before an upstream."""
    clock, redactor = clock or Clock(), Redactor([])
    async with Gateway(upstream, clock=clock, redactor=redactor) as gateway:
        yield CapturedProvider(provider=provider or ChatProvider(), gateway=gateway, clock=clock, redactor=redactor)


async def one_row(
    folder: Path,
    *answers: ScriptedAnswer,
    limits: Limits | None = None,
    upstream: Script | None = None,
    make: Callable[[], SessionProvider] = ChatProvider,
) -> ProfileRow:
    """Run one trial of the tiny scenario to its row."""
    with OwnRun(folder) as run:
        async with captured(upstream or Script(answers), make()) as provider:
            cell = run.cell(provider=provider, agent="chat")
            cell = replace(cell, limits=limits or cell.limits)
            (row,) = await run.runner().run(make_plan([cell], 1))
    return row


def events_of(folder: Path, row: ProfileRow) -> list[dict[str, Any]]:
    file = folder / "runs" / row.run_id / "trials" / row.trial / f"try-{row.tries}" / "events.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


async def test_answer_of_a_model_alone_is_written_scored_and_on_record(tmp_path: Path) -> None:
    row = await one_row(tmp_path, DONE)

    assert (row.success, row.completion_reason, row.stop_reason) == (True, "stop", "end_turn")
    assert (row.agent_turns, row.exchanges.main, row.exchanges.auxiliary) == (1, 1, 0)
    assert row.tokens
    assert row.tokens.input > 0
    assert row.extensions["chat"] == {"files_written": 1, "files_refused": 0}
    assert row.session_id == f"chat-{row.trial}"
    events = events_of(tmp_path, row)
    kinds = ["prompt_begin", "turn_begin", "turn_end", "agent_message", "notice", "prompt_end"]
    assert [event["type"] for event in events] == kinds
    assert {event["session_id"] for event in events} == {row.session_id}


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        (ScriptedAnswer(text="I cannot."), ("stop", None, 0.0)),
        (ScriptedAnswer(text="no", status=400), ("error", "setup", None)),
        (ScriptedAnswer(text="who?", status=401), ("error", "upstream", None)),
        (ScriptedAnswer(text="later", status=429), ("error", "upstream", None)),
        (ScriptedAnswer(text="broken", status=500), ("error", "upstream", None)),
        (replace(DONE, fault="cut"), ("error", "upstream", None)),
        (replace(DONE, fault="silent"), ("error", "upstream", None)),
    ],
)
async def test_what_the_models_server_does_decides_whether_it_is_scored(
    tmp_path: Path, answer: ScriptedAnswer, end: tuple[str, str | None, float | None]
) -> None:
    row = await one_row(tmp_path, answer)

    assert (row.completion_reason, row.error_code, row.score) == end


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"role": "assistant", "content": [{"type": "text", "text": "x"}]}},
        {"message": {"role": "assistant", "content": 7}},
        {"message": {"role": "assistant", "content": "x"}, "finish_reason": ["stop"]},
        {"message": {"role": "assistant", "content": "x"}, "finish_reason": 1},
    ],
)
async def test_answer_that_is_no_chat_completion_is_the_upstreams_failure(
    tmp_path: Path, choice: dict[str, Any]
) -> None:
    row = await one_row(tmp_path, upstream=Raw(choice))

    assert (row.error_code, row.score) == ("upstream", None)
    assert "no chat completion" in (row.error or "")


async def test_model_that_takes_too_long_is_a_timeout_and_scored(tmp_path: Path) -> None:
    row = await one_row(tmp_path, upstream=Hanging([DONE]), limits=Limits(timeout_s=0.2))

    assert (row.completion_reason, row.score, row.limit and row.limit.kind) == ("timeout", 0.0, "timeout_s")


async def test_budget_ends_a_provider_that_asks_and_asks(tmp_path: Path) -> None:
    class Restless(ChatProvider):
        async def prompt(self, handle: SessionHandle, text: str, timeout_s: float | None = None) -> PromptResult:
            while not (result := await super().prompt(handle, text)).error:
                pass
            return result

        async def stop_session(self, handle: SessionHandle) -> Workspace:
            workspace = await super().stop_session(handle)
            workspace.write_text("late.txt", "late")
            return workspace

    row = await one_row(tmp_path, DONE, limits=Limits(timeout_s=20, max_turns=3), make=Restless)

    assert (row.completion_reason, row.agent_turns, row.error_code) == ("tool_limit", 3, None)
    assert row.limit
    assert (row.limit.kind, row.limit.used) == ("max_turns", 3)
    assert row.success, "what was written by then counts"
    assert row.extensions["budgets"]["discarded"] == 1, "and what is written later does not"


async def test_conversation_goes_on_with_the_next_prompt_and_shows_the_files_once(tmp_path: Path) -> None:
    upstream = Kept([DONE, ScriptedAnswer(text="```path=b.txt\nb\n```")])
    workspaces = OwnWorkspaces(tmp_path)
    async with captured(upstream) as provider:
        with OwnRun(tmp_path) as run:
            trial = Trial(cell=run.cell(), iteration=0)
            workspace = await workspaces.make(trial, 1)
            workspace.write_text("notes/a.txt", "alpha")
            params = CreateSessionParams(
                scenario_id="tiny",
                iteration=0,
                workspace=workspace,
                folder=tmp_path,
                trial=trial.key,
                model="m",
                system_instructions="Be short.",
            )
            handle = await provider.create_session(params)
            for text in ("Write done.txt.", "Write b.txt."):
                await provider.prompt(handle, text)
            await provider.stop_session(handle)
            trace = await provider.export_session(handle)
            facts = provider.facts(handle)
            await provider.destroy_session(handle)
            await provider.shutdown()

    system, *rest = upstream.asked[1]["messages"]
    assert system["content"].startswith("Be short.")
    assert system["content"].endswith("```path=notes/a.txt\nalpha\n```")
    assert [(message["role"], message["content"]) for message in rest] == [
        ("user", "Write done.txt."),
        ("assistant", DONE.text),
        ("user", "Write b.txt."),
    ]
    assert not {"tools", "stream"} & set(upstream.asked[1])
    assert workspace.read_text("b.txt") == "b\n"
    assert (trace.summary.total_turns, facts.exchanges.main, facts.fault) == (2, 2, None)


async def test_nobody_else_on_the_machine_can_ask_the_sessions_model(tmp_path: Path) -> None:
    class Keyless(ChatProvider):
        async def create_session(self, params: CreateSessionParams) -> SessionHandle:
            assert params.endpoint
            other = replace(params.endpoint, api_key="sk-other")
            return await super().create_session(replace(params, endpoint=other))

    row = await one_row(tmp_path, DONE, make=Keyless)

    assert (row.success, row.exchanges.main) == (None, 0)
    assert row.error_code == "upstream"
    assert "401" in str(row.error)


class Failing(ChatProvider):
    """Does its work, and has a bug at the end of one of its methods."""

    def __init__(self, method: str) -> None:
        super().__init__()
        works = getattr(self, method)

        async def fail(*arguments: Any) -> None:
            await works(*arguments)
            raise ValueError("a bug")

        def fail_at_once(handle: SessionHandle) -> None:
            raise ValueError("a bug")

        setattr(self, method, fail_at_once if method == "facts" else fail)


@pytest.mark.parametrize(
    ("method", "code", "score"),
    [
        ("init", "launch", None),
        ("create_session", "launch", None),
        ("prompt", "crash", 1.0),
        ("stop_session", "sandbox", None),
        ("export_session", "capture", None),
        ("facts", "capture", None),
        ("destroy_session", None, 1.0),
        ("shutdown", None, 1.0),
    ],
)
async def test_bug_of_a_provider_is_a_row_that_names_it(
    tmp_path: Path, method: str, code: str | None, score: float | None
) -> None:
    said: list[str] = []

    row = await one_row(tmp_path, DONE, make=lambda: ForeignProvider(Failing(method), say=said.append))

    told = f"the provider chat failed in {method}: "
    assert (row.error_code, row.score) == (code, score)
    assert told in (row.error or "".join(said))


TEXT = """\
As you said:
```python
print("no file")
```
```python src/a.py
print(1)
```
~~~path="with space.md"
````
```inner
````
~~~
````b.md
```
x
```
````
```path=Makefile
all:
```
```unclosed.txt
"""


def test_blocks_that_name_a_file_are_read() -> None:
    assert [(block.path, block.text) for block in read_blocks(TEXT)] == [
        ("src/a.py", "print(1)\n"),
        ("with space.md", "````\n```inner\n````\n"),
        ("b.md", "```\nx\n```\n"),
        ("Makefile", "all:\n"),
    ]


def test_block_is_looked_for_once_however_often_a_model_opens_one() -> None:
    assert not list(read_blocks("```python\n" * 200_000))


def test_block_of_a_file_is_read_back_as_it_was() -> None:
    block = FileBlock(path="a.md", text="```\nx\n````\n")

    assert list(read_blocks(f"Here:\n{block}\n")) == [block]


@pytest.mark.parametrize(
    "path", ["../out.txt", "/etc/passwd", "folder", "link/x", "pipe", "a\0b", "x" * 300, "plain.txt/below.txt", ".."]
)
async def test_no_path_of_a_model_leads_out_of_the_workspace_or_ends_it(tmp_path: Path, path: str) -> None:
    class Prepared(ChatProvider):
        async def create_session(self, params: CreateSessionParams) -> SessionHandle:
            root = params.workspace.path
            (root / "folder").mkdir()
            (root / "link").symlink_to(tmp_path)
            (root / "plain.txt").write_text("x")
            os.mkfifo(root / "pipe")
            return await super().create_session(params)

    row = await one_row(tmp_path, replace(DONE, text=f'{DONE.text}\n```path="{path}"\nno\n```\n'), make=Prepared)

    assert row.success
    assert row.extensions["chat"] == {"files_written": 1, "files_refused": 1}
    assert not (tmp_path / "out.txt").exists()
    assert not (tmp_path / "x").exists()


def test_files_that_are_no_text_or_too_long_are_named_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    (tmp_path / "b.bin").write_bytes(b"\xff\x00")
    (tmp_path / "c.txt").write_text("c" * 100_000)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("x")
    (tmp_path / "out").symlink_to("/etc/hostname")

    shown = show_files(Workspace(path=tmp_path, pristine={}))

    assert shown == "```path=a.txt\nalpha\n```\n\nNot shown: b.bin, c.txt, out"


def test_chat_is_run_by_its_name(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    shell.write("answers.json", json.dumps([{"text": DONE.text}]))

    ended = shell.run("run", "--provider", "chat", "./tiny", "--upstream", "script:answers.json", "--json")

    row = json.loads(ended.stdout)["rows"][0]
    assert (row["agent"], row["provider"], row["upstream"], row["success"]) == (
        "chat",
        "chat",
        "script:answers.json",
        True,
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "--provider chat: it offers its model no tools, and the oracle plays through tools; name a model"),
        ({"upstream": "oracle"}, "--provider chat: it offers its model no tools"),
        ({"upstream": "null", "own_backend": True}, "--own-backend: the provider chat has none"),
    ],
)
def test_what_a_model_alone_cannot_do_is_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    scenario = str(open_shell(tmp_path).folder / "tiny")
    request = RunRequest(agents=(), provider="chat", scenarios=(scenario,), **options)

    with pytest.raises(InputError, match=said):
        look_up(request, {"HOME": str(tmp_path)})


async def test_provider_without_an_endpoint_says_so(tmp_path: Path) -> None:
    with OwnRun(tmp_path) as run:
        (row,) = await run.runner().run(make_plan([run.cell(provider=ChatProvider())], 1))

    assert row.error_code == "setup"
