import tempfile
import unittest
from pathlib import Path

from shop import Basket, load_basket, save_basket


class BasketTest(unittest.TestCase):
    def test_total(self):
        basket = Basket("Ida")
        basket.add("basketball", 2, 2_500)
        basket.add("basketball", 1, 2_500)
        self.assertEqual(basket.total(), 7_500)
        self.assertEqual(len(basket.lines), 1)

    def test_saved_and_loaded(self):
        basket = Basket("Ida")
        basket.add("net", 1, 900)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "basket.json"
            save_basket(basket, path)
            self.assertEqual(load_basket(path), basket)

    def test_a_file_of_last_year(self):
        basket = load_basket(Path(__file__).parent.parent / "data" / "saved-2023.json")
        self.assertEqual(basket.total(), 12_300)


if __name__ == "__main__":
    unittest.main()
