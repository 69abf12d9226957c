"""Which headers of a request are compared, and as what. Pure.

Nearly all: a provider may act on any of them. Left out is what the connection or the body decides, and of a key only
its form stays, because no two runs have the same.
"""

import re

from benchflow.gateway.changing import CREDENTIALS
from benchflow.gateway.http.http11 import HOP_BY_HOP
from benchflow.gateway.message import Headers

DECIDED_ELSEWHERE = HOP_BY_HOP | {"host", "content-length", "expect"}
"""Of the connection; the host is the port's, the length is the body's."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9-]*) +\S")


def compared_headers(headers: Headers) -> dict[str, str]:
    """Return names in lower case and values; those of a header that is repeated are joined, as HTTP allows."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key in DECIDED_ELSEWHERE:
            continue
        text = form_of_key(value) if key in CREDENTIALS else value
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def form_of_key(value: str) -> str:
    """Return `Bearer …` for a key behind a scheme, `…` for one alone."""
    scheme = _SCHEME.match(value)
    return f"{scheme[1]} …" if scheme else "…"
