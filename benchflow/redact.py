"""Keeps secrets out of everything that is written: replaces them in bytes, whatever they were encoded in."""

import base64
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

MARK = b"[redacted]"
"""Stands where a secret stood. It is fit for the inside of a JSON string."""
MIN_LENGTH = 8
"""Characters; what is shorter is no secret, and would be found everywhere."""
MIN_LINE = 16
"""Characters from which on a line of a secret of several lines is a secret by itself."""


class Redactor:
    """Replaces known secrets: as they are, escaped for JSON, URL-encoded, and inside of base64.

    A secret is found within the bytes of one call: give it whole lines, or whole bodies.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        needles = {needle for secret in secrets for part in _parts(secret) for needle in _forms(part)}
        self._needles = sorted(needles, key=len, reverse=True)
        self.longest = max(map(len, needles), default=0)
        """Bytes of the longest form of a secret."""

    def redact(self, data: bytes) -> bytes:
        """Return the bytes without the secrets; the very same value where there are none."""
        for needle in self._needles:
            if needle in data:
                data = data.replace(needle, MARK)
        return data

    def finds(self, data: bytes) -> bool:
        """Whether there is a secret in the bytes."""
        return any(needle in data for needle in self._needles)


def _parts(secret: str) -> Iterator[str]:
    if len(secret) >= MIN_LENGTH:
        yield secret
        lines = secret.splitlines()
        if len(lines) > 1:
            yield from (line for line in lines if len(line) >= MIN_LINE)


def _forms(secret: str) -> Iterator[bytes]:
    plain = secret.encode("utf-8", "surrogateescape")
    yield plain
    for escaped in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        for form in (escaped, escaped.replace("/", "\\/"), json.dumps(escaped)[1:-1]):
            yield form.encode("utf-8", "surrogateescape")
    for encoded in (quote(plain, safe=""), quote(plain), quote_plus(plain)):
        yield encoded.encode()
        yield _lower_hex(encoded).encode()
    for offset in range(3):
        yield from _base64_cores(plain, offset)


def _lower_hex(encoded: str) -> str:
    first, *rest = encoded.split("%")
    return first + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)


def _base64_cores(plain: bytes, offset: int) -> Iterator[bytes]:
    """The characters of base64 that depend on the secret alone, where `offset` bytes stand before it in its group."""
    first = -(-offset * 8 // 6)
    last = (offset + len(plain)) * 8 // 6
    padded = b"\0" * offset + plain
    yield base64.b64encode(padded)[first:last]
    yield base64.urlsafe_b64encode(padded)[first:last]
