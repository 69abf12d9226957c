"""Logs are appended, redacted, and say what is wrong with the file system."""

import resource
from pathlib import Path

import pytest

from benchflow.errors import InputError
from benchflow.log import LogFile
from benchflow.redact import Redactor


def test_lines_are_appended_redacted_and_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"before\n")
    log = LogFile(path, Redactor(["my-secret-0001"]))

    log.write(b"one my-secret-0001\ntwo\n")

    assert path.read_bytes() == b"before\none [redacted:known]\ntwo\n"
    log.close()
    log.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_is_an_input_error_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.symlink_to("/dev/full")
    log = LogFile(path, Redactor([]))

    with pytest.raises(InputError) as error:
        log.write(b"line\n")
    log.close()

    assert str(error.value) == (
        f"{path}: cannot be written (No space left on device); "
        "free some space there (`benchflow gc`), or write to another disk with --out"
    )


def test_file_that_may_not_grow_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    log = LogFile(path, Redactor([]))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, hard))
    try:
        with pytest.raises(InputError, match=r"x\.jsonl: cannot be written \(File too large\)"):
            log.write(b"a long line\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        log.close()

    assert path.read_bytes() == b"a lo"


def test_missing_folder_and_folder_in_its_place_are_input_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "x.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot be written"):
            LogFile(path, Redactor([]))


@pytest.mark.skipif(not Path("/sys/kernel").exists(), reason="no /sys here")
def test_folder_that_may_not_be_written_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"cannot be written .* write to another folder with --out"):
        LogFile(Path("/sys/kernel/x.jsonl"), Redactor([]))  # closed even to root


def test_writing_after_the_end_is_a_bug_and_no_input_error(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.jsonl", Redactor([]))
    log.close()

    with pytest.raises(OSError, match="Bad file descriptor"):
        log.write(b"line\n")
