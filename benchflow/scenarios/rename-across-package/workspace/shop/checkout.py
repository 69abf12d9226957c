"""From a basket to an order."""

from dataclasses import dataclass

from shop.basket import Basket
from shop.discounts import discount_for_basket


@dataclass(frozen=True)
class Order:
    """A basket that was ordered, with what is to be paid."""

    basket: Basket
    cents: int


def check_out(basket):
    """Return the order of a basket. Raise ValueError if it is empty."""
    if not basket.lines:
        raise ValueError("the basket is empty")
    return Order(basket=basket, cents=basket.total() - discount_for_basket(basket))
