"""The neutral rules: what two model requests may differ in and still be equal. The only such list.

Each rule takes a value and the side that it is from, and returns the value without the side's own part, and how often
it found one. Applied twice they change nothing more, and each side is treated alone. Pure.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from hashlib import sha256
from typing import Any

import orjson

from benchflow.gateway.neutral_dates import replace_dates
from benchflow.gateway.places import Places, word

Rule = Callable[[Any, "Side"], tuple[Any, int]]
Change = Callable[[str], tuple[str, int]]


@dataclass(frozen=True, kw_only=True)
class Side:
    """What belongs to one of the two sides alone."""

    places: Places = field(default_factory=Places)
    model: str = ""
    port: int | None = None
    """Where this side's agent finds its model."""
    prompts: tuple[str, ...] = ()
    day: date | None = None
    """The day on which it ran, in UTC; None: no date is its own."""
    memo: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What became of long texts, by rule and text: a conversation says them again with each request."""


@dataclass(frozen=True, kw_only=True)
class Neutral:
    """A value after the rules."""

    value: Any
    fired: Mapping[str, int]
    """How often each rule changed something; a rule that did not is not in it."""

    @property
    def digest(self) -> str:
        """SHA-256 over the value as JSON with sorted keys."""
        return sha256(orjson.dumps(self.value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def neutralize(value: Any, side: Side, without: Collection[str] = ()) -> Neutral:
    """Apply all rules but those named in `without`."""
    fired: dict[str, int] = {}
    for name, rule in RULES.items():
        if name not in without:
            value, count = rule(value, side)
            if count:
                fired[name] = count
    return Neutral(value=value, fired=fired)


def paths(value: Any, side: Side) -> tuple[Any, int]:
    """Working directory, HOME and the folder for temporary files, at the boundary of a path."""
    return _texts(value, _remembered(side, "paths", side.places.neutral))


def dates(value: Any, side: Side) -> tuple[Any, int]:
    """The side's own day, the one before and the one after it, with the time of day where one stands beside it."""
    day = side.day
    if day is None:
        return value, 0
    return _texts(value, _remembered(side, "dates", lambda text: replace_dates(text, day, word("date"))))


_PORT = re.compile(r"(?<![\w.⟧])(127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1\]):(\d{1,5})(?![\w⟦])")
EPHEMERAL = range(32_768, 65_536)
"""Ports that systems give out by themselves: nobody chose one of these."""


def ports(value: Any, side: Side) -> tuple[Any, int]:
    """Ports of the loopback: the side's own, and such as the system gave out."""

    def change(text: str) -> tuple[str, int]:
        return _sub_own(_PORT, text, lambda match: _neutral_port(match, side.port))

    return _texts(value, _remembered(side, "ports", change))


def _neutral_port(match: re.Match[str], own: int | None) -> str | None:
    port = int(match[2])
    return f"{match[1]}:{word('port')}" if port == own or port in EPHEMERAL else None


_ID = re.compile(
    r"(?<![0-9A-Za-z⟧])(?:"
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|sk-benchflow-[0-9a-f]{32}"
    r"|[0-7][0-9A-HJKMNP-TV-Z]{25}"
    r"|(?:ses|sess|session|msg|message|prt|part|req|request|thread|conv|turn|prompt|call|task|user)[_-]"
    r"(?=[0-9A-Za-z]*\d[0-9A-Za-z]*\d)[0-9A-Za-z]{16,}"
    r"|(?<=_id\":\")[0-9a-f]{32,64}"
    r"|(?<=Chunk ID: )[0-9a-f]{6}"
    r"|(?<=⟦tmp⟧/)tmp(?:\.[0-9A-Za-z]{10}|[0-9a-z_]{8})"
    r")(?![0-9A-Za-z⟦])"
)


def ids(value: Any, side: Side) -> tuple[Any, int]:
    """Ids of sessions and requests, and made-up names of temporary files: UUIDs, ULIDs, `ses_…` and their like, each by
    the number of its first place.
    """
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], word(f"id {len(numbers) + 1}"))

    has_any = _remembered(side, "ids", lambda text: ("", 1 if _ID.search(text) else 0))
    return _texts(value, lambda text: _ID.subn(number, text) if has_any(text)[1] else (text, 0))


def model(value: Any, side: Side) -> tuple[Any, int]:
    """The name by which the side knows its model, where a request says which model it is for."""
    if not isinstance(value, dict) or not side.model:
        return value, 0
    asked = value.get("model")
    if asked != side.model and not (isinstance(asked, str) and asked.endswith(f"/{side.model}")):
        return value, 0
    return {**value, "model": word("model")}, 1


def prompt_space(value: Any, side: Side) -> tuple[Any, int]:
    """Trailing white space of a text that ends with a prompt of the side."""
    ends = tuple(stripped for prompt in side.prompts if (stripped := prompt.rstrip()))

    def strip(text: str) -> tuple[str, int]:
        short = text.rstrip()
        return (short, 1) if short != text and short.endswith(ends) else (text, 0)

    return _texts(value, strip) if ends else (value, 0)


