"""The base of strict models with nested and tagged parts, and its complaints: where a mistake is, and what to do.

Knows neither manifests nor scenarios: a model passes itself.
"""

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Strict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from benchflow.errors import InputError

Number = Annotated[float, Strict()]
Whole = Annotated[int, Strict()]

_QUOTE = "'"
_TOML_NAMES = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}
_SHOULD_BE = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "path_type": "text",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


class StrictModel(BaseModel):
    """A frozen model that refuses keys it does not know, naming the nearest one that it does."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _keys_are_known(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key in data:
                if key not in cls.model_fields:
                    raise wrong(f"unknown key `{key}`; {suggest(key, cls.model_fields)}")
        return data


Model = TypeVar("Model", bound=BaseModel)


def parse(model: type[Model], data: dict[str, Any], source: Path | str) -> Model:
    """Make a model of the table read from `source`. Raise InputError that names the file, the key and the remedy."""
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        found = exc.errors(include_url=False)
        problems = [_describe(error, data) for error in found if not _follows(error, found)]
        raise InputError(f"{source}: " + "\n  ".join(problems)) from exc


def wrong(text: str) -> PydanticCustomError:
    """Return the error for a value that a model's own validator refuses, in our words."""
    return PydanticCustomError("wrong", "{text}", {"text": text})


def suggest(given: str, known: Iterable[str]) -> str:
    """Return the nearest of the known names as advice, or all of them where none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(given, names, n=3, cutoff=0.6)
    if near:
        return "did you mean " + " or ".join(f"`{name}`" for name in near) + "?"
    return "valid are " + ", ".join(names) if names else "there are none"


def _follows(error: ErrorDetails, others: list[ErrorDetails]) -> bool:
    """Tell whether a list is only too short because what is in it was refused."""
    depth = len(error["loc"])
    return error["type"] == "too_short" and any(
        other["loc"][:depth] == error["loc"] and len(other["loc"]) > depth for other in others
    )


def _describe(error: ErrorDetails, data: dict[str, Any]) -> str:
    kind, place = error["type"], _place(error["loc"], data)
    context = error.get("ctx", {})
    if kind == "missing":
        return f"{place}: is missing; add it"
    if kind == "union_tag_not_found":
        return f"{place}.{context['discriminator'].strip(_QUOTE)}: is missing; add it"
    if kind == "union_tag_invalid":
        key, tag = context["discriminator"].strip(_QUOTE), context["tag"]
        known = [name.strip(" '") for name in context["expected_tags"].split(",")]
        return f"{place}: unknown {key} `{tag}`; {suggest(tag, known)}"
    if kind == "wrong":
        return f"{place}: {error['msg']}" if place else error["msg"]
    if kind == "too_short":
        return f"{place}: needs at least one"
    if kind in _SHOULD_BE:
        return f"{place}: must be {_SHOULD_BE[kind]}, not {_TOML_NAMES.get(type(error['input']), 'this')}"
    if kind == "literal_error":
        return f"{place}: must be {context['expected']}, not {error['input']!r}"
    return f"{place}: {error['msg'][:1].lower()}{error['msg'][1:]} (it is {error['input']!r})"


def _place(location: tuple[int | str, ...], data: Any) -> str:
    """Write a location as a person would: `checks[2].path`, counted from 1, without the tags of unions in it."""
    text, node = "", data
    for part in location:
        if isinstance(part, int):
            text += f"[{part + 1}]"
            node = node[part] if isinstance(node, list) and part < len(node) else None
        elif part != "[key]" and not _is_tag(part, node):
            text += f".{part}" if text else part
            node = node.get(part) if isinstance(node, dict) else None
    return text


def _is_tag(part: str, node: Any) -> bool:
    """Tell whether a part of a location is the kind of a table, which pydantic puts there beside the keys."""
    return " " in part or (isinstance(node, dict) and part not in node and node.get("kind") == part)
