"""Writes a manifest as TOML, for agents that came without one. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def write_manifest(fields: Mapping[str, Any], *, comment: str) -> str:
    """Return the manifest's text: the plain keys first, then the tables, in the order given."""
    plain = {key: value for key, value in fields.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in fields.items() if isinstance(value, Mapping) and value}
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [f"{key} = {_value(value)}" for key, value in plain.items()]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *_entries(table)]
    return "\n".join(lines) + "\n"


def _entries(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        name = key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)
        yield f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    """Write one value. JSON's texts are TOML's basic strings, but for DEL and half pairs, which no command has."""
    if isinstance(value, str):
        if "\n" in value and "'''" not in value:
            return f"'''\n{value}'''"
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_entries(value)) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value)
