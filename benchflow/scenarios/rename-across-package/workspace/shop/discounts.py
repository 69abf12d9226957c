"""What is taken off the price of a basket."""

BASKETBALL_WEEK = {"basketball", "basketball hoop"}
"""Products that are cheaper in the week of the tournament."""


def discount_for_basket(basket):
    """Return the discount in cents: a tenth of baskets from 100.00 on, and 5.00 for each line of BASKETBALL_WEEK."""
    discount = basket.total() // 10 if basket.total() >= 10_000 else 0
    return discount + 500 * sum(line.product in BASKETBALL_WEEK for line in basket.lines)
