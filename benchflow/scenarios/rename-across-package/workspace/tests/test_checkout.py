import unittest

from shop import Basket
from shop.checkout import check_out


class CheckOutTest(unittest.TestCase):
    def test_discounts(self):
        basket = Basket("Ida")
        basket.add("basketball", 4, 2_500)
        order = check_out(basket)
        self.assertIs(order.basket, basket)
        self.assertEqual(order.cents, 10_000 - 1_000 - 500)

    def test_empty_basket(self):
        with self.assertRaises(ValueError):
            check_out(Basket("Ida"))


if __name__ == "__main__":
    unittest.main()
