"""An agent on its own backend: what it reaches, what it is given, what its rows say, and when it is refused."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell
from sandboxes import BOTH
from test_launch import manifest

from benchflow.contracts import TokenBreakdown
from benchflow.errors import InputError
from benchflow.hosting.acp_usage import AcpUsage, read_tokens
from benchflow.hosting.backend import read_backend

TOKEN = "vendor-token-0123456789abcdef"
LOGIN = '{"refresh": "r3fresh-0123456789-ABCDEF", "home": "/home/somebody/of/theirs"}'
USAGE = {"totalTokens": 42, "inputTokens": 30, "outputTokens": 12}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


@contextmanager
def vendor(answers: Mapping[str, str]) -> Iterator[int]:
    """Serve a vendor's backend: a text for each path; give its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = answers[self.path].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def put_agent(shell: Shell, port: int, *, steps: list[Any], top: str = "", backend: str = "") -> None:
    """Write an agent that asks its own backend, and then does what `steps` say."""
    prompt = [{"fetch": f"http://localhost:{port}/chat"}, *steps, {"answer": {"stopReason": "end_turn"}}]
    behaviour = {"description": "asks a backend of its own", "on": {"session/prompt": prompt}}
    shell.write("agent/own.json", json.dumps(behaviour))
    shell.write(
        "agent/manifest.toml",
        f"""\
contract_version = "1.2"
name = "vendored"
install_cmd = "true"
launch_cmd = 'env -0 >"$BENCHFLOW_WORKSPACE/environment"; exec "$BENCHFLOW_PYTHON" -I -m benchflow.agents.fake \
"$BENCHFLOW_AGENT_DIR/own.json"'
{top}
[backend]
hosts = ["localhost:{port}"]
{backend}
""",
    )


def run(shell: Shell, *words: str, **environ: str) -> tuple[dict[str, Any], Path]:
    """Run the agent on its own backend; return its row, and the folder of its try."""
    ended = shell.run("run", "./agent", "./tiny", "--own-backend", "--json", *words, environ=environ)
    assert ended.stdout, ended.stderr
    result = json.loads(ended.stdout)
    row = result["rows"][0]
    return row, shell.folder / result["run_dir"] / "trials" / row["trial"] / "try-1"


def frames(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["frame"] for line in (folder / "acp.ndjson").read_text().splitlines()]


@pytest.mark.parametrize("sandbox", BOTH)
def test_agent_with_a_backend_of_its_own_is_runnable_with_its_acp_log_alone(shell: Shell, sandbox: str) -> None:
    with vendor({"/chat": "I am the vendor."}) as port:
        write = {"write": {"path": "done.txt", "content": "done"}}
        put_agent(shell, port, steps=[write, {"fetch": "http://elsewhere.example/"}])
        row, folder = run(shell, "--sandbox", sandbox)

    assert (row["success"], row["score"], row["completion_reason"], row["error_code"]) == (True, 1.0, "stop", None)
    assert (row["tier"], row["upstream"], row["model"]) == ("runnable", "own-backend", "agent-default")
    assert (row["tokens"], row["cost"]["total_usd"]) == (None, None)
    assert row["exchanges"] == {"main": 0, "auxiliary": 0, "failed": 0}
    assert (row["extensions"]["model_enforced"], row["extensions"]["usage_source"]) == (False, None)
    assert row["extensions"]["network"] == {
        "mode": "hosts",
        "enforced": sandbox == "bubblewrap",
        "passed": {f"localhost:{port}": 1},
        "refused": {"elsewhere.example": 1},
    }
    assert [frame["method"] for frame in frames(folder) if "method" in frame] == [
        "initialize",
        "session/new",
        "session/prompt",
        "session/update",
        "session/update",
    ]
    said = (folder / "acp.ndjson").read_text()
    assert "200 I am the vendor." in said
    assert "403 elsewhere.example is none of the hosts" in said
    assert not (folder / "llm.jsonl").exists() or not (folder / "llm.jsonl").read_bytes()
    shown = " ".join(shell.run("show", "last", "1").stdout.split())
    assert "agent-default (own-backend, not enforced)" in shown
    assert f"hosts passed: localhost:{port}; refused: elsewhere.example" in shown
    assert "200 I am the vendor." in shown


