"""A whole run and one more trial of the trivial agent, and `--help`, each against what the machine allows.

    python tests/bench/bench_run.py [--quick]

Prints medians, and the ratio of each to a limit that was measured in the same run, turn about with it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from command_line import open_shell

ROUNDS = 4 if "--quick" in sys.argv else 12
TRIALS = 40
BARE = """
import typer
app = typer.Typer(help="A bare program.")
@app.command()
def one(name: str = typer.Argument(help="What."), much: int = typer.Option(1, help="How much.")) -> None:
    "Do one thing."
@app.command()
def two(name: str = typer.Argument(help="What."), much: int = typer.Option(1, help="How much.")) -> None:
    "Do another."
app()
"""
DIRECT = """
import os, subprocess, sys, json, http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "done"}}]}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
env = {"BENCHFLOW_PROVIDER_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1", "BENCHFLOW_PROVIDER_MODEL": "m", "PATH": os.environ["PATH"]}
agent = subprocess.Popen([sys.executable, "-I", "-m", "benchflow.agents.fake"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
def ask(number, method, params):
    agent.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\\n"); agent.stdin.flush()
    while True:
        frame = json.loads(agent.stdout.readline())
        if frame.get("id") == number:
            return frame["result"]
ask(1, "initialize", {"protocolVersion": 1})
session = ask(2, "session/new", {"cwd": os.getcwd(), "mcpServers": []})["sessionId"]
ask(3, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
agent.stdin.close(); agent.wait()
"""


MEASURED = """
import atexit, json, resource, runpy, sys
def report():
    used = {"self": resource.getrusage(resource.RUSAGE_SELF), "children": resource.getrusage(resource.RUSAGE_CHILDREN)}
    print(json.dumps({who: (each.ru_utime + each.ru_stime) * 1000 for who, each in used.items()}), file=sys.stderr)
atexit.register(report)
words = [word for word in sys.argv[1:] if word != "-S"]
sys.argv = words[1:] if words[0] == "-m" else ["-c"]
runpy.run_module(words[1], run_name="__main__") if words[0] == "-m" else exec(words[1], {"__name__": "__main__"})
"""


def wall_ms(argv: list[str], **options: object) -> float:
    """Run a command, and return how long it took."""
    begun = time.perf_counter()
    subprocess.run(argv, check=True, capture_output=True, **options)  # type: ignore[call-overload]
    return (time.perf_counter() - begun) * 1000


def compare(what: str, ours: list[float], limit: list[float], goal: str) -> None:
    """Print medians and the median of the ratios of each pair."""
    ratio = statistics.median(a / b for a, b in zip(ours, limit, strict=True))
    print(
        f"{what}: {statistics.median(ours):.1f} ms, limit {statistics.median(limit):.1f} ms, ratio {ratio:.2f} ({goal})"
    )


def bench_help() -> None:
    ours, limit = [], []
    for _ in range(ROUNDS):
        limit.append(wall_ms([sys.executable, "-c", BARE, "--help"]))
        ours.append(wall_ms([sys.executable, "-m", "benchflow", "--help"]))
    compare("benchflow --help against a bare typer program", ours, limit, "goal 1.15")


def bench_whole_run(folder: Path) -> None:
    shell = open_shell(folder)
    words = [sys.executable, "-m", "benchflow", "run", "fake", "./tiny", "--json", "--sandbox"]
    options = {"cwd": shell.folder, "env": shell.environ}
    for sandbox in ("process", "bubblewrap"):
        wall_ms([*words, sandbox], **options)  # the install is made once
        ours, limit = [], []
        for _ in range(ROUNDS):
            limit.append(wall_ms([sys.executable, "-S", "-c", DIRECT]))
            ours.append(wall_ms([*words, sandbox], **options))
        compare(
            f"one whole run of the trivial agent, {sandbox}, against driving it by hand", ours, limit, "goal 400 ms"
        )


def bench_one_more_trial(folder: Path) -> None:
    """CPU of one more trial: the difference between many and one. The agent's own is measured by driving it by hand."""
    shell = open_shell(folder)
    by_hand = statistics.median(cpu_ms(["-S", "-c", DIRECT], {})["children"] for _ in range(ROUNDS))
    print(f"the trivial agent alone: {by_hand:.1f} ms CPU")
    for sandbox in ("process", "bubblewrap"):
        own, helper = [], []
        for _ in range(max(3, ROUNDS // 3)):
            words = ["-m", "benchflow", "run", "fake", "./tiny", "--sandbox", sandbox, "--json"]
            few, many = (
                cpu_ms([*words, "-n", str(count)], {"cwd": shell.folder, "env": shell.environ})
                for count in (1, 1 + TRIALS)
            )
            own.append((many["self"] - few["self"]) / TRIALS)
            helper.append((many["children"] - few["children"]) / TRIALS - by_hand)
        print(
            f"one more trial, {sandbox}: {statistics.median(own):.2f} ms CPU of BenchFlow, "
            f"{statistics.median(helper):.2f} ms of its helper and the sandbox (goal 3 together, process)"
        )


def cpu_ms(words: list[str], options: dict[str, Any]) -> dict[str, float]:
    """Run Python with these words; return the CPU that it used itself, and that of all it started."""
    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, *words], check=True, capture_output=True, text=True, **options
    )
    return json.loads(ended.stderr.splitlines()[-1])


if __name__ == "__main__":
    os.environ["NO_COLOR"] = "1"
    bench_help()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        bench_whole_run(Path(one))
        bench_one_more_trial(Path(two))
