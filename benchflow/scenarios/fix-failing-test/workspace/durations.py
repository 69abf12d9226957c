"""Durations as people write them: `45s`, `1h30m`, `2d`."""

import re

UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}

_PART = re.compile(r"(\d+)([dhms])")


def parse_duration(text):
    """Return the number of seconds in a duration.

    A duration is one or more parts with nothing between, before or after them; a part is a whole number and one of the
    units d, h, m and s. `1h30m` is 5400. Raise ValueError for any other text.
    """
    match = _PART.match(text)
    if match is None:
        raise ValueError(f"not a duration: {text!r}")
    number, unit = match.groups()
    return int(number) * UNITS[unit]


def format_duration(seconds):
    """Return the shortest text that `parse_duration` reads as `seconds`, largest unit first; 0 is `0s`."""
    text = ""
    for unit, size in UNITS.items():
        number, seconds = divmod(seconds, size)
        if number:
            text += f"{number}{unit}"
    return text or "0s"
