import unittest

from benchflow_subject import evaluate

CODE = "from slugs import slugify\nresult = [slugify(*one) if isinstance(one, list) else slugify(one) for one in given]"


class Slugs(unittest.TestCase):
    def test_letters_are_spelled_out(self):
        given = ["Große Straße 7", "Ærø", "Þingvellir", "Łódź", "Œuvre", "Dış kapı", "Ħamrun", "Đakovo Ŋ Ŧ"]
        expected = [
            "grosse-strasse-7", "aeroe", "thingvellir", "lodz", "oeuvre", "dis-kapi", "hamrun", "dakovo-ng-t",
        ]
        self.assertEqual(evaluate(CODE, given=given), expected)

    def test_what_came_since(self):
        given = ["The End of a Story", "Crème brûlée, for two!", ["Große Straße in Gießen", 14], ["Straße", 3], ["Straße", 7]]
        expected = ["end-story", "creme-brulee-two", "grosse-strasse", "", "strasse"]
        self.assertEqual(evaluate(CODE, given=given), expected)
