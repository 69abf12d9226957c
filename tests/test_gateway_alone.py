"""The gateway alone: any client talks through it, everything is recorded, and it says what it came to."""

import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from command_line import PROGRAM, Shell, open_shell
from dialect_samples import SAMPLES, Ask
from wire import ask, chat_body, listener, port_of, post

from benchflow.clock import Clock
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.records.exchanges import read_exchanges
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.null import Null
from benchflow.redact import Redactor
from benchflow.runner.alone import CLIENT_VARIABLES

KEY = "bf-0123456789abcdef"
CHAT = "/v1/chat/completions"
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


class Alone:
    """A running `benchflow gateway`, read as JSON lines."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.listening = self.event("listening")

    @property
    def port(self) -> int:
        return int(self.listening["base_urls"]["openai-completions"].removesuffix("/v1").rpartition(":")[2])

    @property
    def folder(self) -> str:
        return self.listening["folder"]

    def event(self, name: str) -> dict[str, Any]:
        """Return the next event of that name."""
        assert self.process.stdout
        for line in self.process.stdout:
            value = json.loads(line)
            if value.pop("event") == name:
                return value
        raise AssertionError(self.process.stderr and self.process.stderr.read())

    def ask(
        self, body: Any, path: str = CHAT, method: str = "POST", headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Send a request as a client does; return status and body."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, content, {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        return response.status, answer

    def end(self, sign: signal.Signals = signal.SIGINT) -> tuple[dict[str, Any], str]:
        """Interrupt it, and return its summary and what it wrote to stderr."""
        self.process.send_signal(sign)
        summary = self.event("summary")
        assert self.process.wait(timeout=30) == 0
        assert self.process.stderr
        return summary, self.process.stderr.read()


@contextmanager
def alone(shell: Shell, *words: str, environ: Mapping[str, str] | None = None) -> Iterator[Alone]:
    process = subprocess.Popen(
        [*PROGRAM, "gateway", "--json", *words],
        cwd=shell.folder,
        env={**shell.environ, **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Alone(process)
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def provider() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Answer every chat with its own model's name; yield the base URL and what came."""
    seen: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.path.endswith(CHAT) or not body:
                self.send_error(400 if self.path.endswith(CHAT) else 404)
                return
            seen.append({"path": self.path, "model": body["model"], "key": self.headers["Authorization"]})
            choice = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
            data = json.dumps({"model": body["model"], "choices": [choice], "usage": USAGE}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", seen
    finally:
        server.shutdown()
        server.server_close()


def chat(model: str = "some-model", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "hello"}], **more}


def test_client_s_model_passes_and_its_key_is_replaced_and_forgotten(shell: Shell) -> None:
    real, sent = "sk-real-key-of-the-user", "sk-another-real-key-of-the-client"
    with (
        provider() as (url, seen),
        alone(shell, "--upstream", url, environ={"BENCHFLOW_UPSTREAM_KEY": real}) as gateway,
    ):
        status, _ = gateway.ask(chat("tiny"), headers={"Authorization": f"Bearer {sent}"})
        exchange = gateway.event("exchange")
        summary, stderr = gateway.end()

    assert (status, stderr) == (200, "")
    assert seen == [{"path": CHAT, "model": "tiny", "key": f"Bearer {real}"}]
    assert list(gateway.listening["base_urls"]) == ["openai-completions"]
    assert exchange["model"] == {"asked": "tiny", "sent": "tiny", "answered": "tiny"}
    assert (exchange["tokens"]["input"], exchange["tokens"]["output"]) == (11, 7)
    assert (summary["requests"], summary["failed"], summary["tokens"]["total"]) == (1, 0, 18)
    assert (summary["cost_usd"], summary["unpriced"]) == (None, 1)
    log = (shell.folder / gateway.folder / "llm.jsonl").read_text()
    assert real not in log
    assert sent not in log
    assert json.loads(log)["role_reason"] == "there is no trial to have a role in"


def test_model_is_put_into_every_request_where_one_is_named(shell: Shell) -> None:
    with provider() as (url, seen), alone(shell, "--upstream", url, "--model", "mine") as gateway:
        gateway.ask(chat("theirs"))
        exchange = gateway.event("exchange")
        gateway.end()

    assert [request["model"] for request in seen] == ["mine"]
    assert exchange["model"] == {"asked": "theirs", "sent": "mine", "answered": "mine"}


