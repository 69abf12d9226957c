import unittest

from benchflow_subject import evaluate

CODE = """
from durations import parse_duration

def refused(text):
    try:
        parse_duration(text)
    except ValueError:
        return True
    return False

result = {text: refused(text) for text in given}
"""


class Refusals(unittest.TestCase):
    def test_what_is_no_duration_is_refused(self):
        given = ["5m later", "1h 30m", " 5m", "5m ", "1h30", "1h30x", "10", "", "m", "1.5h", "-5m", "5m\n"]
        self.assertEqual(evaluate(CODE, given=given), {text: True for text in given})
