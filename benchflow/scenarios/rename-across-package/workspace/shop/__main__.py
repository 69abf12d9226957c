"""The command line: prints what a saved basket costs."""

import argparse

from shop.basket import load_basket
from shop.checkout import check_out


def main():
    parser = argparse.ArgumentParser(prog="shop", description="Print what a saved basket costs.")
    parser.add_argument("--basket", required=True, metavar="FILE", help="a basket that was saved")
    options = parser.parse_args()
    order = check_out(load_basket(options.basket))
    print(f"{order.basket.customer} pays {order.cents / 100:.2f}")


if __name__ == "__main__":
    main()
