"""What is kept of a workspace holds no known secret."""

import os
from pathlib import Path

import pytest

from benchflow.redact import Redactor
from benchflow.redaction.folders import BLOCK, clean_folder

SECRET = "correct-horse-battery-9"


def test_known_secret_is_replaced_and_the_file_is_the_same_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.sh"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\nKEY={SECRET}\n# sk-proj-{'a1B2' * 8}\n")
    path.chmod(0o750)
    os.utime(path, (1_000, 2_000))
    redactor = Redactor([SECRET])

    clean_folder(tmp_path, redactor)

    assert path.read_text() == f"#!/bin/sh\nKEY=[redacted:known]\n# sk-proj-{'a1B2' * 8}\n"
    assert (path.stat().st_mode & 0o777, path.stat().st_mtime) == (0o750, 2_000)
    assert list(path.parent.iterdir()) == [path]
    assert redactor.counts == {"known": 1}


def test_file_without_one_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(range(256)))
    before = path.stat().st_ino

    clean_folder(tmp_path, Redactor([SECRET]))

    assert path.stat().st_ino == before


@pytest.mark.parametrize("at", [0, BLOCK - 10, BLOCK, BLOCK + 10])
def test_secret_at_the_edge_of_a_block_is_found(tmp_path: Path, at: int) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(b"x" * at + SECRET.encode() + b"y" * (BLOCK + 100 - at))

    clean_folder(tmp_path, Redactor([SECRET]))

    assert path.read_bytes() == b"x" * at + b"[redacted:known]" + b"y" * (BLOCK + 100 - at)


def test_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(SECRET)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "link").symlink_to(outside)
    (kept / "gone").symlink_to(tmp_path / "nowhere")

    clean_folder(kept, Redactor([SECRET]))

    assert outside.read_text() == SECRET
