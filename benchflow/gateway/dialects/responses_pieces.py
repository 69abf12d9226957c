"""Puts a streamed response together from its pieces: what there is of one that was cut before its end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_BEGUN = frozenset({"response.created", "response.queued", "response.in_progress"})


@dataclass(frozen=True, slots=True)
class _Delta:
    """What an event with a delta adds to."""

    item: str
    """The type of the item."""
    member: str
    """What grows: a member of the item, or of one of its parts."""
    parts: str | None = None
    """The item's list of parts; None: the item itself grows."""
    part: str = ""
    """The type of the part."""

    @property
    def index(self) -> str:
        """The event's member that says which part."""
        return "summary_index" if self.parts == "summary" else "content_index"


_DELTAS: Mapping[str, _Delta] = {
    "response.output_text.delta": _Delta("message", "text", "content", "output_text"),
    "response.refusal.delta": _Delta("message", "refusal", "content", "refusal"),
    "response.reasoning_text.delta": _Delta("reasoning", "text", "content", "reasoning_text"),
    "response.reasoning_summary_text.delta": _Delta("reasoning", "text", "summary", "summary_text"),
    "response.function_call_arguments.delta": _Delta("function_call", "arguments"),
    "response.custom_tool_call_input.delta": _Delta("custom_tool_call", "input"),
}


@dataclass(slots=True)
class _Item:
    """One item while it grows."""

    begun: dict[str, Any]
    grown: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    """By the part's index and the type of event."""

    def add(self, kind: str, index: Any, text: str) -> None:
        """Take what an event of that type says of one part, or of the item itself."""
        self.grown.setdefault((index if isinstance(index, int) else 0, kind), []).append(text)

    def whole(self) -> dict[str, Any]:
        """Return the item with all that was added to it."""
        item = dict(self.begun)
        for (index, kind), pieces in sorted(self.grown.items()):
            delta, holder = _DELTAS[kind], item
            if delta.parts is not None:
                given = item.get(delta.parts)
                parts = item[delta.parts] = list(given) if isinstance(given, list) else []
                holder = {"type": delta.part}
                if index < len(parts) and isinstance(parts[index], dict):
                    holder = parts[index] = dict(parts[index])
                else:
                    parts.append(holder)
            begun = holder.get(delta.member)
            holder[delta.member] = (begun if isinstance(begun, str) else "") + "".join(pieces)
        return item


class Pieces:
    """The events of a stream so far, merged."""

    def __init__(self) -> None:
        self._response: dict[str, Any] = {}
        self._items: dict[int | str, _Item] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        """Take the next event; one that is not understood changes nothing."""
        kind, item = str(event.get("type")), event.get("item")
        if kind in _BEGUN and isinstance(event.get("response"), dict):
            self._response.update(event["response"])
        elif kind in ("response.output_item.added", "response.output_item.done") and isinstance(item, dict):
            self._items[_place(event, item)] = _Item(item)
        elif (delta := _DELTAS.get(kind)) and isinstance(event.get("delta"), str):
            self._item(event, delta).add(kind, event.get(delta.index), event["delta"])

    def _item(self, event: Mapping[str, Any], delta: _Delta) -> _Item:
        place = _place(event, event)
        if place not in self._items:
            self._items[place] = _Item({"type": delta.item, "id": event.get("item_id")})
        return self._items[place]

    def items(self) -> list[dict[str, Any]]:
        """Return the items in their order, those that are not whole as far as they came."""
        places = sorted(self._items, key=lambda place: (isinstance(place, str), place))
        return [self._items[place].whole() for place in places]

    def body(self) -> dict[str, Any]:
        """Return what there is of the response."""
        return {**self._response, "output": self.items()}


def _place(event: Mapping[str, Any], item: Mapping[str, Any]) -> int | str:
    """Return what tells items apart: where they stand in the output, else their id."""
    index = event.get("output_index")
    return index if isinstance(index, int) else str(event.get("item_id") or item.get("id"))
