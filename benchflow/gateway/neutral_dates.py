"""Finds the dates of one day in a text, in the forms in which programs and agents write them. Pure."""

import re
from datetime import UTC, date, datetime, timedelta

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},?\s{1,2})?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?:\s?\([^()\n]{1,40}\))?)?"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:\s?[AP]M)?"
_START = r"(?<![0-9A-Za-z⟧])"
_END = r"(?![0-9A-Za-z⟦])"

_FORMS = tuple(
    re.compile(_START + form + _END)
    for form in (
        # 2026-11-22, 2026-11-22T00:42:11.123Z, 2026/11/22 00:42
        rf"(?P<year>\d{{4}})(?P<sep>[-/])(?P<number>\d\d)(?P=sep)(?P<day>\d\d)(?:(?:T|,?\s){_CLOCK}{_ZONE})?",
        # Sunday, November 22, 2026; Nov 22 2026 00:42
        rf"{_WEEKDAY}{_MONTH}\s{{1,2}}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<year>\d{{4}})"
        rf"(?:(?:,| at)?\s{_CLOCK}{_ZONE})?",
        # Sun Nov 22 00:42:11 UTC 2026; Nov 22 00:42
        rf"{_WEEKDAY}{_MONTH}\s{{1,2}}(?P<day>\d{{1,2}})\s{_CLOCK}{_ZONE}(?:\s(?P<year>\d{{4}}))?",
        # Sun, 22 Nov 2026 00:42:11 GMT
        rf"{_WEEKDAY}(?P<day>\d{{1,2}})\s{_MONTH}\s(?P<year>\d{{4}})(?:,?\s{_CLOCK}{_ZONE})?",
        # 11/22/2026, 12:42:11 AM
        rf"(?P<number>\d{{1,2}})(?P<sep>[/.])(?P<day>\d{{1,2}})(?P=sep)(?P<year>\d{{4}})(?:,?\s{_CLOCK}{_ZONE})?",
        # 20261122, 20261122-004211, 20261122_004211_123456
        r"(?P<year>\d{4})(?P<number>\d\d)(?P<day>\d\d)(?:[-_T]\d{6}(?:[-_.](?:\d{6}|\d{3}))?Z?)?",
        # seconds or milliseconds since 1970
        r"(?P<epoch>1\d{9})(?:(?:\d{3})|\.\d{1,9})?",
    )
)

_LONG_UTC = re.compile(r"(?<![\w/])Etc/UTC(?![\w/+-])")


def replace_dates(text: str, day: date, mark: str) -> tuple[str, int]:
    """Put the mark where a date stands that is `day` or next to it; return how often that was, too.

    The two names of the time zone UTC, of which a machine has one or the other, become one.
    """
    count = 0

    def put(match: re.Match[str]) -> str:
        nonlocal count
        if not _is_near(match.groupdict(), day):
            return match[0]
        count += 1
        return mark

    for form in _FORMS:
        text = form.sub(put, text)
    text, zones = _LONG_UTC.subn("UTC", text)
    return text, count + zones


def _is_near(parts: dict[str, str | None], day: date) -> bool:
    return any(abs(found - day) <= timedelta(days=1) for found in _readings(parts, day))


def _readings(parts: dict[str, str | None], day: date) -> list[date]:
    """Return the days that a match may mean: some write the month first, and some leave the year out."""
    if epoch := parts.get("epoch"):
        return [datetime.fromtimestamp(int(epoch), UTC).date()]
    first, second = int(parts.get("number") or _month(parts)), int(parts.get("day") or 0)
    year = parts.get("year")
    years = [int(year)] if year else [day.year - 1, day.year, day.year + 1]
    orders = [(first, second), (second, first)] if parts.get("sep") in ("/", ".") else [(first, second)]
    return [found for year in years for order in orders if (found := _date_or_none(year, *order))]


def _month(parts: dict[str, str | None]) -> int:
    return _MONTHS.index((parts["month"] or "").lower()) + 1


def _date_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
