import unittest

from benchflow_subject import evaluate


class StillWorks(unittest.TestCase):
    def test_single_parts(self):
        code = "from durations import parse_duration\nresult = [parse_duration(text) for text in given]"
        self.assertEqual(evaluate(code, given=["45s", "2d", "3h", "07m"]), [45, 172800, 10800, 420])

    def test_formatting(self):
        code = "from durations import format_duration\nresult = [format_duration(n) for n in given]"
        self.assertEqual(evaluate(code, given=[0, 5415, 86400, 90061]), ["0s", "1h30m15s", "1d", "1d1h1m1s"])
