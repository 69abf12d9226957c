"""What the shop's owner reads in the morning."""

from shop.basket import load_basket


def abandoned(paths):
    """Return a line for each basket file: customer, number of lines, and total."""
    report = []
    for path in paths:
        basket = load_basket(path)
        report.append(f"{basket.customer}: {len(basket.lines)} lines, {basket.total() / 100:.2f} left in the basket")
    return report