@pytest.mark.parametrize("sandbox", BOTH)
def test_it_is_given_its_login_and_its_variables_and_neither_is_in_any_file(shell: Shell, sandbox: str) -> None:
    login = shell.write("user/.vendor/login.json", LOGIN)
    with vendor({"/chat": "ok"}) as port:
        backend = 'env = ["VENDOR_TOKEN"]\nfiles = [".vendor/login.json"]'
        put_agent(shell, port, steps=[], backend=backend)
        shell.write(
            "agent/manifest.toml",
            (shell.folder / "agent/manifest.toml")
            .read_text()
            .replace("env -0 >", 'ls -l "$HOME/.vendor" >&2; cat "$HOME/.vendor/login.json" >&2; env -0 >'),
        )
        _, folder = run(shell, "--sandbox", sandbox, "--keep", "always", VENDOR_TOKEN=TOKEN, OTHER_TOKEN="x-other")

    environment = (folder / "workspace" / "environment").read_text()
    stderr = (folder / "stderr.log").read_text()
    assert "VENDOR_TOKEN=[redacted:known]" in environment
    assert "OTHER_TOKEN" not in environment
    assert "BENCHFLOW_PROVIDER" not in environment
    assert "-r--------" in stderr
    assert '"refresh": "[redacted:known]", "home": "/home/somebody/of/theirs"' in stderr
    assert login.read_text() == LOGIN
    everything = b"".join(path.read_bytes() for path in (shell.folder / "runs").rglob("*") if path.is_file())
    assert TOKEN.encode() not in everything
    assert b"r3fresh" not in everything
    assert not list((shell.folder / "home" / "scratch").iterdir())


def test_usage_and_cost_are_taken_from_acp_with_their_source(shell: Shell) -> None:
    cost = {"sessionUpdate": "usage_update", "used": 900, "size": 1000, "cost": {"amount": 0.25, "currency": "USD"}}
    with vendor({"/chat": "ok"}) as port:
        put_agent(shell, port, steps=[{"update": cost}, {"answer": {"stopReason": "end_turn", "usage": USAGE}}])
        row, _ = run(shell, "--sandbox", "process")

    assert row["extensions"]["usage_source"] == "acp"
    assert (row["tokens"]["input"], row["tokens"]["output"], row["tokens"]["total"]) == (30, 12, 42)
    assert (row["cost"]["total_usd"], row["cost"]["source"]) == (0.25, "acp")


def test_a_backend_that_does_not_answer_is_the_agents_to_tell(shell: Shell) -> None:
    with vendor({}) as port:
        pass
    put_agent(shell, port, steps=[])
    row, folder = run(shell, "--sandbox", "process")

    assert (row["success"], row["completion_reason"], row["tier"]) == (False, "stop", "runnable")
    assert "502" in (folder / "acp.ndjson").read_text()


def test_an_agent_that_ends_no_prompt_has_not_shown_that_it_is_runnable(shell: Shell) -> None:
    put_agent(shell, 9, steps=[{"exit": 3}])
    row, _ = run(shell, "--sandbox", "process")

    assert (row["error_code"], row["tier"]) == ("crash", "unmeasured")


