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
BY_HAND = str(Path(__file__).with_name("by_hand.py"))
MEASURED = """
import atexit, json, resource, runpy, sys
def report():
    used = {"self": resource.getrusage(resource.RUSAGE_SELF), "children": resource.getrusage(resource.RUSAGE_CHILDREN)}
    print(json.dumps({who: (each.ru_utime + each.ru_stime) * 1000 for who, each in used.items()}), file=sys.stderr)
atexit.register(report)
if sys.argv[1] == "-m":
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__")
else:
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
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
            limit.append(wall_ms([sys.executable, "-S", BY_HAND]))
            ours.append(wall_ms([*words, sandbox], **options))
        compare(
            f"one whole run of the trivial agent, {sandbox}, against driving it by hand", ours, limit, "goal 400 ms"
        )


def bench_one_more_trial(folder: Path) -> None:
    """CPU of one more trial: the difference between many and one, of the driver itself and of all that it started."""
    shell = open_shell(folder)
    for sandbox in ("process", "bubblewrap"):
        words = ["-m", "benchflow", "run", "fake", "./tiny", "--sandbox", sandbox, "--json", "-n"]
        rounds = [
            (
                one_more([*words], {"cwd": shell.folder, "env": shell.environ}),
                one_more([BY_HAND], {}),
            )
            for _ in range(max(3, ROUNDS // 3))
        ]
        own = statistics.median(ours["self"] for ours, _ in rounds)
        limit = statistics.median(hand["self"] for _, hand in rounds)
        around = statistics.median(ours["children"] - hand["children"] for ours, hand in rounds)
        ratio = statistics.median(ours["self"] / hand["self"] for ours, hand in rounds)
        print(
            f"one more trial, {sandbox}: {own:.2f} ms CPU of BenchFlow, limit {limit:.2f} ms, ratio {ratio:.2f}; "
            f"{around:.2f} ms more in what it starts (supervisor, sandbox, the agent's second turn)"
        )


def one_more(words: list[str], options: dict[str, Any]) -> dict[str, float]:
    """Return the CPU of one more of what the last word counts."""
    few, many = (cpu_ms([*words, str(count)], options) for count in (1, 1 + TRIALS))
    return {who: (many[who] - few[who]) / TRIALS for who in few}


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