def null_content(value: Any, side: Side) -> tuple[Any, int]:
    """`content: null`, which says the same as no content."""
    if isinstance(value, list):
        return _all([null_content(item, side) for item in value])
    if not isinstance(value, dict):
        return value, 0
    kept = {key: item for key, item in value.items() if key != "content" or item is not None}
    changed = {key: null_content(item, side) for key, item in kept.items()}
    count = len(value) - len(kept) + sum(found for _, found in changed.values())
    return {key: item for key, (item, _) in changed.items()}, count


_SIZE = r"\d[\d,]*(?=\s*(?:bytes|characters|chars)(?![\w⟦]))"
_WRITTEN = re.compile(
    rf"(?i)(?<![\w⟧])(?P<before>(?:wrote|written|saved|created|updated|edited)(?![\w⟦])[^\n⟦⟧]{{0,200}}?(?<![\w.,⟧])){_SIZE}"
    rf"|(?<![\w.,⟧]){_SIZE}(?=\s*(?:bytes|characters|chars)[^\n⟦⟧]{{0,10}}\s(?:written|saved)(?![\w⟦]))"
)


def byte_counts(value: Any, side: Side) -> tuple[Any, int]:
    """How much a tool says that it wrote: what it wrote may have the side's paths in it."""
    mark = word("count")

    def change(text: str) -> tuple[str, int]:
        return _WRITTEN.subn(lambda match: (match["before"] or "") + mark, text)

    return _results(value, _remembered(side, "byte_counts", change))


_TIMED = re.compile(
    r"(?i)(?<![\w⟧])(?P<before>(?:in|took|elapsed|duration|time|real|user|sys)(?![\w⟦])[\s:=(]{1,4})"
    r"(?:\d+m)?\d+(?:\.\d+)?\s?(?:ms|µs|us|ns|s|secs?|seconds|milliseconds)(?![\w⟦])"
)


def durations(value: Any, side: Side) -> tuple[Any, int]:
    """How long something took, as the results of tools say: `Ran 4 tests in 0.003s`."""

    def change(text: str) -> tuple[str, int]:
        return _TIMED.subn(lambda match: match["before"] + word("duration"), text)

    return _results(value, _remembered(side, "durations", change))


_PROCESS = re.compile(r"(?i)(?<![\w⟧])(?P<before>(?:pid|pgid|process(?: group)?(?: id)?)s?:\s{0,2})\d+(?![\w⟦])")


def process_ids(value: Any, side: Side) -> tuple[Any, int]:
    """Numbers of processes, as the results of tools say: `PGID: 4711`."""

    def change(text: str) -> tuple[str, int]:
        return _PROCESS.subn(lambda match: match["before"] + word("process"), text)

    return _results(value, _remembered(side, "process_ids", change))


RULES: Mapping[str, Rule] = {
    rule.__name__: rule
    for rule in (
        prompt_space,
        paths,
        dates,
        ports,
        ids,
        model,
        null_content,
        byte_counts,
        durations,
        process_ids,
    )
}
"""By name, in the order in which they are applied."""


LONG = 200
"""Characters from which on it is worth while to remember what became of a text."""


def _remembered(side: Side, rule: str, change: Change) -> Change:
    def remember(text: str) -> tuple[str, int]:
        if len(text) < LONG:
            return change(text)
        found = side.memo.get((rule, text))
        if found is None:
            found = side.memo[rule, text] = change(text)
        return found

    return remember


def _texts(value: Any, change: Change) -> tuple[Any, int]:
    """Change all texts in a value, and the keys of its objects. Keys come in sorted order, as in the digest."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return _all([_texts(item, change) for item in value])
    if not isinstance(value, dict):
        return value, 0
    total = 0
    changed: dict[str, Any] = dict.fromkeys(value)
    renamed: dict[str, str] = {}
    for key in sorted(value):
        renamed[key], in_key = change(key)
        changed[key], in_value = _texts(value[key], change)
        total += in_key + in_value
    return ({renamed[key]: item for key, item in changed.items()}, total) if total else (value, 0)


def _results(value: Any, change: Change) -> tuple[Any, int]:
    """Change the texts in what the agent says that its tools returned, in the form of any dialect."""
    if isinstance(value, list):
        return _all([_results(item, change) for item in value])
    if not isinstance(value, dict):
        return value, 0
    if _is_result(value):
        return _texts(value, change)
    changed = {key: _results(item, change) for key, item in value.items()}
    total = sum(count for _, count in changed.values())
    return ({key: item for key, (item, _) in changed.items()}, total) if total else (value, 0)


def _is_result(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    return (
        item.get("role") in ("tool", "function")
        or (isinstance(kind, str) and kind.endswith(("tool_result", "_call_output")))
        or "functionResponse" in item
    )


def _all(pairs: list[tuple[Any, int]]) -> tuple[list[Any], int]:
    return [item for item, _ in pairs], sum(count for _, count in pairs)


def _sub_own(
    pattern: re.Pattern[str], text: str, replacement: Callable[[re.Match[str]], str | None]
) -> tuple[str, int]:
    """Replace the matches for which there is a replacement; count these alone."""
    count = 0

    def put(match: re.Match[str]) -> str:
        nonlocal count
        new = replacement(match)
        if new is None:
            return match[0]
        count += 1
        return new

    return pattern.sub(put, text), count
