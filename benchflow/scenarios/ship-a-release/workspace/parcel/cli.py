"""The command line."""

import argparse

from parcel import __version__
from parcel.price import price, zones

COMMANDS = {
    "price WEIGHT ZONE": "prints the price of a parcel, in euros",
    "zones": "lists the zones, nearest first",
}


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="parcel")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("price")
    command.add_argument("weight", type=float, help="in grams")
    command.add_argument("zone")
    command.add_argument("--metric", action="store_true", help="the weight is in kilograms")
    command.add_argument("--pounds", action="store_true", help="deprecated: the weight is in pounds")
    commands.add_parser("zones")
    options = parser.parse_args(arguments)
    if options.command == "zones":
        print(" ".join(zones()))
        return
    factor = 1000 if options.metric else 453.6 if options.pounds else 1
    print(f"{price(round(options.weight * factor), options.zone) / 100:.2f}")
