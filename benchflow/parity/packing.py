"""Writes a value in which much repeats, as requests of one conversation do, so that it is small and diffs well. Pure.

Whatever is long, or occurs again, is a node of its own, on a line of its own, and elsewhere its number stands for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

LONG = 160
"""Characters from which a part is a node of its own."""
SHORT = 24
"""Characters up to which a part is written wherever it occurs."""
_REF = "$"
"""The key of what stands for something else: a node's number, a text's parts, or an object with this key of its own."""


def pack(value: Any) -> bytes:
    """Write a JSON value; `unpack` gives it back, the order of keys included."""
    packer = _Packer()
    whole = packer.take(value)
    root = packer.write(whole)
    lines = b",\n".join(map(orjson.dumps, packer.nodes))
    return b'{"nodes": [\n%b\n],\n"root": %b}\n' % (lines, orjson.dumps(root))


def unpack(content: bytes) -> Any:
    """Read what `pack` wrote. Equal parts are one object: change none of them. Raises ValueError."""
    try:
        document = orjson.loads(content)
        nodes: list[Any] = []
        for node in document["nodes"]:
            nodes.append(_read(node, nodes))
        return _read(document["root"], nodes)
    except (ValueError, KeyError, TypeError, IndexError) as exc:
        raise ValueError(f"no packed value: {exc}") from exc


_Key = tuple[Any, ...]


@dataclass
class _Part:
    """A part of the value, known by its number."""

    key: _Key
    """Its kind, and what it is made of; equal for equal parts."""
    size: int
    """About how many characters it takes."""
    count: int = 0
    """How often it occurs."""
    node: int | None = None
    """Its number among the nodes, once it is written as one."""


@dataclass
class _Packer:
    parts: list[_Part] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    _known: dict[_Key, int] = field(default_factory=dict)

    def take(self, value: Any) -> int:
        """Count a value and all its parts; return its number."""
        if isinstance(value, Mapping):
            items = tuple((key, self.take(each)) for key, each in value.items())
            return self._number(("object", items), sum(len(key) + 4 for key, _ in items), (part for _, part in items))
        if isinstance(value, list | tuple):
            parts = tuple(map(self.take, value))
            return self._number(("list", parts), 2 * len(parts), parts)
        if isinstance(value, str) and len(value) > LONG and (lines := value.splitlines(keepends=True))[1:]:
            parts = tuple(map(self.take, lines))
            return self._number(("lines", parts), 2 * len(parts), parts)
        size = len(value) + 2 if isinstance(value, str) else 6
        return self._number(("scalar", type(value), value), size, ())

    def _number(self, key: _Key, own: int, parts: Iterable[int]) -> int:
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.parts)
            self.parts.append(_Part(key, own + sum(self.parts[part].size for part in parts)))
        self.parts[number].count += 1
        return number

    def write(self, number: int) -> Any:
        """Return what stands for a part: itself, or the number of its node, which is written before."""
        part = self.parts[number]
        if part.node is not None:
            return {_REF: part.node}
        body = self._body(part.key)
        again = part.count > 1 and part.size > SHORT
        if not again and part.size <= LONG:
            return body
        part.node = len(self.nodes)
        self.nodes.append(body)
        return {_REF: part.node}

    def _body(self, key: _Key) -> Any:
        match key:
            case ("object", items):
                written = [(name, self.write(part)) for name, part in items]
                if any(name == _REF for name, _ in items):
                    return {_REF: ["object", *map(list, written)]}
                return dict(written)
            case ("list", parts):
                return [self.write(part) for part in parts]
            case ("lines", parts):
                return {_REF: ["lines", *(self.write(part) for part in parts)]}
        return key[2]


def _read(value: Any, nodes: list[Any]) -> Any:
    if isinstance(value, list):
        return [_read(each, nodes) for each in value]
    if not isinstance(value, dict):
        return value
    if _REF not in value:
        return {key: _read(each, nodes) for key, each in value.items()}
    stands_for = value[_REF]
    if isinstance(stands_for, int):
        return nodes[stands_for]
    kind, *parts = stands_for
    if kind == "lines":
        return "".join(_read(part, nodes) for part in parts)
    return {key: _read(each, nodes) for key, each in parts}
