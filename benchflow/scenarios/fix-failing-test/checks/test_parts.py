import unittest

from benchflow_subject import evaluate


class Parts(unittest.TestCase):
    def test_all_parts_are_added_up(self):
        given = {"1h30m": 5400, "2d4h": 187200, "1h1m1s": 3661, "1d1h1m1s": 90061, "10m05s": 605, "1m2m": 180}
        code = "from durations import parse_duration\nresult = {text: parse_duration(text) for text in given}"
        self.assertEqual(evaluate(code, given=list(given)), given)

    def test_what_was_formatted_is_read_back(self):
        code = "import durations as d\nresult = [d.parse_duration(d.format_duration(n)) for n in given]"
        given = [0, 1, 59, 60, 61, 3599, 3600, 86399, 86400, 1_000_000]
        self.assertEqual(evaluate(code, given=given), given)
