"""`benchflow report` and `benchflow compare` on the command line."""

import json
from dataclasses import replace
from pathlib import Path

from command_line import Shell, open_shell
from many_rows import draw_rows
from stored import RUN_ID, write_run

from benchflow.row import ProfileRow

BASE, HEAD = "20261121-101010-mini-aaaa", "20261121-101010-mini-bbbb"


def shell_with(tmp_path: Path, **runs: list[ProfileRow]) -> Shell:
    """A folder with stored runs, by their names."""
    shell = open_shell(tmp_path)
    for name, rows in runs.items():
        run_id = {"base": BASE, "head": HEAD}.get(name, RUN_ID)
        write_run(tmp_path / "runs", *(replace(row, run_id=run_id) for row in rows), run_id=run_id)
    return shell


def test_report_prints_cells_scenarios_and_the_comparison_within_eighty_columns(tmp_path: Path) -> None:
    rows = draw_rows(scenarios=6, modes=("baseline", "mcp"), unscored=0.1, seed=1)

    ended = shell_with(tmp_path, base=rows).run("report")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert max(map(len, ended.stdout.splitlines())) <= 80
    for text in (f"Profile of {BASE}", "3 unscored", "mcp against baseline", "pass@k", "not distinguishable", "s005"):
        assert text in ended.stdout


def test_every_format_is_written_at_once_and_stdout_takes_one(tmp_path: Path) -> None:
    shell = shell_with(tmp_path, base=draw_rows(scenarios=2))
    files = ("html", "markdown", "csv", "parquet", "junit", "baseline")

    ended = shell.run("report", BASE, "--json", "-", *(word for name in files for word in (f"--{name}", f"f.{name}")))

    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert (found["profile"]["runs"], len(found["rows"])) == ([BASE], 6)
    assert all((tmp_path / f"f.{name}").stat().st_size > 500 for name in files)
    assert not list(tmp_path.glob("*.draft"))


def test_two_formats_cannot_share_stdout(tmp_path: Path) -> None:
    ended = shell_with(tmp_path, base=draw_rows(scenarios=1)).run("report", "--json", "-", "--csv", "-")

    assert ended.returncode == 2
    assert "--csv and --json: only one format can go to stdout" in ended.stderr


def test_report_and_compare_add_to_the_summary_of_a_job(tmp_path: Path) -> None:
    shell = shell_with(tmp_path, base=draw_rows(scenarios=2), head=draw_rows(scenarios=2, seed=1))
    summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}

    shell.run("report", BASE, environ=summary)
    shell.run("compare", BASE, HEAD, environ=summary)

    titles = [line for line in (tmp_path / "summary.md").read_text().splitlines() if line.startswith("## ")]
    assert titles[0] == f"## Profile of {BASE}"
    assert f"## {HEAD} (head) against {BASE} (base)" in titles


def test_base_is_a_run_or_its_rows_or_a_baseline_to_the_same_figures(tmp_path: Path) -> None:
    head = draw_rows(scenarios=6, drop=0.3, seed=1, modes=("baseline", "mcp"))
    shell = shell_with(tmp_path, base=draw_rows(scenarios=6, modes=("baseline", "mcp")), head=head)
    shell.run("report", BASE, "--baseline", "base.json")

    run, rows, baseline = (
        json.loads(shell.run("compare", base, HEAD, "--json", "-").stdout)
        for base in (BASE, f"runs/{BASE}/rows.jsonl", "base.json")
    )

    assert run["comparison"]["cells"] == rows["comparison"]["cells"] == baseline["comparison"]["cells"]
    assert [list(one["rows"]) for one in (run, rows, baseline)] == [["base", "head"], ["base", "head"], ["head"]]


def test_comparison_of_an_oracle_with_a_model_is_refused_and_says_how(tmp_path: Path) -> None:
    shell = shell_with(tmp_path, base=draw_rows(scenarios=2, upstream="oracle"), head=draw_rows(scenarios=2))

    refused = shell.run("compare", BASE, HEAD)
    meant = shell.run("compare", BASE, HEAD, "--across-upstreams")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "base was answered by oracle (not a model), head by gpt-x (openai)" in refused.stderr
    assert "--across-upstreams" in refused.stderr
    assert meant.returncode == 0


def test_what_cannot_be_reported_is_an_error_that_says_why(tmp_path: Path) -> None:
    shell = shell_with(tmp_path, base=draw_rows(scenarios=1))
    shell.write("base.json", '{"format":"benchflow baseline","version":1,"runs":[],"cells":[]}')
    shell.write("empty.jsonl", "")
    said = {
        ("report", "nothing"): "nothing: no such run",
        ("report", "base.json"): "is a baseline, which has no rows to report",
        ("compare", "base.json", "empty.jsonl"): "empty.jsonl: has no rows",
        ("report", "--margin", "0.1"): "--margin: says how --fail-on-regression judges",
    }

    for words, text in said.items():
        ended = shell.run(*words)
        assert ended.returncode == 2
        assert text in ended.stderr
