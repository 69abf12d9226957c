"""A report in every format: that they agree to the digit, and that nothing an agent wrote becomes markup."""

import csv
import io
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pyarrow.parquet
import pytest
from many_rows import draw_rows
from stored import make_row, make_unscored, write_run

from benchflow.contracts import ScorerCheckResult
from benchflow.errors import InputError
from benchflow.report.baseline import is_baseline, read_baseline, write_baseline
from benchflow.report.document import Document
from benchflow.report.junit import write_junit
from benchflow.report.layout import Grid, Text, grid
from benchflow.report.markdown import render_markdown
from benchflow.report.outputs import Outputs, append_step_summary, write_outputs
from benchflow.report.parquet import write_parquet
from benchflow.report.profile import Profile
from benchflow.report.profile.making import compare_measured, make_comparison, make_profile
from benchflow.report.profile.measured import measure
from benchflow.report.rowfile import RowFile
from benchflow.report.rows_json import write_json
from benchflow.report.tables_csv import write_csv
from benchflow.row import ProfileRow, read_rows
from benchflow.store import table_order

ROWS = draw_rows(scenarios=6, repetitions=4, modes=("baseline", "mcp"), unscored=0.1, seed=3)


def report(rows: Iterable[ProfileRow]) -> Document:
    rows = table_order(rows)
    return Document(figures=make_profile(rows), rows={"run": rows}, measured=[measure(row) for row in rows])


def comparison() -> Document:
    base, head = ([row for row in table_order(ROWS) if row.mode == mode] for mode in ("baseline", "mcp"))
    return Document(figures=make_comparison(base, head), rows={"base": base, "head": head})


def written(write: Any, document: Document) -> bytes:
    stream = io.BytesIO()
    write(document, stream)
    return stream.getvalue()


def as_table(document: Document) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(write_csv, document).decode())))


def as_tree(document: Document) -> ElementTree.Element:
    return ElementTree.fromstring(written(write_junit, document))


def test_json_has_the_whole_model_and_every_row() -> None:
    document = report(ROWS)

    found = orjson.loads(written(write_json, document))

    assert found["profile"] == orjson.loads(orjson.dumps(document.figures))
    assert found["rows"] == [orjson.loads(row.to_json()) for row in table_order(ROWS)]


def test_json_of_a_comparison_has_the_rows_of_both_sides() -> None:
    document = comparison()

    found = orjson.loads(written(write_json, document))

    assert found["comparison"] == orjson.loads(orjson.dumps(document.figures))
    assert {side: len(rows) for side, rows in found["rows"].items()} == {"base": 24, "head": 24}


def test_figures_made_of_the_csv_the_parquet_and_the_junit_are_those_of_the_model() -> None:
    document = report(ROWS)
    profile = make_profile(ROWS)
    table, frame = as_table(document), frame_of(document)

    for cell in profile.cells:
        mine = [row for row in table if row["mode"] == cell.name.mode]
        scored = [row for row in mine if row["score"]]
        assert (len(mine), len(scored)) == (cell.trials, cell.scored)
        assert sum(row["success"] == "true" for row in scored) == cell.passed
        assert sum(float(row["cost.total_usd"]) for row in mine if row["cost.total_usd"]) == pytest.approx(
            cell.totals.cost_usd, rel=1e-12
        )
        (suite,) = [one for one in as_tree(document) if one.get("name", "").endswith(cell.name.mode)]
        counted = [int(suite.get(name, "")) for name in ("tests", "failures", "errors")]
        assert counted == [cell.trials, cell.scored - cell.passed, cell.unscored]
        tags = Counter(child.tag for case in suite for child in case)
        assert (tags["failure"], tags["error"]) == (cell.scored - cell.passed, cell.unscored)
    for line, row in zip(table, frame, strict=True):
        for name in ("trial", "model", "error"):
            assert line[name] == (row[name] or "")
        for name in ("score", "tokens.total", "timing.wall_ms", "cost.total_usd"):
            assert (float(line[name]) if line[name] else None) == row[name]


def frame_of(document: Document) -> list[dict[str, Any]]:
    return pyarrow.parquet.read_table(io.BytesIO(written(write_parquet, document))).to_pylist()


def test_markdown_has_a_row_for_each_cell_with_the_models_figures() -> None:
    document = report(ROWS)
    profile = make_profile(ROWS)

    text = render_markdown(document.parts())

    for cell in profile.cells:
        assert f"| {cell.label} | {cell.passed}/{cell.scored} | {cell.unscored} | " in text
        assert f"{cell.unscored} unscored (" in text
    assert "## mcp against baseline" in text


def test_rows_of_a_comparison_say_their_side() -> None:
    table = as_table(comparison())

    assert Counter(row["side"] for row in table) == {"base": 24, "head": 24}
    assert [suite.get("name", "").partition(":")[0] for suite in as_tree(comparison())] == ["base", "head"]


def test_failed_trial_is_a_failure_with_the_reasons_of_its_checks() -> None:
    checks = (
        ScorerCheckResult(id="sums", description="", passed=False, actual="\x1b[31m4\x00", expected="<3 & ]]>"),
        ScorerCheckResult(id="kept", description="", passed=True),
    )

    (case,) = as_tree(report([make_row(success=False, score=0.5, check_details=checks, scenario_id="a\x01b")]))[0]
    (failure,) = case

    assert case.get("name") == "a\\x01b #1"
    assert failure.tag == "failure"
    assert "check sums failed: expected <3 & ]]>, got" in (failure.text or "")
    assert "kept" not in (failure.text or "")


