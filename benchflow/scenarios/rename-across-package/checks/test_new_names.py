import json
import tempfile
import unittest
from pathlib import Path

from benchflow_subject import evaluate, run

LIBRARY = """
import dataclasses, json
import shop
from shop.cart import Cart, CartLine, load_cart, save_cart
from shop.checkout import Order, check_out
from shop.discounts import BASKETBALL_WEEK, discount_for_cart
from shop.report import abandoned

cart = Cart("Ida")
cart.add("basketball", 4, 2_500)
cart.add("picnic basket", 1, 4_800)
save_cart(cart, given)
order = check_out(cart)
try:
    check_out(Cart("Ida"))
    empty = "accepted"
except ValueError as error:
    empty = str(error)
result = {
    "total": cart.total(),
    "loaded": load_cart(given) == cart,
    "discount": discount_for_cart(cart),
    "order": [order.cart is cart, order.cents],
    "fields": [field.name for field in dataclasses.fields(Order)],
    "line": isinstance(cart.lines[0], CartLine),
    "week": sorted(BASKETBALL_WEEK),
    "exports": sorted(shop.__all__),
    "report": abandoned([given]),
    "old file": load_cart("data/saved-2023.json").total(),
    "empty": empty,
}
"""


class NewNames(unittest.TestCase):
    def test_library(self):
        file = Path(tempfile.mkdtemp(), "saved.json")
        found = evaluate(LIBRARY, given=str(file))
        expected = {
            "total": 14_800,
            "loaded": True,
            "discount": 1_980,
            "order": [True, 12_820],
            "fields": ["cart", "cents"],
            "line": True,
            "week": ["basketball", "basketball hoop"],
            "exports": ["Cart", "load_cart", "save_cart"],
            "report": ["Ida: 2 lines, 148.00 left in the cart"],
            "old file": 12_300,
            "empty": "the cart is empty",
        }
        self.assertEqual(found, expected)
        saved = {"version": 1, "customer": "Ida", "basket": [["basketball", 4, 2500], ["picnic basket", 1, 4800]]}
        self.assertEqual(json.loads(file.read_text()), saved)

    def test_command_line(self):
        done = run("-m", "shop", "--cart", "data/saved-2023.json", path=["."])
        self.assertEqual(done.stdout, "Otto pays 105.70\n", done.stderr)
        self.assertNotEqual(run("-m", "shop", "--basket", "data/saved-2023.json", path=["."]).returncode, 0)
