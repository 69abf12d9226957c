"""Prices of parcels, in cents."""

import warnings

BASE = {"A": 390, "B": 590, "C": 1290}
"""What a parcel of up to a kilogram costs, by zone."""

PER_KILOGRAM = 110
HEAVY_FROM_G = 10_000
HEAVY_EXTRA = 700

ZONES = ["A", "B", "C"]
"""Deprecated since 1.4: use zones()."""


def zones():
    """Return the zones, nearest first."""
    return sorted(BASE)


def price(weight_g, zone):
    """Return the price of a parcel. Raise ValueError for a weight or a zone that there is not."""
    if zone not in BASE or weight_g <= 0:
        raise ValueError(f"no price for {weight_g} g to zone {zone}")
    kilograms = -(-weight_g // 1000)
    extra = HEAVY_EXTRA if weight_g >= HEAVY_FROM_G else 0
    return BASE[zone] + (kilograms - 1) * PER_KILOGRAM + extra


def quote(zone, weight_g):
    """Deprecated since 1.3: use price(), which takes the weight first."""
    warnings.warn("quote is deprecated, use price", DeprecationWarning, stacklevel=2)
    return price(weight_g, zone)