def test_error_with_control_characters_is_still_xml() -> None:
    (case,) = as_tree(report([make_unscored(error="died: \x00\x1b[2J\ufffe </error>")]))[0]
    (error,) = case

    assert (error.tag, error.get("type")) == ("error", "upstream")
    assert "died: \\x00\\x1b[2J\\ufffe </error>" in (error.text or "")


def test_a_formula_that_an_agent_wrote_is_text_in_a_spreadsheet() -> None:
    (row,) = as_table(report([make_row(agent_version="=HYPERLINK(0)")]))

    assert row["agent_version"] == "'=HYPERLINK(0)"


def test_nothing_that_an_agent_wrote_is_markdown() -> None:
    parts = [Text(text="<img src=x> *a* | `b` [c](d)"), grid("a|b", [("x|y", "1\n2")])]

    text = render_markdown(parts)

    assert text.startswith(r"&lt;img src=x&gt; \*a\* \| \`b\` \[c\](d)")
    assert text.endswith("| a | b |\n|---|---:|\n| x\\|y | 1<br>2 |\n")
    assert isinstance(parts[1], Grid)


def test_numbers_of_plugins_are_columns_of_their_own() -> None:
    document = report([make_row(extensions={"metrics": {"mine.files": {"value": 3, "unit": "files"}}})])

    assert as_table(document)[0]["metrics.mine.files"] == "3.0"
    assert frame_of(document)[0]["metrics.mine.files"] == 3.0


def test_baseline_compares_as_its_run_does_and_is_the_same_for_rows_in_any_order(tmp_path: Path) -> None:
    path, again = tmp_path / "base.json", tmp_path / "again.json"
    write_outputs(report(ROWS), Outputs(baseline=path))
    write_outputs(report(ROWS[::-1]), Outputs(baseline=again))
    head = [measure(row) for row in draw_rows(scenarios=6, repetitions=3, modes=("baseline", "mcp"), drop=0.3, seed=4)]

    assert is_baseline(path)
    assert path.read_bytes() == again.read_bytes()
    assert len(path.read_bytes()) < 16_000
    read = compare_measured(read_baseline(path), head)
    assert read.cells == compare_measured([measure(row) for row in ROWS], head).cells


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"version":1', b'"version":2'), (b'"scored":', b'"scored":1'), (b'"agent":', b'"agnet":'), (b"]}", b"")],
)
def test_baseline_that_was_tampered_with_is_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "base.json"
    write_outputs(report(ROWS), Outputs(baseline=path))
    path.write_bytes(path.read_bytes().replace(old, new, 1))

    with pytest.raises(InputError, match=r"base\.json: .*make it anew"):
        read_baseline(path)


def test_rows_are_read_as_tables_show_them_and_the_last_of_a_trial_counts(tmp_path: Path) -> None:
    first, last = make_row(trial="a", iteration=1, score=0.5, success=False), make_row(trial="a", iteration=1)
    path = write_run(tmp_path, first, make_row(trial="b", iteration=0), last) / "rows.jsonl"
    path.write_bytes(path.read_bytes() + b'{"run_id": "cut')

    rows = RowFile(path)

    assert list(rows) == table_order(row for row in read_rows(path) if row != first)
    assert [trial.trial for trial in rows.trials] == ["b", "a"]
    assert [measure(row) for row in rows] == rows.trials


def test_line_that_is_no_row_is_an_error_with_its_number(tmp_path: Path) -> None:
    path = write_run(tmp_path, make_row()) / "rows.jsonl"
    path.write_bytes(b'{"run_id": 1}\n' + path.read_bytes())

    with pytest.raises(
        InputError, match=r"rows\.jsonl: line 1 is no profile row \(run_id: Input should be a valid string\); restore"
    ):
        _ = RowFile(path).trials


def test_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in ("none", "file"):
        with pytest.raises(InputError, match=rf"{folder}/a\.csv: cannot be written"):
            write_outputs(report(ROWS), Outputs(csv=tmp_path / folder / "a.csv"))


def test_step_summary_is_appended_where_the_job_has_one(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n")

    append_step_summary([Text(text="what came of it")], {"GITHUB_STEP_SUMMARY": str(path)})
    append_step_summary([Text(text="nothing")], {})

    assert path.read_text() == "before\nwhat came of it\n\n"


def test_step_summary_that_cannot_be_written_is_said_and_costs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    append_step_summary([Text(text="what came of it")], {"GITHUB_STEP_SUMMARY": str(tmp_path)})

    assert "cannot be written (Is a directory)" in capsys.readouterr().err


def test_baseline_is_written_of_a_profile_without_any_scored_trial(tmp_path: Path) -> None:
    document = report([make_unscored(upstream="openai")])

    path = tmp_path / "base.json"
    path.write_bytes(written(lambda one, stream: write_baseline(one.measured, stream), document))

    (trial,) = read_baseline(path)
    assert (trial.success, trial.score) == (None, None)
    assert isinstance(document.figures, Profile)
