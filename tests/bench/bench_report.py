"""What a report of many rows costs: CPU beyond the imports, memory, and the ratio to parsing the same bytes as JSON.

    python tests/bench/bench_report.py [ROWS...]

Each size is reported in processes of its own, turn about with one that does nothing but parse every line of the same
file with orjson, which no reader can be faster than. Prints medians. `whole` is a whole process, less one that only
imports what a report needs.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from many_rows import draw_rows

ROUNDS = 5
SIZES = [int(word) for word in sys.argv[1:]] or [3_000, 100_000]
TAIL = """
import json, resource, sys
used = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))  # not that of the parent's fork
print(json.dumps({"s": used.ru_utime + used.ru_stime, "mb": peak / 1024}), file=sys.stderr)
"""
IMPORTS = """
import benchflow.cli, benchflow.report.reporting, benchflow.report.layout_console, benchflow.report.terminal, rich.table
import benchflow.report.outputs, benchflow.report.document, benchflow.report.profile.comparing, benchflow.stats.pass_k


"""
REPORT = """
import sys
from benchflow.cli import app
sys.argv = ["benchflow", "report", sys.argv[1]]
try:
    app()
except SystemExit:
    pass
"""
PARSE = """
import orjson, sys
with open(sys.argv[1] + "/rows.jsonl", "rb") as file:
    for line in file:
        orjson.loads(line)
"""


def spent(code: str, folder: Path) -> dict[str, float]:
    """Run a program, and return its seconds of CPU and its megabytes."""
    ended = subprocess.run([sys.executable, "-c", code + TAIL, str(folder)], capture_output=True, text=True, check=True)
    return json.loads(ended.stderr.splitlines()[-1])


def write_rows(folder: Path, rows: int) -> Path:
    """Store a run of so many rows: four modes of fifty scenarios, as far as they go."""
    scenarios = min(50, max(1, rows // 12))
    repetitions = max(1, rows // (4 * scenarios))
    modes = ("baseline", "a", "b", "c")
    drawn = draw_rows(scenarios=scenarios, repetitions=repetitions, modes=modes, drop=0.05, unscored=0.02)
    stored = folder / "run"
    stored.mkdir()
    (stored / "rows.jsonl").write_bytes(b"".join(row.to_json() + b"\n" for row in drawn))
    print(f"{len(drawn):,} rows, {scenarios} scenarios, {(stored / 'rows.jsonl').stat().st_size / 1e6:.0f} MB")
    return stored


def main() -> None:
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            stored = write_rows(Path(folder), size)
            rounds = [[spent(code, stored) for code in (REPORT, IMPORTS, PARSE, "")] for _ in range(ROUNDS)]
        own = statistics.median(report["s"] - imports["s"] for report, imports, _, _ in rounds)
        parse = statistics.median(parse["s"] - bare["s"] for _, _, parse, bare in rounds)
        ratio = statistics.median(
            (report["s"] - imports["s"]) / (parse["s"] - bare["s"]) for report, imports, parse, bare in rounds
        )
        memory = max(report["mb"] for report, *_ in rounds)
        print(f"  report beyond imports {own:.2f} s, parsing alone {parse:.2f} s: ratio {ratio:.1f}; {memory:.0f} MB")
        print(f"  whole process {statistics.median(report['s'] for report, *_ in rounds):.2f} s of CPU")


if __name__ == "__main__":
    main()
