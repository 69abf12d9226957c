import unittest
from pathlib import Path

from benchflow_subject import run


class OwnTests(unittest.TestCase):
    def test_they_pass(self):
        self.assertTrue(Path("tests/test_cart.py").is_file())
        self.assertFalse(Path("tests/test_basket.py").exists())
        done = run("-m", "unittest", path=["."])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ran 5 tests", done.stderr)