def test_strict_gateway_refuses_another_model(shell: Shell) -> None:
    with provider() as (url, seen), alone(shell, "--upstream", url, "--model", "mine", "--strict-model") as gateway:
        assert gateway.ask(chat("theirs"))[0] == 400
        assert gateway.ask(chat("mine"))[0] == 200
        gateway.end()

    assert [request["model"] for request in seen] == ["mine"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_every_dialect_is_answered_where_its_clients_look(shell: Shell, sample: Any) -> None:
    shell.write("answers.json", '["Hello from the script."]')
    with alone(shell, "--upstream", "script:answers.json") as gateway:
        path, query = sample.path(Ask()), sample.query(Ask())
        status, answer = gateway.ask(sample.body(Ask()), f"{path}?{query}" if query else path)
        exchange = gateway.event("exchange")
        summary, _ = gateway.end()

    assert path.startswith(gateway.listening["base_urls"][sample.name].partition(f":{gateway.port}")[2])
    assert (status, exchange["status"], exchange["kind"]) == (200, 200, "generate")
    assert b"Hello from" in answer
    assert (summary["requests"], summary["bought"], summary["cost_usd"]) == (1, False, None)


def test_every_dialect_has_a_variable_for_its_clients() -> None:
    assert CLIENT_VARIABLES.keys() == DIALECTS.keys()


def test_own_prices_make_the_cost_known(shell: Shell) -> None:
    price = "input_usd_per_mtok = 1000000\noutput_usd_per_mtok = 0"
    shell.write("prices.toml", f'[[prices]]\nmodel = "tiny"\n{price}\n')
    with provider() as (url, _), alone(shell, "--upstream", url, "--prices", "prices.toml") as gateway:
        gateway.ask(chat("tiny"))
        exchange = gateway.event("exchange")
        summary, _ = gateway.end(signal.SIGTERM)

    assert exchange["cost"]["total_usd"] == 11
    assert exchange["cost"]["source"].startswith("prices.toml, sha256 ")
    assert (summary["cost_usd"], summary["unpriced"]) == (11, 0)


def test_key_is_demanded_of_every_client_and_in_no_record(shell: Shell) -> None:
    with alone(shell, "--upstream", "null", "--host", "0.0.0.0", "--key", KEY) as gateway:
        refused = [
            gateway.ask(chat()),
            gateway.ask(chat(), headers={"Authorization": "Bearer wrong"}),
            gateway.ask(b"", "/v1/models", "GET"),
        ]
        let_in = [
            gateway.ask(chat(), headers={"Authorization": f"Bearer {KEY}"}),
            gateway.ask(chat(), headers={"x-api-key": KEY}),
            gateway.ask(chat(), f"{CHAT}?key={KEY}"),
        ]
        summary, stderr = gateway.end()

    assert [status for status, _ in refused] == [401, 401, 401]
    assert b"does not carry the gateway's key" in refused[0][1]
    assert [status for status, _ in let_in] == [200, 200, 200]
    assert (summary["requests"], summary["refused"]) == (3, 3)
    assert stderr.count("\n") == 1
    assert KEY not in (shell.folder / gateway.folder / "llm.jsonl").read_text()


def test_web_page_from_elsewhere_is_refused_without_a_key(shell: Shell) -> None:
    with alone(shell, "--upstream", "null") as gateway:
        elsewhere, _ = gateway.ask(chat(), headers={"Origin": "https://example.com"})
        here, _ = gateway.ask(chat(), headers={"Origin": "http://localhost:3000"})
        gateway.end()

    assert (elsewhere, here) == (403, 200)


def test_faults_are_played_on_any_client(shell: Shell) -> None:
    with alone(shell, "--upstream", "null", "--faults", "5xx=1") as gateway:
        status, _ = gateway.ask(chat())
        summary, _ = gateway.end()

    assert status >= 500
    assert (summary["requests"], summary["failed"]) == (1, 1)


def test_failure_of_the_upstream_is_made_good_before_the_client_sees_it(shell: Shell) -> None:
    shell.write("answers.json", '[{"status": 503, "headers": {"Retry-After": "0"}}, "Here I am."]')
    with alone(shell, "--upstream", "script:answers.json", "--retry-upstream", "1") as gateway:
        status, answer = gateway.ask(chat())
        gateway.end()

    assert (status, b"Here I am." in answer) == (200, True)


def test_what_is_no_model_api_is_answered_and_recorded(shell: Shell) -> None:
    with alone(shell, "--upstream", "null") as gateway:
        assert gateway.ask({}, "/v1/embeddings")[0] == 404
        assert gateway.event("exchange")["kind"] == "other"
        assert gateway.ask(b"", "/v1/models", "GET")[0] == 200
        summary, _ = gateway.end()

    assert (summary["requests"], summary["failed"]) == (2, 1)


def test_plain_lines_say_how_to_reach_it_and_what_went_through_and_show_shows_it_again(shell: Shell) -> None:
    process = shell.start("gateway", "--upstream", "null", "--model", "mine")
    assert process.stdout
    head = [process.stdout.readline()]
    while "status" not in head[-1]:
        head.append(process.stdout.readline())
    urls = dict(line.removeprefix("export ").strip().split("=", 1) for line in head if line.startswith("export "))
    port = int(urls["ANTHROPIC_BASE_URL"].rpartition(":")[2])
    for path in (CHAT, "/nowhere"):
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", path, json.dumps(chat("theirs")), {"Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()
    process.send_signal(signal.SIGINT)
    rest, stderr = process.communicate(timeout=30)

    assert (process.returncode, stderr) == (0, "")
    assert urls == {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
    }
    first, second, _, sums, record = rest.splitlines()
    assert first.split()[:2] == ["1", "200"]
    assert first.endswith("  theirs → mine")
    assert second.split()[:2] == ["2", "404"]
    assert second.endswith("  /nowhere")
    assert sums.startswith("2 requests (1 failed) · tokens ")
    assert sums.endswith(" · cost -")
    folder = record.removeprefix("record: ").split()[0]
    shown = shell.run("show", folder)
    assert shown.stdout.splitlines() == [head[-1].rstrip("\n"), first, second, "", sums]
    as_json = json.loads(shell.run("show", folder, "--json").stdout)
    assert [exchange["path"] for exchange in as_json] == [CHAT, "/nowhere"]


def test_log_of_a_trial_is_shown_with_roles(shell: Shell) -> None:
    shell.row("mini", "--sandbox", "process", "--upstream", "oracle")
    (log,) = (shell.folder / "runs").rglob("llm.jsonl")

    shown = shell.run("show", str(log)).stdout.splitlines()

    assert shown[0].split()[:3] == ["#", "role", "status"]
    assert len(shown) == len(list(read_exchanges(log))) + 3
    assert shown[1].split()[:3] == ["1", "main", "200"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "gateway: say where requests go: --model openai/gpt-4.1"),
        (("--upstream", "oracle"), "a gateway alone has no scenario; use script:FILE"),
        (("--upstream", "null", "--strict-model"), "no model was named to be strict about; add --model"),
        (("--upstream", "null", "--host", "0.0.0.0"), "whoever reaches it would spend your key; add a key"),
        (("--upstream", "null", "--key", "short"), "--key: is too short"),
        (("--upstream", "null", "--host", "192.0.2.1", "--key", KEY), "192.0.2.1:0: cannot be listened on"),
        (("--upstream", "openai"), "openai: no key; set OPENAI_API_KEY"),
        (("--upstream", "http://127.0.0.1:9/v1"), "cannot connect to 127.0.0.1:9: Connection refused"),
        (("--upstream", "null", "--out", "/dev/null/x"), "/dev/null/x: cannot write runs there"),
    ],
)
def test_what_the_user_can_fix_is_an_error_with_its_remedy(
    shell: Shell, words: tuple[str, ...], complaint: str
) -> None:
    ended = shell.run("gateway", *words)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert complaint in ended.stderr


async def test_nothing_is_kept_in_memory_of_exchanges_that_nobody_will_ask_for(tmp_path: Path) -> None:
    sock, ended = listener(), []
    async with Gateway(Null(), clock=Clock(), redactor=Redactor([])) as gateway:
        context = TrialContext(trial="alone", attempt=1, model="", alone=True)
        port = port_of(sock)
        tap = await gateway.attach(sock, context, tmp_path, on_exchange=ended.append)
        try:
            await ask(port, post(chat_body(model="any")))
        finally:
            await tap.close()

    assert (tap.exchanges, [exchange.model_sent for exchange in ended]) == ([], ["any"])


def test_port_that_is_taken_is_said(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = shell.run("gateway", "--upstream", "null", "--port", str(port))

    assert ended.returncode == 2
    assert (
        f"127.0.0.1:{port}: cannot be listened on (Address already in use); name another --host or --port"
        in ended.stderr
    )
