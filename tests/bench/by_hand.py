"""Drives trivial agents by hand, one after another, through a turn each, with nothing around it: the limit.

python tests/bench/by_hand.py [COUNT]
"""

import http.server
import json
import os
import subprocess
import sys
import threading
from typing import Any

MESSAGE = {"role": "assistant", "content": "done"}
ANSWER = json.dumps({"model": "m", "choices": [{"index": 0, "message": MESSAGE}]}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, format: str, *args: Any) -> None: ...


def drive(env: dict[str, str]) -> None:
    """Start an agent, take it through one turn, and wait for its end."""
    agent = subprocess.Popen(
        [sys.executable, "-I", "-m", "benchflow.agents.fake"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    )
    assert agent.stdin is not None
    assert agent.stdout is not None
    requests: tuple[tuple[str, dict[str, Any]], ...] = (
        ("initialize", {"protocolVersion": 1}),
        ("session/new", {"cwd": os.getcwd(), "mcpServers": []}),
        ("session/prompt", {"prompt": [{"type": "text", "text": "go"}]}),
    )
    session = ""
    for number, (method, params) in enumerate(requests):
        frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "sessionId": session}}
        agent.stdin.write(json.dumps(frame).encode() + b"\n")
        agent.stdin.flush()
        answer: dict[str, Any] = {}
        while answer.get("id") != number:
            answer = json.loads(agent.stdout.readline())
        session = answer["result"].get("sessionId", session)
    agent.stdin.close()
    agent.wait()
    agent.stdout.close()


def main() -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {
        "PATH": os.environ["PATH"],
        "BENCHFLOW_PROVIDER_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1",
        "BENCHFLOW_PROVIDER_MODEL": "m",
    }
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        drive(env)


if __name__ == "__main__":
    main()
