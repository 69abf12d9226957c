import unittest

from parcel.price import ZONES, price, quote, zones


class Price(unittest.TestCase):
    def test_light_and_heavy(self):
        self.assertEqual(price(800, "A"), 390)
        self.assertEqual(price(1_001, "B"), 700)
        self.assertEqual(price(10_000, "C"), 1290 + 9 * 110 + 700)

    def test_unknown_zone(self):
        with self.assertRaises(ValueError):
            price(800, "Z")

    def test_zones(self):
        self.assertEqual(zones(), ["A", "B", "C"])


class Deprecated(unittest.TestCase):
    def test_quote(self):
        with self.assertWarns(DeprecationWarning):
            self.assertEqual(quote("A", 800), 390)

    def test_zones_constant(self):
        self.assertEqual(ZONES, zones())
