import shutil
import unittest
import zipfile
from pathlib import Path

from benchflow_subject import run

WANTED = [
    "__main__.py",
    "topwords/VERSION",
    "topwords/__init__.py",
    "topwords/__main__.py",
    "topwords/count.py",
    "topwords/stopwords.txt",
]


class Builds(unittest.TestCase):
    def test_from_a_fresh_checkout_and_again(self):
        shutil.rmtree("dist", ignore_errors=True)
        for _ in range(2):
            done = run("build.py")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(Path("dist/topwords.pyz").is_file())
        with zipfile.ZipFile("dist/topwords.pyz") as archive:
            self.assertEqual(archive.namelist(), WANTED)

    def test_from_another_directory(self):
        shutil.rmtree("dist", ignore_errors=True)
        done = run("sh", "-c", "here=$PWD && cd / && python3 $here/build.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(Path("dist/topwords.pyz").is_file())
