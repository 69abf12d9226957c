"""The forms in which a known secret may stand in bytes: escaped, URL-encoded, in base64 or hexadecimal. Pure."""

import base64
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

MIN_LENGTH = 8
"""Characters; what is shorter is no secret, and would be found everywhere."""
MIN_LINE = 16
"""Characters from which on a line of a secret of several lines is a secret by itself."""
HINT = 20
"""Bytes of a piece by which a form that is broken over lines is noticed: half of the shortest line that is usual."""
_BREAK = rb"(?:\\+[rn]|[\r\n \t])*"


@dataclass(frozen=True)
class Broken:
    """A form that may be broken over lines, as encoders break theirs."""

    form: bytes

    @property
    def hints(self) -> Iterator[bytes]:
        """Pieces of which one is whole, wherever the lines end, if they are long enough."""
        size = max(MIN_LENGTH, min(HINT, len(self.form) // 2))
        return (self.form[at : at + size] for at in range(0, len(self.form) - size + 1, size))

    def compile(self) -> re.Pattern[bytes]:
        """Return what finds the form with and without breaks."""
        return re.compile(_BREAK.join(re.escape(self.form[at : at + 1]) for at in range(len(self.form))))


def parts(secret: str) -> Iterator[str]:
    """Return what is secret in a secret: itself, and its long lines; nothing where it is too short to be one."""
    if len(secret) >= MIN_LENGTH:
        yield secret
        lines = secret.splitlines()
        if len(lines) > 1:
            yield from (line for line in lines if len(line) >= MIN_LINE)


def whole_forms(secret: str) -> Iterator[bytes]:
    """Return the forms that stand in one piece."""
    plain = secret.encode("utf-8", "surrogateescape")
    yield plain
    for escaped in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        for form in (escaped, escaped.replace("/", "\\/"), json.dumps(escaped)[1:-1]):
            yield form.encode("utf-8", "surrogateescape")
    for quoted in (repr(secret), repr(secret + "\"'")[:-4], shlex.quote(secret)):
        yield quoted.strip("\"'").encode("utf-8", "surrogateescape")
    for encoded in (quote(plain, safe=""), quote(plain), quote_plus(plain)):
        yield encoded.encode()
        yield _lower_hex(encoded).encode()


def breakable_forms(secret: str) -> Iterator[Broken]:
    """Return the forms that encoders break over lines."""
    plain = secret.encode("utf-8", "surrogateescape")
    for offset in range(3):
        for core in _base64_cores(plain, offset):
            yield Broken(core)
    yield Broken(plain.hex().encode())
    yield Broken(plain.hex().upper().encode())


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
