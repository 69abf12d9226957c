import contextlib
import io
import unittest

from parcel.cli import main


def printed(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(arguments)
    return out.getvalue()


class CommandLine(unittest.TestCase):
    def test_price(self):
        self.assertEqual(printed("price", "800", "A"), "3.90\n")
        self.assertEqual(printed("price", "0.8", "A", "--metric"), "3.90\n")
        self.assertEqual(printed("price", "1", "A", "--pounds"), "3.90\n")

    def test_zones(self):
        self.assertEqual(printed("zones"), "A B C\n")
