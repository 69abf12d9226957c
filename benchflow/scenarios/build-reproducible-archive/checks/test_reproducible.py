import os
import shutil
import unittest
import zipfile
from pathlib import Path

from benchflow_subject import run


def build():
    shutil.rmtree("dist", ignore_errors=True)
    done = run("build.py")
    if done.returncode:
        raise AssertionError(done.stderr)
    return Path("dist/topwords.pyz").read_bytes()


class Reproducible(unittest.TestCase):
    def test_times_modes_and_litter_do_not_matter(self):
        first = build()
        Path("src/topwords/__pycache__").mkdir(exist_ok=True)
        Path("src/topwords/__pycache__/count.pyc").write_bytes(b"junk")
        Path("src/topwords/notes.txt").write_text("junk")
        Path("src/topwords/count.py.orig").write_text("junk")
        for number, path in enumerate(sorted(Path("src/topwords").glob("*.py"))):
            os.utime(path, (1_000_000_000 + 100 * number, 1_000_000_000 + 100 * number))
            path.chmod(0o755 if number % 2 else 0o600)
        os.utime("data/stopwords.txt", (1_500_000_000, 1_500_000_000))
        self.assertEqual(build(), first)

    def test_entries(self):
        build()
        with zipfile.ZipFile("dist/topwords.pyz") as archive:
            entries = archive.infolist()
        self.assertEqual([entry.filename for entry in entries], sorted(entry.filename for entry in entries))
        self.assertEqual({entry.date_time for entry in entries}, {(1980, 1, 1, 0, 0, 0)})
        self.assertEqual({entry.external_attr >> 16 & 0o777 for entry in entries}, {0o644})
