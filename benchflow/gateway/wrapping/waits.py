"""How long an upstream asks its clients to wait, in whichever of the usual forms it says so. Pure but for the clock."""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from benchflow.gateway.http.encoding import Undecodable, decode
from benchflow.gateway.message import Headers

ASKING = frozenset({429, 503, 529})
"""The statuses with which an upstream may ask for a wait that concerns every request."""

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS_S = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_RESET = re.compile(r"x-ratelimit-reset(?:-.+)?|anthropic-ratelimit-.+-reset")
_YEAR_2001_S = 1e9
_YEAR_2001_MS = 1e12
"""Numbers above these are instants, in seconds or milliseconds since the epoch, not durations."""


def asked_wait_s(status: int, headers: Headers, content: bytes = b"") -> float | None:
    """Return how many seconds a refusal asks its client to wait; None where it does not say.

    Read are `retry-after-ms`, `Retry-After` (RFC 9110: seconds or a date), Google's RetryInfo in the body, and, of a
    429 alone, the times at which OpenAI's and Anthropic's limits are reset.
    """
    if status not in ASKING:
        return None
    said = {name.lower(): value.strip() for name, value in headers}
    found = _milliseconds(said.get("retry-after-ms"))
    if found is None:
        found = _moment(said.get("retry-after"))
    if found is None:
        found = _retry_info(content, headers)
    if found is None and status == 429:
        found = _resets(said)
    return None if found is None else max(0.0, found)


def _milliseconds(text: str | None) -> float | None:
    number = _number(text)
    return None if number is None else number / 1000


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d+(?:\.\d+)?", text) else None


def _moment(text: str | None) -> float | None:
    """Read seconds, a duration such as `1m30s`, an instant in seconds or milliseconds, or a date of HTTP or ISO."""
    number = _number(text)
    if number is not None:
        if number >= _YEAR_2001_MS:
            return number / 1000 - time.time()
        return number - time.time() if number >= _YEAR_2001_S else number
    if not text:
        return None
    duration = _DURATION.fullmatch(text)
    if duration:
        return sum(float(part or 0) * unit for part, unit in zip(duration.groups(), _UNITS_S, strict=True))
    date = _date(text)
    return None if date is None else date.timestamp() - time.time()


def _date(text: str) -> datetime | None:
    from email.utils import parsedate_to_datetime  # takes longer to import than all the rest, and is hardly ever needed

    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = parse(text)
        except ValueError:
            continue
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    return None


def _resets(said: Mapping[str, str]) -> float | None:
    """Return when the limit that was hit is reset: the one of which nothing remains, else the last of them all."""
    times: dict[str, float] = {}
    spent: set[str] = set()
    for name, value in said.items():
        match = _RESET.fullmatch(name)
        wait_s = _moment(value) if match else None
        if match and wait_s is not None:
            times[name] = wait_s
            remaining = name.replace("reset", "remaining")
            if _number(said.get(remaining)) == 0:
                spent.add(name)
    return max((times[name] for name in spent or times), default=None)


def _retry_info(content: bytes, headers: Headers) -> float | None:
    """Read `google.rpc.RetryInfo` among the details of an error in Google's form."""
    if b"RetryInfo" not in content and not any(name.lower() == "content-encoding" for name, _ in headers):
        return None
    try:
        body = orjson.loads(decode(content, headers))
    except (Undecodable, ValueError):
        return None
    error = _member(body[0] if isinstance(body, list) and body else body, "error")
    details = _member(error, "details")
    for detail in details if isinstance(details, list) else ():
        if str(_member(detail, "@type")).endswith("google.rpc.RetryInfo"):
            return _moment(str(_member(detail, "retryDelay")))
    return None


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
