"""Our client against the agent's side of the official ACP SDK."""

import asyncio
import os
import sys
from pathlib import Path

import anyio
from acp_rig import Lines

from benchflow.clock import Clock
from benchflow.sandbox.pipes import PipeReader, PipeWriter
from benchflow.session.files import WorkspaceFiles
from benchflow.session.model import ModelChoice
from benchflow.session.session import AcpClient
from benchflow.session.turn import PromptOutcome

AGENT = """
import asyncio
import acp
from acp import helpers as h
from acp import schema as s

class Agent:
    def on_connect(self, conn):
        self.client = conn
        self.stop = asyncio.Event()
    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **more):
        assert client_info.name == "benchflow"
        return s.InitializeResponse(protocol_version=protocol_version, agent_capabilities=s.AgentCapabilities(),
                                    agent_info=s.Implementation(name="sdk", title="SDK", version="9"))
    async def new_session(self, cwd, mcp_servers=None, **more):
        self.cwd = cwd
        await self.client.session_update(session_id="s1", update=h.update_agent_message_text("early "))
        return s.NewSessionResponse(session_id="s1", config_options=[s.SessionConfigOptionSelect(
            id="m", name="Model", category="model", type="select", current_value="a",
            options=[s.SessionConfigSelectOption(value=v, name=v.upper()) for v in "ab"])])
    async def set_config_option(self, config_id, session_id, value, **more):
        assert (config_id, value) == ("m", "b")
        return s.SetSessionConfigOptionResponse(config_options=[])
    async def prompt(self, session_id, prompt, **more):
        if prompt[0].text == "hang":
            await self.stop.wait()
            return s.PromptResponse(stop_reason="cancelled")
        tell = lambda update: self.client.session_update(session_id=session_id, update=update)
        await tell(h.update_agent_thought_text("hm"))
        await tell(h.start_tool_call("t1", "Read it", kind="read", status="pending", raw_input={"path": "a.txt"}))
        answer = await self.client.request_permission(session_id=session_id,
            tool_call=s.ToolCallUpdate(tool_call_id="t1", title="Read it", kind="read"),
            options=[s.PermissionOption(option_id="y", name="Yes", kind="allow_once"),
                     s.PermissionOption(option_id="n", name="No", kind="reject_once")])
        assert answer.outcome.option_id == "y"
        file = await self.client.read_text_file(session_id=session_id, path=self.cwd + "/a.txt")
        await self.client.write_text_file(session_id=session_id, path=self.cwd + "/b.txt", content=file.content)
        await tell(h.update_tool_call("t1", status="completed", raw_output={"text": file.content}))
        await tell(h.update_agent_message_text("done"))
        return s.PromptResponse(stop_reason="end_turn", usage=s.Usage(total_tokens=3, input_tokens=2, output_tokens=1))
    async def cancel(self, session_id, **more):
        self.stop.set()

asyncio.run(acp.run_agent(Agent(), use_unstable_protocol=True))
"""


async def test_a_session_with_an_agent_of_the_official_sdk(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("content")
    (stdin_read, stdin_write), (stdout_read, stdout_write) = os.pipe(), os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", AGENT, stdin=stdin_read, stdout=stdout_write, stderr=None
    )
    os.close(stdin_read)
    os.close(stdout_write)
    reader, writer = PipeReader(stdout_read), PipeWriter(stdin_write)
    events: list[tuple[str, dict[str, object]]] = []
    async with AcpClient(
        writer,
        reader,
        log=Lines(),
        clock=Clock(),
        exited=process.wait,
        files=WorkspaceFiles(tmp_path, str(tmp_path)),
        on_event=lambda type_, data, _: events.append((type_, data)),
    ) as client:
        with anyio.fail_after(60):
            info = await client.initialize()
            await client.new_session(str(tmp_path))
            choice = await client.set_model("b")
            outcome = await client.prompt(["go"])
            cancelled = await client.prompt(["hang"], timeout_s=0.1, cancel_grace_s=20)
            writer.close()
            await process.wait()
    reader.close()

    assert (info.name, info.title, info.version) == ("sdk", "SDK", "9")
    assert choice == ModelChoice(how="config_option", value="b", listed=True)
    usage = {"totalTokens": 3, "inputTokens": 2, "outputTokens": 1}
    assert outcome == PromptOutcome(stop_reason="end_turn", usage=usage)
    assert cancelled == PromptOutcome(stop_reason="cancelled", cancelled=True, timed_out=True)
    assert (tmp_path / "b.txt").read_text() == "content"
    told = [(type_, data.get("text", data.get("id"))) for type_, data in events if not type_.startswith("prompt")]
    assert [(type_, what) for type_, what in told if type_ != "notice"] == [
        ("agent_message", "early "),
        ("agent_thought", "hm"),
        ("tool_call", "t1"),
        ("permission", None),
        ("tool_call_update", "t1"),
        ("agent_message", "done"),
    ]
