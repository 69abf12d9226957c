"""The warning that stands in a trial's main conversation: put in once, and kept where it is in all that follows."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import orjson

from benchflow.gateway.dialects.dialect import Dialect
from benchflow.gateway.dialects.json_text import read_json
from benchflow.gateway.message import Exchange, ModelRequest, RawRequest
from benchflow.gateway.reading import plain
from benchflow.gateway.rewriting import rewrite

_MOVED = frozenset({"cache_control"})
"""Marks that clients move on as the conversation grows: an item is the same without them."""


@dataclass
class StandingWarning:
    """Where the warning stands in one conversation.

    A conversation that was shortened since has it behind the same item as before, or, where that is gone, at its end.
    """

    _at: int | None = None
    _before: str | None = None
    """Digest of the item that it stands behind."""
    _carriers: set[int] = field(default_factory=set)
    """Numbers of the requests in whose conversation it is."""
    _kept: set[str] = field(default_factory=set)
    """Names of the conversations, and ids of the responses, with which a server keeps it."""

    def put(self, text: str, request: RawRequest, number: int, dialect: Dialect, parsed: ModelRequest) -> RawRequest:
        """Put the text in, unless the server has it already. Raises ValueError where there is no place for it."""
        self._carriers.add(number)
        if parsed.continues in self._kept or parsed.conversation in self._kept:
            return request
        items = _items(plain(request).body, dialect.conversation)
        at = self._place(items)
        changed = rewrite(request, "wrap_up", lambda whole: dialect.append_text(whole, text, at or None)[0])
        self._at, self._before = at, _digest(items[at - 1]) if at else None
        if parsed.conversation:
            self._kept.add(parsed.conversation)
        return changed

    def exchange_ended(self, exchange: Exchange) -> None:
        """Remember by which id a later request may go on with a conversation that has the warning."""
        if exchange.seq in self._carriers:
            self._carriers.discard(exchange.seq)
            if exchange.answer.id and exchange.succeeded:
                self._kept.add(exchange.answer.id)

    def _place(self, items: list[Any]) -> int:
        """Say behind how many items it belongs."""
        if self._at is None or self._before is None:
            return len(items)
        if len(items) >= self._at and _digest(items[self._at - 1]) == self._before:
            return self._at
        found = [number for number, item in enumerate(items, start=1) if _digest(item) == self._before]
        return found[-1] if found else len(items)


def _items(body: bytes, member: str) -> list[Any]:
    value = read_json(body).get(member)
    return value if isinstance(value, list) else [] if value is None else [value]


def _digest(item: Any) -> str:
    return hashlib.sha256(orjson.dumps(_without_marks(item), option=orjson.OPT_SORT_KEYS)).hexdigest()


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_marks(inner) for key, inner in value.items() if key not in _MOVED}
    return [_without_marks(inner) for inner in value] if isinstance(value, list) else value
