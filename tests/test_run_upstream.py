"""What a failing provider does to a trial: unscored and tried again, or got past, or the agent's own doing."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell

WRITE = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "write_file", "arguments": '{"path": "done.txt", "content": "done"}'},
        }
    ],
}
SAY = {"role": "assistant", "content": "I am done."}
Answer = dict[str, Any] | int
"""A message of the assistant, or a status that refuses; 0: the connection is cut."""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


@contextmanager
def provider(*answers: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve the answers in order, the last one for ever; yield the base URL and the requests that came."""
    seen: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not body:
                self.send_error(400)  # whether there is a server at all is asked before anything starts
                return
            answer = answers[min(len(seen), len(answers) - 1)]
            seen.append({**body, "authorization": self.headers["Authorization"]})
            if answer == 0:
                self.connection.close()
                return
            status, content = 200, _completion(body["model"], answer) if isinstance(answer, dict) else {}
            if isinstance(answer, int):
                status, content = answer, {"error": {"message": f"refused with {answer}", "type": "test"}}
            data = json.dumps(content).encode()
            self.send_response(status)
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


def _completion(model: str, message: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "x", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


def run(shell: Shell, agent: str, *answers: Answer) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run one trial against the answers; return its row and the requests that the provider saw."""
    with provider(*answers) as (url, seen):
        return shell.row(agent, "--sandbox", "process", "--model", "tiny-model", "--upstream", url), seen


def test_real_provider_is_metered_and_its_model_enforced(shell: Shell) -> None:
    row, seen = run(shell, "fake", WRITE, SAY)

    assert (row["success"], row["model"], row["model_served"]) == (True, "tiny-model", "tiny-model")
    assert [request["model"] for request in seen] == ["tiny-model", "tiny-model"]
    assert (row["tokens"]["input"], row["tokens"]["output"], row["cost"]["total_usd"]) == (22, 14, None)


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 503, 0])
def test_last_exchange_failed_upstream_is_unscored_and_tried_again_whatever_the_agent_says(
    shell: Shell, status: int
) -> None:
    row, _ = run(shell, "fake:hides-upstream-error", WRITE, status)

    assert (row["error_code"], row["success"], row["score"]) == ("upstream", None, None)
    assert row["stop_reason"] == "end_turn"
    assert row["tries"] == 2


def test_upstream_that_recovers_for_the_second_try_is_scored(shell: Shell) -> None:
    row, _ = run(shell, "fake:hides-upstream-error", 503, WRITE, SAY)

    assert (row["success"], row["tries"], row["error_code"]) == (True, 2, None)


def test_request_refused_for_what_is_in_it_is_scored_on_what_is_there(shell: Shell) -> None:
    row, _ = run(shell, "fake:hides-upstream-error", WRITE, 413)

    assert (row["error_code"], row["success"], row["score"], row["tries"]) == ("rejected", True, 1.0, 1)


def test_refusal_of_the_very_first_request_is_a_setup_error(shell: Shell) -> None:
    row, _ = run(shell, "fake:hides-upstream-error", 400)

    assert (row["error_code"], row["success"]) == ("setup", None)


def test_provider_that_is_not_there_is_an_error_of_the_user_s_before_anything_starts(shell: Shell) -> None:
    ended = shell.run("run", "mini", "./tiny", "--model", "m", "--upstream", "http://127.0.0.1:9/v1")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "error: upstream http://127.0.0.1:9/v1: cannot connect to 127.0.0.1:9: Connection refused; start the server, "
        "or correct its URL\n"
    )
    assert not (shell.folder / "runs").exists()


def test_key_of_the_user_reaches_the_provider_and_no_file(shell: Shell) -> None:
    key = "sk-proj-not/a+real=key"
    with provider(WRITE, SAY) as (url, seen):
        words = ("run", "fake", "./tiny", "--sandbox", "process", "--model", "m", "--upstream", url, "--keep", "always")
        ended = shell.run(*words, environ={"BENCHFLOW_UPSTREAM_KEY": key})

    assert ended.returncode == 0, ended.stderr
    assert {request["authorization"] for request in seen} == {f"Bearer {key}"}
    files = [path for path in (shell.folder / "runs").rglob("*") if path.is_file()]
    assert files
    assert all(key not in path.read_text(errors="replace") for path in files)


def test_key_that_is_refused_twice_stops_the_run_and_says_so(shell: Shell) -> None:
    with provider(401) as (url, seen):
        words = ("--sandbox", "process", "--model", "m", "--upstream", url, "-n", "3", "--json")
        ended = shell.run("run", "fake:hides-upstream-error", "./tiny", *words)

    result = json.loads(ended.stdout)
    refused = f"{url[7:-3]} refused the key (401) in 2 requests, and took it in none between them; "
    assert (ended.returncode, len(seen)) == (2, 2)
    assert f"{refused}check BENCHFLOW_UPSTREAM_KEY; no further trial is started" in ended.stderr
    assert [(row["error_code"], row["score"], row["tries"]) for row in result["rows"]] == [
        ("upstream", None, 2),
        ("upstream", None, 1),
        ("upstream", None, 1),
    ]
    assert all(row["error"].startswith(f"not run: {refused}") for row in result["rows"][1:])
    assert result["summary"]["halted"].startswith(refused)


def test_key_that_is_accepted_in_between_is_none_that_is_refused(shell: Shell) -> None:
    with provider(401, WRITE, 401, WRITE, SAY) as (url, _):
        ended = shell.run(
            *("run", "fake:hides-upstream-error", "./tiny", "--sandbox", "process", "--model", "m"),
            *("--upstream", url, "--json"),
        )

    row = json.loads(ended.stdout)["rows"][0]
    assert (ended.returncode, row["success"], row["tries"]) == (3, None, 2)
