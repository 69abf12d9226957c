import unittest

from durations import format_duration, parse_duration


class ParseDuration(unittest.TestCase):
    def test_one_part(self):
        self.assertEqual(parse_duration("45s"), 45)
        self.assertEqual(parse_duration("2d"), 172_800)

    def test_several_parts(self):
        self.assertEqual(parse_duration("1h30m"), 5_400)

    def test_text_after_a_duration_is_refused(self):
        with self.assertRaises(ValueError):
            parse_duration("5m later")


class FormatDuration(unittest.TestCase):
    def test_largest_unit_first(self):
        self.assertEqual(format_duration(5_415), "1h30m15s")

    def test_nothing(self):
        self.assertEqual(format_duration(0), "0s")


if __name__ == "__main__":
    unittest.main()
