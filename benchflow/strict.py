"""Strict TOML files: where one cannot be read, and which of its keys a model does not have."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from benchflow.errors import InputError
from benchflow.model import suggest


@dataclass(frozen=True, kw_only=True)
class UnknownKey:
    """A key that a model does not have."""

    path: tuple[str, ...]
    known: tuple[str, ...]
    """The keys that could stand there."""

    def __str__(self) -> str:
        return f"unknown key `{'.'.join(self.path)}`; {suggest(self.path[-1], self.known)}"


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises InputError, with the line where there is one."""
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise InputError(f"{path}: cannot be read: {exc.strerror or exc}") from exc
    return parse_toml(content, str(path))


def parse_toml(content: bytes, place: str) -> dict[str, Any]:
    """Parse TOML; `place` names it in messages. Raises InputError with the line of the mistake."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise InputError(f"{place}: line {line} is not UTF-8; save the file as UTF-8") from exc
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        last = text.rstrip("\n").count("\n") + 1
        message = str(exc).replace("(at end of document)", f"(at line {last}, where the file ends)")
        raise InputError(f"{place}: is not valid TOML: {message}") from exc


def unknown_keys(model: type[BaseModel], data: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[UnknownKey]:
    """Yield the keys of `data`, and of its tables, that `model` does not have."""
    for key, value in data.items():
        field = model.model_fields.get(key)
        if field is None:
            yield UnknownKey(path=(*above, key), known=tuple(model.model_fields))
        elif isinstance(value, dict) and (table := table_model(field.annotation)):
            yield from unknown_keys(table, value, (*above, key))


def without(data: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return a copy of `data` without the key at `path`."""
    head, *rest = path
    if not rest:
        return {key: value for key, value in data.items() if key != head}
    return {**data, head: without(data[head], rest)}


def table_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model of a field that is a table, also where it may be absent."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType):
        return next((model for part in get_args(annotation) if (model := table_model(part))), None)
    return None