@pytest.mark.parametrize("sandbox", BOTH)
def test_an_agent_that_declares_both_runs_either_way(shell: Shell, sandbox: str) -> None:
    top = 'api_protocol = "openai-completions"\nenv = { CONFIGURED = "${BENCHFLOW_PROVIDER_BASE_URL}", KEPT = "1" }'
    with vendor({"/chat": "ok"}) as port:
        put_agent(shell, port, steps=[{"model": {}}], top=top)
        own, folder = run(shell, "--sandbox", sandbox, "--keep", "always", "--model", "vendor-large")
        routed = shell.row("./agent", "--sandbox", sandbox)

    environment = (folder / "workspace" / "environment").read_text().split("\0")
    assert "KEPT=1" in environment
    assert "BENCHFLOW_PROVIDER_MODEL=vendor-large" in environment
    assert not [line for line in environment if line.startswith(("CONFIGURED", "BENCHFLOW_PROVIDER_BASE", "OPENAI"))]
    assert (own["upstream"], own["model"], own["exchanges"]["main"]) == ("own-backend", "vendor-large", 0)
    assert (routed["upstream"], routed["success"], routed["exchanges"]["main"]) == ("oracle", True, 2)
    assert routed["extensions"]["network"]["mode"] == "gateway"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["./agent"], "--own-backend"),
        (["mini", "--own-backend"], "declares no [backend]"),
        (["./agent", "--own-backend", "--upstream", "oracle"], "leave out --upstream"),
        (["./agent", "--own-backend", "--strict-model", "--record", "x"], "leave out --strict-model, --record"),
        (["./agent", "--own-backend"], "VENDOR_TOKEN"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(shell: Shell, words: list[str], says: str) -> None:
    put_agent(shell, 9, steps=[], backend='env = ["VENDOR_TOKEN"]')

    ended = shell.run("run", words[0], "./tiny", *words[1:])

    assert ended.returncode == 2
    assert says in " ".join(ended.stderr.split())
    assert not (shell.folder / "runs").exists()


def test_a_login_that_is_not_there_is_named(shell: Shell) -> None:
    put_agent(shell, 9, steps=[], backend='files = [".vendor/login.json"]')

    ended = shell.run("run", "./agent", "./tiny", "--own-backend")

    assert ended.returncode == 2
    assert ".vendor/login.json" in ended.stderr
    assert "log in" in ended.stderr


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"hosts": ["https://x.example"]}, "is no host"),
        ({"hosts": ["*.com"]}, "nearly the whole internet"),
        ({"files": ["../other"]}, "no path relative to HOME"),
        ({"files": ["/etc/passwd"]}, "no path relative to HOME"),
        ({"host": ["x.example"]}, "did you mean `hosts`?"),
    ],
)
def test_a_backend_that_cannot_be_meant_is_an_error_of_the_manifest(table: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says.replace("?", r"\?").replace("`", "`")):
        manifest(backend=table)


def test_a_folder_of_a_login_is_copied_whole_and_anew(tmp_path: Path) -> None:
    (tmp_path / "user/.vendor/deep").mkdir(parents=True)
    (tmp_path / "user/.vendor/deep/key").write_text("k3y-0123456789-0123456789")
    made = manifest(backend={"files": [".vendor"]}, home_files={".vendor/deep/key": "from the manifest"})
    backend = read_backend(made, {"HOME": str(tmp_path / "user")})

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        backend.copy_files(tmp_path / name)

    copies = [tmp_path / name / ".vendor/deep/key" for name in ("one", "two")]
    assert [copy.read_text() for copy in copies] == ["k3y-0123456789-0123456789"] * 2
    assert [copy.stat().st_mode & 0o777 for copy in copies] == [0o400] * 2
    assert backend.secrets() == ["k3y-0123456789-0123456789"]


def registered(shell: Shell, *words: str) -> dict[str, Any]:
    """Measure the agent; return what `--json` says."""
    ended = shell.run("register", "./agent", "--probe-only", "--json", *words)
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("sandbox", BOTH)
def test_probe_finds_it_runnable_and_names_the_hosts_that_it_tried(shell: Shell, sandbox: str) -> None:
    with vendor({"/chat": "ok"}) as port:
        put_agent(shell, port, steps=[{"fetch": "http://telemetry.example/"}])
        found = registered(shell, "--own-backend", "--sandbox", sandbox)

    evidence = found["evidence"]
    verdicts = {step["name"]: step["verdict"] for step in evidence["steps"]}
    assert (found["tier"], evidence["network"]) == ("runnable", "hosts")
    assert [name for name, verdict in verdicts.items() if verdict == "skipped"] == [
        "cancel",
        "permission",
        "upstream_401",
    ]
    assert verdicts["model"] == verdicts["scenario"] == verdicts["second_prompt"] == "pass"
    assert evidence["hosts"]["looked_up"] == [f"localhost:{port}", "telemetry.example"]
    assert evidence["hosts"]["complete"] == (sandbox == "bubblewrap")
    assert ("numbers" if sandbox == "bubblewrap" else "shares the machine's network") in evidence["hosts"]["note"]


def test_probe_without_its_backend_says_which_option_helps(shell: Shell) -> None:
    put_agent(shell, 9, steps=[])
    found = registered(shell, "--sandbox", "process")

    [model] = [step for step in found["evidence"]["steps"] if step["name"] == "model"]
    assert (found["tier"], model["verdict"]) == ("catalog", "fail")
    assert "--own-backend" in model["remedy"]


