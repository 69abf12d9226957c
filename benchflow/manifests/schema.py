"""The JSON Schemas of `manifest.toml` and `entry.toml`, made of the models that the loader itself uses.

A document that a schema accepts, the loader accepts, and the other way round. Two things no schema can say: that a text
is a regular expression of Python's (`format: regex` comes near), and that the folder of `source` is there. JSON's null
is in neither, as TOML has none.
"""

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from benchflow.installing.versions import PATTERN as CONSTRAINT
from benchflow.manifest import CONTRACT, ManifestFields, Quirks, Runtimes, Since
from benchflow.manifests.backend import Backend
from benchflow.manifests.bridge import BridgeTable
from benchflow.manifests.levels import EntryFields
from benchflow.strict import table_model

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MAJOR, _MINOR = CONTRACT
_KNOWN_MINOR = rf"^0*{_MAJOR}\.0*({'|'.join(map(str, range(_MINOR + 1)))})(\.[0-9]+)?$"
_BELOW_HOME = r"^(?!/)(?!(\./*)*\.?$)(?!([\s\S]*/)?\.\.(/|$))[\s\S]+$"
"""A relative path that stays below the folder it starts from, and is not that folder."""
_IN_HOME = r"^(?![/~$])(?!(\./*)*\.?$)(?!([\s\S]*/)?\.\.(/|$))[\s\S]+$"
"""As before, and nothing that a shell would put something in front of."""
_LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_PORT = "(?!0+$)([0-9]{1,4}|[0-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_HOST = rf"^(\*\.({_LABEL}\.)+{_LABEL}|({_LABEL}\.)*{_LABEL}|\[[0-9A-Fa-f:.]+\])(:{_PORT})?$"

_FORMS: Mapping[tuple[type[BaseModel], str], Mapping[str, Any]] = {
    (ManifestFields, "contract_version"): {"pattern": rf"^0*{_MAJOR}\.[0-9]+(\.[0-9]+)?$"},
    (ManifestFields, "home_files"): {"propertyNames": {"pattern": _BELOW_HOME}},
    (Backend, "hosts"): {"items": {"type": "string", "pattern": _HOST}},
    (Backend, "files"): {"items": {"type": "string", "pattern": _IN_HOME}},
    (BridgeTable, "root"): {"pattern": _IN_HOME},
    (Quirks, "auxiliary"): {"items": {"type": "string", "format": "regex"}},
    (Runtimes, "python"): {"pattern": CONSTRAINT},
    (Runtimes, "node"): {"pattern": CONSTRAINT},
}
"""What validators of ours demand beyond a field's type."""


def manifest_schema() -> dict[str, Any]:
    """Return the schema of `manifest.toml`.

    Unknown keys are refused where the manifest is of a contract that is known here; of a newer minor they are allowed,
    because the loader ignores them.
    """
    tables = _tables(ManifestFields)
    names = {"propertyNames": {"enum": list(ManifestFields.model_fields)}}
    inside = {key: {"propertyNames": {"enum": list(model.model_fields)}} for key, model in tables.items()}
    return {
        **_document(ManifestFields, f"BenchFlow agent manifest, contract {_MAJOR}.{_MINOR}"),
        "if": {"properties": {"contract_version": {"pattern": _KNOWN_MINOR}}, "required": ["contract_version"]},
        "then": {**names, "properties": inside},
    }


def entry_schema() -> dict[str, Any]:
    """Return the schema of `entry.toml`."""
    return {**_document(EntryFields, "BenchFlow entry of an agent without a manifest"), "additionalProperties": False}


def _document(model: type[BaseModel], title: str) -> dict[str, Any]:
    return {"$schema": _DIALECT, "title": title, **_table(model, model.model_json_schema())}


def _tables(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Return the fields that are tables of their own."""
    found = {name: table_model(field.annotation) for name, field in model.model_fields.items()}
    return {name: table for name, table in found.items() if table}


def _table(model: type[BaseModel], generated: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of one table, its inner tables in place, with the docstrings of its fields."""
    said = _docstrings(model)
    inner = _tables(model)
    properties: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in inner:
            properties[name] = _table(inner[name], inner[name].model_json_schema())
        else:
            properties[name] = _plain(generated["properties"][name])
        properties[name] |= _FORMS.get((model, name), {})
        since = next((f"{_MAJOR}.{mark.minor}" for mark in field.metadata if isinstance(mark, Since)), None)
        notes = [said.get(name) or properties[name].get("description"), f"Since contract {since}." if since else None]
        if described := " ".join(note for note in notes if note):
            properties[name]["description"] = described.replace("None:", "absent:")
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    schema = {"type": "object", "description": inspect.getdoc(model), "properties": properties}
    return schema | ({"required": required} if required else {})


def _plain(schema: Any) -> Any:
    """Return pydantic's schema of a field in fewer words: without titles, without null, which TOML does not have."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    choices = [part for part in schema.get("anyOf", []) if part != {"type": "null"}]
    if len(choices) == 1:
        schema = {**choices[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    dropped = {"title", "format", "description"} | ({"default"} if schema.get("default", ...) is None else set())
    kept = {key: _plain(value) for key, value in schema.items() if key not in dropped}
    if "ge" in kept:
        kept["minimum"] = kept.pop("ge")
    return kept


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return what the source says under each field."""
    body = ast.parse(inspect.getsource(model)).body[0]
    assert isinstance(body, ast.ClassDef)
    said: dict[str, str] = {}
    for field, under in zip(body.body, body.body[1:], strict=False):
        match field, under:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                said[name] = " ".join(text.split())
    return said
