from pathlib import Path

import orjson
import pytest
from command_line import Shell
from exporting import make_run, read_lines
from stored import RUN_ID, make_row, try_folder, write_run
from trials import TryLogs

from benchflow.errors import InputError
from benchflow.report.exports.export import FORMATS, Format, export_run
from benchflow.store import StoredRun


def test_export_prints_the_files_and_says_on_stderr_what_is_left_out(tmp_path: Path) -> None:
    make_run(tmp_path)

    ended = Shell(tmp_path).run("export", RUN_ID[:12], "--format", "atif", "--out", "shared")

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [f"shared/fix-mini-baseline-{number}-{number:08d}.json" for number in range(4)]
    assert "left out: fix-mini-baseline-5-00000005: it has no step" in ended.stderr


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_goes_into_an_empty_folder_only(format: str, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")

    with pytest.raises(InputError, match="is not empty; name another folder with --out"):
        export_run(run, format, tmp_path / "out")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_nested_too_deeply_to_be_written_stops_no_export(format: Format, tmp_path: Path) -> None:
    row = make_row()
    folder = write_run(tmp_path / "runs", row)
    logs = TryLogs(try_folder(folder, row.trial))
    logs.opened()
    logs.prompted(10)
    logs.exchange(20, text="Done.", asked={"metadata": orjson.loads("[" * 252 + "]" * 252)})
    logs.update(33, "tool_call", toolCallId="c", title="x", rawInput=orjson.loads("[" * 249 + "]" * 249))

    exported = export_run(StoredRun(folder), format, tmp_path / "out")

    assert exported.files


def test_a_run_without_a_row_has_nothing_to_export(tmp_path: Path) -> None:
    run = StoredRun(write_run(tmp_path / "runs", unfinished=("t",)))

    with pytest.raises(InputError, match="no trial of it has ended"):
        export_run(run, "atif", tmp_path / "out")


def test_a_trial_whose_logs_are_gone_is_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    gone = run.folder / "trials" / run.rows[0].trial
    for path in (gone / "try-1").iterdir():
        path.unlink()
    (gone / "try-1").rmdir()

    exported = export_run(run, "upstream", tmp_path / "out")

    assert any(entry.what == run.rows[0].trial and "its logs are gone" in entry.reason for entry in exported.left_out)
    assert len(read_lines(run.folder / "rows.jsonl")) == 5
    assert len(list((tmp_path / "out").glob("*/*/result.json"))) == 4
