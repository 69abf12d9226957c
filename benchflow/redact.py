"""Keeps secrets out of everything that is written: replaces them in bytes, whatever they were encoded in.

First those that are known, in every form; then whatever has the shape of a credential.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from benchflow.redaction.forms import Broken, breakable_forms, parts, whole_forms
from benchflow.redaction.patterns import PATTERNS, REACH, Pattern

REDACTIONS = "redactions"
"""Where the counts of a trial stand among the extensions of its row."""
KNOWN = "known"
"""The category of the secrets that BenchFlow was told."""


class Span(NamedTuple):
    """Where a secret stands."""

    start: int
    end: int
    category: str


def mark(category: str) -> bytes:
    """Return what stands where a secret stood. It is fit for the inside of a JSON string."""
    return b"[redacted:%b]" % category.encode()


class Redactor:
    """Replaces secrets, and counts what it replaced by category.

    A secret is found within the bytes of one call: give it whole lines, or whole bodies.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._matcher = _Matcher(secrets)
        self.counts: Counter[str] = Counter()

    def fresh(self) -> Self:
        """Return one that replaces the same, and counts anew."""
        other = object.__new__(type(self))
        other._matcher = self._matcher
        other.counts = Counter()
        return other

    @property
    def longest(self) -> int:
        """Bytes of the longest form of a secret."""
        return self._matcher.longest

    @property
    def knows_any(self) -> bool:
        """There are secrets that it was told."""
        return self._matcher.knows_any

    def redact(self, data: bytes) -> bytes:
        """Return the bytes without the secrets; the very same value where there are none."""
        spans = self.find(data)
        if not spans:
            return data
        self.counts.update(span.category for span in spans)
        pieces: list[bytes] = []
        at = 0
        for start, end, category in spans:
            pieces += (data[at:start], mark(category))
            at = end
        return b"".join((*pieces, data[at:]))

    def finds(self, data: bytes) -> bool:
        """Whether there is a secret in the bytes."""
        return bool(self.find(data))

    def find(self, data: bytes) -> list[Span]:
        """Return where the secrets are, in order, those that overlap as one."""
        found = self._matcher.find(data)
        return _joined(sorted(found)) if found else []


_Look = Callable[[bytes, int, int], Iterator[Span]]


class _Matcher:
    """All literals that a secret contains or begins with, looked for in one pass."""

    def __init__(self, secrets: Iterable[str]) -> None:
        looks: dict[bytes, list[_Look]] = {}
        known = [part for secret in secrets for part in parts(secret)]
        self.knows_any = bool(known)
        self.longest = REACH
        for part in dict.fromkeys(known):
            for form in {*whole_forms(part), *(broken.form for broken in breakable_forms(part))}:
                looks.setdefault(form, []).append(_exactly)
                self.longest = max(self.longest, 2 * len(form))
            for broken in breakable_forms(part):
                for hint in broken.hints:
                    looks.setdefault(hint, []).append(_around(broken))
        for pattern in PATTERNS:
            for begin in pattern.begins:
                looks.setdefault(begin, []).append(_from_here(pattern))
        self._looks = list(looks.values())
        literals = list(looks)
        self._any = BytesAhoCorasick(literals, matchkind=MatchKind.LeftmostLongest)
        self._all = BytesAhoCorasick(literals, implementation=Implementation.DFA)

    def find(self, data: bytes) -> list[Span]:
        """Return where secrets are, in no order."""
        if not self._any.find_matches_as_indexes(data):
            return []  # nearly always, and found out at gigabytes a second
        hits = self._all.find_matches_as_indexes(data, overlapping=True)
        return [span for index, start, end in hits for look in self._looks[index] for span in look(data, start, end)]


def _exactly(_: bytes, start: int, end: int) -> Iterator[Span]:
    yield Span(start, end, KNOWN)


def _around(broken: Broken) -> _Look:
    compiled: list[re.Pattern[bytes]] = []

    def look(data: bytes, start: int, end: int) -> Iterator[Span]:
        if not compiled:
            compiled.append(broken.compile())
        first = max(0, start - 2 * len(broken.form))
        for match in compiled[0].finditer(data, first, end + 2 * len(broken.form)):
            yield Span(*match.span(), KNOWN)

    return look


def _from_here(pattern: Pattern) -> _Look:
    has_group = "secret" in pattern.regex.groupindex

    def look(data: bytes, start: int, _: int) -> Iterator[Span]:
        match = pattern.regex.match(data, start, start + REACH)
        if match:
            yield Span(*match.span("secret" if has_group else 0), pattern.category)

    return look


def _joined(spans: list[Span]) -> list[Span]:
    """Join those that overlap; a known secret names the whole."""
    joined = spans[:1]
    for span in spans[1:]:
        last = joined[-1]
        if span.start >= last.end:
            joined.append(span)
        else:
            category = KNOWN if KNOWN in (span.category, last.category) else last.category
            joined[-1] = Span(last.start, max(last.end, span.end), category)
    return joined
