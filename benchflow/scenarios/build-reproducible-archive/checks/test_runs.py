import shutil
import tempfile
import unittest
from pathlib import Path

from benchflow_subject import run

TEXT = """It was on the Monday that the tide, the high tide, took the boat; the boat was old.
Old boat, high tide: nobody was to blame. A tide is a tide.
"""


class Runs(unittest.TestCase):
    def setUp(self):
        shutil.rmtree("dist", ignore_errors=True)
        self.assertEqual(run("build.py").returncode, 0)
        self.folder = Path(tempfile.mkdtemp())
        self.archive = shutil.move("dist/topwords.pyz", self.folder / "moved.pyz")

    def test_top_words(self):
        text = self.folder / "text.txt"
        text.write_text(TEXT)
        done = run("python3", str(self.archive), str(text))
        self.assertEqual(done.stdout, "tide 5\nboat 3\nhigh 2\nold 2\nblame 1\n", done.stderr)

    def test_version_is_that_of_the_file(self):
        done = run("python3", str(self.archive), "--version")
        self.assertEqual(done.stdout, "2.3.1\n", done.stderr)

    def test_version_follows_the_file(self):
        Path("VERSION").write_text("9.8.7\n")
        self.assertEqual(run("build.py").returncode, 0)
        done = run("python3", "dist/topwords.pyz", "--version")
        Path("VERSION").write_text("2.3.1\n")
        self.assertEqual(done.stdout, "9.8.7\n", done.stderr)