def test_probe_with_the_network_open_says_so_and_sees_no_names(shell: Shell) -> None:
    with vendor({"/chat": "ok"}) as port:
        put_agent(shell, port, steps=[])
        found = registered(shell, "--own-backend", "--allow-network")

    evidence = found["evidence"]
    assert (found["tier"], evidence["network"]) == ("runnable", "open")
    assert evidence["hosts"] == {
        "looked_up": [],
        "complete": False,
        "note": "The network was open: nothing was watched.",
    }


COUNTS = {"inputTokens": 100, "outputTokens": 20, "thoughtTokens": 5, "cachedReadTokens": 60}


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (USAGE, TokenBreakdown.of(input=30, output=12)),
        ({**COUNTS, "totalTokens": 185}, TokenBreakdown.of(input=100, output=25, reasoning=5, cache_read=60)),
        ({**COUNTS, "totalTokens": 180}, TokenBreakdown.of(input=100, output=20, reasoning=5, cache_read=60)),
        ({**COUNTS, "totalTokens": 120}, TokenBreakdown.of(input=40, output=20, reasoning=5, cache_read=60)),
        ({**COUNTS, "totalTokens": 125}, TokenBreakdown.of(input=40, output=25, reasoning=5, cache_read=60)),
        ({"inputTokens": "many", "outputTokens": 1}, None),
        ({"inputTokens": -1, "outputTokens": 1}, None),
        (None, None),
        ([], None),
    ],
)
def test_tokens_are_read_as_their_total_says(usage: Any, tokens: TokenBreakdown | None) -> None:
    assert read_tokens(usage) == tokens


@pytest.mark.parametrize(
    ("said", "total"),
    [
        ([42], 42),
        ([42, 30], 72),
        ([42, 90], None),
        ([42, None], None),
        ([], None),
    ],
)
def test_tokens_of_several_prompts_are_known_only_where_they_are_clear(
    said: list[int | None], total: int | None
) -> None:
    usage = AcpUsage()
    for count in said:
        usage.prompt_ended(count and {"totalTokens": count, "inputTokens": count, "outputTokens": 0})

    assert (usage.tokens and usage.tokens.total) == total
    assert usage.source == ("acp" if total else None)


LATENT = {
    "NODE_OPTIONS": "--inspect",
    "NODE_EXTRA_CA_CERTS": "/tmp/ca.pem",
    "NODE_TLS_REJECT_UNAUTHORIZED": "0",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "NO_PROXY": "*",
    "SSL_CERT_FILE": "/tmp/ca.pem",
    "SSL_CERT_DIR": "/tmp",
    "REQUESTS_CA_BUNDLE": "/tmp/ca.pem",
    "CURL_CA_BUNDLE": "/tmp/ca.pem",
    "GIT_SSL_NO_VERIFY": "1",
    "LD_PRELOAD": "libm.so.6",
    "LD_LIBRARY_PATH": "/tmp",
    "PYTHONPATH": "/tmp/nowhere",
    "PYTHONSTARTUP": "/tmp/nowhere.py",
    "BASH_ENV": "/tmp/nowhere.sh",
    "OPENAI_API_KEY": "sk-of-the-user",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "XDG_CONFIG_HOME": "/tmp",
    "SOME_OTHER": "1",
}
GIVEN = {"HOME", "LANG", "PATH", "PWD", "PYTHONHASHSEED", "SHLVL", "TERM", "TMPDIR", "TZ", "USER", "_"}


@pytest.mark.parametrize("sandbox", BOTH)
def test_nothing_of_the_users_environment_reaches_an_agent_that_does_not_name_it(shell: Shell, sandbox: str) -> None:
    put_agent(shell, 9, steps=[{"model": {}}], top='api_protocol = "openai-completions"\nrequires_env = ["SOME_OTHER"]')
    ended = shell.run("run", "./agent", "./tiny", "--json", "--sandbox", sandbox, "--keep", "always", environ=LATENT)

    [file] = shell.folder.glob("runs/*/trials/*/try-1/workspace/environment")
    lines = [line for line in file.read_text().split("\0") if line]
    names = {line.partition("=")[0] for line in lines}
    assert json.loads(ended.stdout)["rows"][0]["success"] is True
    assert {name for name in names if not name.startswith("BENCHFLOW_")} == {*GIVEN, "SOME_OTHER"}
