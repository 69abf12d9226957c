"""Makes a value that fits a JSON Schema: the smallest, and, where it is a verdict, the one that lets the work go on."""

import re
from collections.abc import Mapping
from typing import Any

DEPTH = 12
"""Levels of a schema that are followed; deeper ones are left empty."""

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_YES = frozenset(
    {"allow", "allowed", "approve", "approved", "accept", "accepted", "permit", "permitted", "grant", "granted"}
    | {"safe", "ok", "okay", "yes", "valid", "success", "proceed", "continue", "confirm", "confirmed", "overwrite"}
)
"""Words of a name that is better true."""
_BEST = ("allow", "allowed", "approve", "approved", "accept", "safe", "low", "none", "yes", "proceed", "continue", "ok")
"""Choices of a list that let the work go on, the best first."""
_PLACES = frozenset({"cwd", "workdir", "directory", "dir", "folder", "root"})
_TIMES = frozenset({"timeout", "wait", "seconds", "duration"})
_TIMEOUT_S = 120
_RANGE = re.compile(r"\b(?:from|between) (\d+)(?:\.0+)? ?(?:-|\u2013|to|and) ?\d", re.IGNORECASE)
"""How a description tells the least number that is allowed, where the schema does not."""


def fit(schema: Any, *, name: str = "", note: str = "", place: str = ".") -> Any:
    """Make a value for `schema`. `name` is the property's, `note` stands in texts, `place` where a folder is asked."""
    return _Fitting(schema, note, place).value(schema, name, DEPTH)


def words(name: str) -> frozenset[str]:
    """Split a name such as `shouldBlock`, `should_block` or `Should-Block` into its words."""
    return frozenset(word.lower() for word in _WORDS.findall(name))


class _Fitting:
    """Carries what all levels of one schema need."""

    def __init__(self, root: Any, note: str, place: str) -> None:
        self._root = root
        self._note = note
        self._place = place

    def value(self, schema: Any, name: str, depth: int) -> Any:
        schema = self._resolve(schema)
        if depth <= 0 or not isinstance(schema, Mapping):
            return None
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return _best(schema["enum"])
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list) and schema[key]:
                return self.value(_first_real(schema[key]), name, depth - 1)
        if isinstance(schema.get("allOf"), list) and schema["allOf"] and "properties" not in schema:
            return self.value(_merged([self._resolve(part) for part in schema["allOf"]]), name, depth - 1)
        return self._of_type(kind_of(schema), schema, name, depth)

    def _of_type(self, kind: str, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                item = self.value(schema.get("items", {}), name, depth - 1)
                return [item] * (_length(schema, "minItems") or 0)
            case "boolean":
                return bool(words(name) & _YES)
            case "integer" | "number":
                return _number(schema, name)
            case "null":
                return None
        return self._string(schema, name)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, Mapping) or not isinstance(required, list):
            return {}
        return {key: self.value(properties.get(key, {}), str(key), depth - 1) for key in required}

    def _string(self, schema: Mapping[str, Any], name: str) -> str:
        if isinstance(schema.get("default"), str):
            return schema["default"]
        if words(name) & _PLACES:
            return self._place
        text = self._note.ljust(_length(schema, "minLength") or 0, ".")
        return text[: _length(schema, "maxLength")]

    def _resolve(self, schema: Any) -> Any:
        """Follow references within the schema."""
        for _ in range(DEPTH):
            reference = schema.get("$ref") if isinstance(schema, Mapping) else None
            if not isinstance(reference, str) or not reference.startswith("#/"):
                return schema
            schema = self._root
            for step in reference[2:].split("/"):
                schema = schema.get(step) if isinstance(schema, Mapping) else None
        return schema


def kind_of(schema: Mapping[str, Any]) -> str:
    """Return the type that a schema asks for, null left aside; `string` where it does not say.

    It is in small letters, however the schema has it: OpenAPI's as Google takes them have `STRING` and `OBJECT`.
    """
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if not _is_null(one)), "null")
    if kind is None:
        options = [*_options(schema, "anyOf"), *_options(schema, "oneOf")]
        if options:
            return kind_of(_first_real(options))
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(kind).lower()


def _options(schema: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = schema.get(key)
    return [option for option in found if isinstance(option, Mapping)] if isinstance(found, list) else []


def _first_real(options: list[Any]) -> Any:
    real = [option for option in options if not (isinstance(option, Mapping) and _is_null(option.get("type")))]
    return (real or options)[0]


def _is_null(kind: Any) -> bool:
    return isinstance(kind, str) and kind.lower() == "null"


def _length(schema: Mapping[str, Any], key: str) -> int | None:
    """Return a limit of a length; None: there is none. Google's schemas have such numbers as texts."""
    limit = schema.get(key)
    if isinstance(limit, str) and limit.isdecimal():
        limit = int(limit)
    return limit if isinstance(limit, int) and limit >= 0 else None


def _merged(parts: list[Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        properties = {**merged.get("properties", {}), **part.get("properties", {})}
        required = [*merged.get("required", []), *part.get("required", [])]
        merged = {**merged, **part, "properties": properties, "required": required}
    return merged


def _best(choices: list[Any]) -> Any:
    by_name = {str(choice).lower(): choice for choice in reversed(choices)}
    return next((by_name[word] for word in _BEST if word in by_name), choices[0])


def _number(schema: Mapping[str, Any], name: str) -> int | float:
    default = schema.get("default")
    if isinstance(default, int | float) and not isinstance(default, bool):
        return default
    wish = 0
    if words(name) & _TIMES:
        text = f"{name} {schema.get('description', '')}".lower()
        wish = _TIMEOUT_S * (1000 if "ms" in words(name) or "millisecond" in text else 1)
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and (told := _RANGE.search(str(schema.get("description", "")))):
        low = int(told[1])
    above = schema.get("exclusiveMinimum")
    if isinstance(above, int | float) and not isinstance(above, bool):
        low = max(above + 1, low) if isinstance(low, int | float) else above + 1
    value = max(wish, low) if isinstance(low, int | float) else wish
    return min(value, high) if isinstance(high, int | float) else value
