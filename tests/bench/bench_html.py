"""How long the HTML page of a run takes to write, to open in a headless Chromium, and to work in.

Run it by hand: `python tests/bench/bench_html.py [TRIALS ...]`. What opening takes is set against an empty page in the
same browser. A page of 1,000 trials is to open in less than 2 s.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from chromium import Chromium, find_chromium, open_chromium
from stored import make_row, make_unscored, try_folder, write_run
from trials import two_turns

from benchflow.report.html import write_html
from benchflow.report.profile.making import make_profile
from benchflow.store import StoredRun

ROUNDS = 5
LIMIT_S = 2.0
_PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def make_run(runs: Path, trials: int) -> Path:
    """Write a run of two modes and 25 scenarios, every fifth trial failed, every 40th unscored, all with logs."""
    rows = []
    for number in range(trials):
        make = make_unscored if number % 40 == 0 else make_row
        verdict = {"success": False, "score": 0.5} if number % 5 == 0 and make is make_row else {}
        mode, scenario, iteration = number % 2, number // 2 % 25, number // 50
        changes = {"mode": ("baseline", "mcp")[mode], "scenario_id": f"scenario-{scenario}", "iteration": iteration}
        rows.append(make(trial=f"scenario-{scenario}-mini-{mode}-{iteration}-{number:08x}", **changes, **verdict))
    folder = write_run(runs, *rows)
    for row in rows:
        two_turns(try_folder(folder, row.trial))
    return folder


def measure_open(chromium: Chromium, url: str) -> float:
    """Return the median time in which a page is loaded and drawn, in seconds."""
    times = []
    for _ in range(ROUNDS):
        page = chromium.open("about:blank")
        began = time.perf_counter()
        page.go(url)
        page.run(_PAINTED)
        times.append(time.perf_counter() - began)
        page.close()
    return statistics.median(times)


def measure_work(chromium: Chromium, path: Path) -> tuple[float, float]:
    """Return how long it takes to open a trial, and to filter the list, in seconds."""
    page = chromium.open(f"file://{path}")
    key = page.run("JSON.parse(document.getElementById('document').textContent).trials.at(-1).id")
    began = time.perf_counter()
    page.run(f"location.hash = '#trial={key}'")
    page.until("document.querySelector('.items .item')")
    opened = time.perf_counter() - began
    page.run("location.hash = '#'")
    page.until("document.querySelector('.chip.fail')")
    began = time.perf_counter()
    page.run("document.querySelector('.chip.fail').click()")
    page.run(_PAINTED)
    page.close()
    return opened, time.perf_counter() - began


def main(sizes: list[int]) -> None:
    """Print a line for each size."""
    if find_chromium() is None:
        sys.exit("no Chromium is installed (Debian: apt-get install chromium)")
    names = "".join(f"{name:>10}" for name in ("write", "size", "open", "empty", "trial", "filter"))
    print(f"{'trials':>7}{names}   load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name, open_chromium(Path(name)) as chromium:
        empty = Path(name) / "empty.html"
        empty.write_text("<!DOCTYPE html><title>empty</title>")
        for trials in sizes:
            run = StoredRun(make_run(Path(name) / str(trials), trials))
            figures = make_profile(run.rows)
            path = Path(name) / f"{trials}.html"
            began = time.perf_counter()
            write_html(path, figures, [run])
            written = time.perf_counter() - began
            opened = measure_open(chromium, f"file://{path}")
            blank = measure_open(chromium, f"file://{empty}")
            trial, filtered = measure_work(chromium, path)
            size = path.stat().st_size / 1e6
            verdict = "" if opened < LIMIT_S else f"   over {LIMIT_S} s"
            print(
                f"{trials:>7,} {written:>7.2f} s {size:>6.2f} MB {opened:>6.2f} s {blank:>6.2f} s {trial:>6.2f} s"
                f" {filtered:>6.2f} s{verdict}"
            )


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [10, 1_000, 10_000])
