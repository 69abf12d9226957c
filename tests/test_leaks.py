"""An agent that leaks its keys wherever it can: they are in no file of the run, and in nothing that is printed."""

import base64
import json
import textwrap
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell
from sandboxes import needs_bubblewrap

from benchflow.gateway.records.exchanges import read_exchanges
from benchflow.redact import Redactor

PROVIDER_KEY = "the/providers+key=0123456789-abcdef"
AGENT_KEY = 'the agent\'s "own" key \\ 9876543210'

MANIFEST = """
contract_version = "1.0"
name = "leaky"
install_cmd = "true"
launch_cmd = 'exec python3 "$BENCHFLOW_AGENT_DIR/leaky.py"'
api_protocol = "openai-completions"
requires_env = ["LEAKY_KEY"]
"""

LEAKY = r"""
import base64, json, os, sys, urllib.error, urllib.parse, urllib.request

key = os.environ["LEAKY_KEY"]


def put(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def update(name, **fields):
    put({"jsonrpc": "2.0", "method": "session/update",
         "params": {"sessionId": "s", "update": {"sessionUpdate": name, **fields}}})


def say(text, kind="agent_message_chunk"):
    update(kind, content={"type": "text", "text": text})


def ask(body, secret):
    base, token = os.environ["BENCHFLOW_PROVIDER_BASE_URL"], os.environ["BENCHFLOW_PROVIDER_API_KEY"]
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + token,
               "X-Leak": urllib.parse.quote(secret)}
    try:
        request = urllib.request.Request(base + "/chat/completions?leak=" + urllib.parse.quote(secret),
                                         json.dumps(body).encode(), headers)
        return urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def leak(prompt):
    print(dict(os.environ), file=sys.stderr)
    print(key.encode().hex(), base64.encodebytes(key.encode() * 3).decode(), file=sys.stderr)
    sys.stdout.write("noise: " + key + "\n")
    messages = [{"role": "user", "content": prompt}, {"role": "assistant", "content": key},
                {"role": "user", "content": prompt}]
    for text in (key, base64.b64encode(key.encode()).decode(), *[key[at:at + 5] for at in range(0, len(key), 5)]):
        say(text)
        say(text, "agent_thought_chunk")
    for stream in (False, True):
        answer = ask({"model": os.environ["BENCHFLOW_PROVIDER_MODEL"], "messages": messages[:1], "stream": stream,
                      "tools": [{"type": "function", "function": {"name": "echo", "description": key}}]}, key)
        say(answer)
        update("tool_call", toolCallId="c%d" % stream, title=answer, kind="execute", status="pending",
               rawInput={"command": "echo " + key})
        for at in range(0, len(answer), 7):
            update("tool_call_update", toolCallId="c%d" % stream, rawOutput=answer[at:at + 7])
    with open("leak.txt", "w") as file:
        file.write(key + "\n" + answer)
    with open("done.txt", "w") as file:
        file.write("done\n")


for line in sys.stdin:
    request = json.loads(line)
    method, id = request.get("method"), request.get("id")
    if method == "initialize":
        put({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": 1, "agentInfo": {"name": "x", "version": key}}})
    elif method == "session/new":
        put({"jsonrpc": "2.0", "id": id, "result": {"sessionId": "s"}})
    elif method == "session/prompt":
        leak(request["params"]["prompt"][0]["text"])
        put({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "failed with " + key}})
    elif id is not None:
        put({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no " + key}})
"""


@contextmanager
def echoing_provider() -> Iterator[str]:
    """Serve a provider that says the key that it was sent wherever it can: in headers, bodies and pieces of streams."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = self.headers["Authorization"].removeprefix("Bearer ")
            if body["stream"]:
                self._answer("text/event-stream", b"".join(_events(key)))
            else:
                text = f"{key} {base64.b64encode(key.encode()).decode()} {key.encode().hex()}"
                self._answer("application/json", json.dumps(_completion(body["model"], text)).encode())

        def _answer(self, kind: str, data: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("X-Key", self.headers["Authorization"])
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _completion(model: str, text: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "x", "object": "chat.completion", "model": model, "choices": [choice]}


def _events(key: str) -> Iterator[bytes]:
    for piece in textwrap.wrap(key, 6):
        yield b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"content": piece}}]}).encode()
    yield b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = open_shell(tmp_path)
    agent = shell.folder / "leaky"
    agent.mkdir()
    (agent / "manifest.toml").write_text(MANIFEST)
    (agent / "leaky.py").write_text(LEAKY)
    return shell


@pytest.mark.parametrize("sandbox", [pytest.param("bubblewrap", marks=needs_bubblewrap), "process"])
def test_planted_keys_are_in_no_file_and_in_no_output(shell: Shell, sandbox: str) -> None:
    keys = {"BENCHFLOW_UPSTREAM_KEY": PROVIDER_KEY, "LEAKY_KEY": AGENT_KEY}
    with echoing_provider() as url:
        words = ("run", "./leaky", "./tiny", "--sandbox", sandbox, "--model", "m", "--upstream", url)
        ended = shell.run(*words, "--keep", "always", "--json", environ=keys)
        shown = shell.run("show", "last", "--json")

    row = json.loads(ended.stdout)["rows"][0]
    assert (row["error_code"], row["success"]) == (
        "crash",
        True,
    )  # an internal error; it did its task, and all of the leaks
    assert row["exchanges"]["main"] == 2
    assert row["extensions"]["redactions"]["known"] > 20
    redactor = Redactor(keys.values())
    assert [text for text in (ended.stdout, ended.stderr, shown.stdout) if redactor.finds(text.encode())] == []
    files = [path for path in (shell.folder / "runs").rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"acp.ndjson", "llm.jsonl", "stderr.log", "workspace.diff", "leak.txt"}
    assert [path.name for path in files if redactor.finds(path.read_bytes())] == []
    for path in files:
        _assert_nothing_is_spread(path, keys.values())


def _assert_nothing_is_spread(path: Path, keys: Any) -> None:
    """Assert that the texts of a log do not give a key when they are joined, and that no stored body holds one."""
    redactor = Redactor(keys)
    if path.name == "acp.ndjson":
        streams: dict[str, str] = {}
        for line in path.read_text().splitlines():
            update = json.loads(line).get("frame", {}).get("params", {}).get("update", {})
            name = f"{update.get('sessionUpdate')} {update.get('toolCallId')}"
            text = update.get("rawOutput") or (update.get("content") or {}).get("text") or ""
            streams[name] = streams.get(name, "") + text
        assert len(streams) >= 4
        assert [name for name, text in streams.items() if redactor.finds(text.encode())] == []
    if path.name == "llm.jsonl":
        for exchange in read_exchanges(path):
            for body in (exchange.request_body, exchange.response_body):
                assert body is None or not redactor.finds(body)
        for line in path.read_text().splitlines():
            raw = (json.loads(line)["response"] or {}).get("raw") or {}
            assert not redactor.finds(zlib.decompress(base64.b64decode(raw["zlib"])) if "zlib" in raw else b"")
