"""The basket: what a customer has chosen so far."""

import json
from dataclasses import dataclass, field


@dataclass
class BasketLine:
    """One product in a basket."""

    product: str
    quantity: int
    cents: int


@dataclass
class Basket:
    """The lines of a basket, in the order in which they were added."""

    customer: str
    lines: list[BasketLine] = field(default_factory=list)

    def add(self, product, quantity, cents):
        """Add a product; of one that is in the basket already, the quantity grows."""
        for line in self.lines:
            if line.product == product:
                line.quantity += quantity
                return line
        line = BasketLine(product, quantity, cents)
        self.lines.append(line)
        return line

    def total(self):
        """Return what the basket costs, in cents."""
        return sum(line.quantity * line.cents for line in self.lines)


def save_basket(basket, path):
    """Write a basket to a file, in version 1 of the format."""
    lines = [[line.product, line.quantity, line.cents] for line in basket.lines]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "customer": basket.customer, "basket": lines}, file)


def load_basket(path):
    """Read a basket from a file that `save_basket` wrote."""
    with open(path, encoding="utf-8") as file:
        saved = json.load(file)
    basket = Basket(saved["customer"])
    for product, quantity, cents in saved["basket"]:
        basket.add(product, quantity, cents)
    return basket
