"""The JSON Schemas accept just what the loader accepts, for files that are right and files that are slightly wrong."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from test_manifest import as_toml
from typer.testing import CliRunner

from benchflow.cli.agents import app
from benchflow.errors import InputError
from benchflow.manifest import CONTRACT, load_manifest
from benchflow.manifests.levels import EntryFields
from benchflow.manifests.schema import entry_schema, manifest_schema
from benchflow.model import parse
from benchflow.registry import built_in_folder

FILES = sorted([*(Path(__file__).parent / "data" / "manifests").glob("*.toml"), *built_in_folder().glob("*/*.toml")])
SCHEMAS = {"manifest": manifest_schema(), "entry": entry_schema()}
NEWER = f"{CONTRACT[0]}.{CONTRACT[1] + 1}"

at_leisure = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Whole files, with texts that regular expressions describe, take their time on a machine that is busy."""


def accepts(kind: str, data: dict[str, Any]) -> bool:
    return Draft202012Validator(SCHEMAS[kind]).is_valid(data)


def loads(kind: str, data: dict[str, Any]) -> bool:
    """Whether the loader takes the file, where the folder that it names as its source is there."""
    if isinstance(data.get("source"), str) and data["source"]:
        data = {**data, "source": "."}
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{kind}.toml"
        path.write_text("".join(f"{as_toml(key)} = {as_toml(value)}\n" for key, value in data.items()), "utf-8")
        try:
            if kind == "manifest":
                load_manifest(path)
            else:
                parse(EntryFields, tomllib.loads(path.read_text("utf-8")), path)
        except InputError:
            return False
    return True


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schema_is_one(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])
    assert "$ref" not in json.dumps(SCHEMAS[kind])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_real_files_are_accepted(path: Path) -> None:
    kind = "entry" if path.stem == "entry" else "manifest"

    errors = [
        error.message for error in Draft202012Validator(SCHEMAS[kind]).iter_errors(tomllib.loads(path.read_text()))
    ]

    assert errors == []


texts = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12)
keys = texts.filter(bool)
forms: dict[str, Callable[[dict[str, Any]], st.SearchStrategy[Any]]] = {
    "string": lambda schema: (
        st.just("a|b")
        if schema.get("format") == "regex"
        else st.from_regex(schema["pattern"], fullmatch=True).map(lambda text: text.strip("\n"))
        if "pattern" in schema
        else st.text(st.characters(codec="utf-8"), min_size=schema.get("minLength", 0), max_size=12)
    ),
    "boolean": lambda _: st.booleans(),
    "integer": lambda schema: st.integers(schema["minimum"], 10**9) | st.integers(schema["minimum"], 10**9).map(float),
    "array": lambda schema: st.lists(values(schema["items"]), max_size=3),
}


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Generate what a schema of ours allows, by its own words."""
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    if schema["type"] != "object":
        return forms[schema["type"]](schema)
    if "properties" not in schema:
        names = values({"type": "string", **schema["propertyNames"]}) if "propertyNames" in schema else keys
        return st.dictionaries(names, values(schema["additionalProperties"]), max_size=3)
    parts = {name: values(part) for name, part in schema["properties"].items()}
    required = schema.get("required", [])
    chosen = st.lists(st.sampled_from(sorted(parts)), max_size=4)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: parts[name] for name in {*required, *names}}))


anything = st.recursive(
    st.booleans()
    | st.integers(-3, 10)
    | st.floats(-3, 10)
    | texts
    | st.sampled_from(["1.0", NEWER, "../up", ">=3", "("]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def broken(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Generate a file that is right but for one place, where a value is another, lacks, or has a key too many."""
    data = draw(values(SCHEMAS[kind]))
    table, name = data, draw(st.sampled_from(sorted(data)))
    if isinstance(table[name], dict) and table[name] and draw(st.booleans()):
        table, name = table[name], draw(st.sampled_from(sorted(table[name])))
    match draw(st.sampled_from(["other", "missing", "more", "newer"])):
        case "other":
            table[name] = draw(anything)
        case "missing":
            del table[name]
        case "more":
            table[draw(keys)] = draw(anything)
        case "newer" if kind == "manifest":
            data["contract_version"] = NEWER
            table[draw(keys)] = draw(anything)
    return data


@pytest.mark.parametrize("kind", SCHEMAS)
@at_leisure
@given(data=st.data())
def test_what_the_schema_accepts_the_loader_accepts(kind: str, data: st.DataObject) -> None:
    file = data.draw(values(SCHEMAS[kind]))

    assert accepts(kind, file)
    assert loads(kind, file)


@pytest.mark.parametrize("kind", SCHEMAS)
@at_leisure
@given(data=st.data())
def test_schema_and_loader_agree_about_files_that_are_slightly_wrong(kind: str, data: st.DataObject) -> None:
    file = data.draw(broken(kind))

    said = accepts(kind, file) and all(is_regex(text) for text in auxiliary(file))

    assert loads(kind, file) == said


def auxiliary(file: dict[str, Any]) -> list[str]:
    """Return the texts of which the schema can say no more than that they are regular expressions."""
    quirks = file.get("quirks")
    found = quirks.get("auxiliary") if isinstance(quirks, dict) else None
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def is_regex(text: str) -> bool:
    import re

    try:
        re.compile(text)
    except re.error:
        return False
    return True


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({"install_timeout": 900.0}, True),
        ({"install_timeout": 0}, False),
        ({"install_timeout": 1.5}, False),
        ({"install_timeout": True}, False),
        ({"install_timeout": "900"}, False),
        ({"contract_version": "2.0"}, False),
        ({"contract_version": "1"}, False),
        ({"contract_version": "1.0.3"}, True),
        ({"unheard_of": 1}, False),
        ({"unheard_of": 1, "contract_version": NEWER}, True),
        ({"client": {"unheard_of": 1}}, False),
        ({"client": {"unheard_of": 1}, "contract_version": NEWER}, True),
        ({"client": {"fs": "yes"}, "contract_version": NEWER}, False),
        ({"home_files": {"/etc/passwd": ""}}, False),
        ({"home_files": {"a/../../b": ""}}, False),
        ({"home_files": {"./": ""}}, False),
        ({"home_files": {".a/..b/c": ""}}, True),
        ({"runtimes": {"node": ">=22 <25"}}, True),
        ({"runtimes": {"node": "new"}}, False),
        ({"protocol": "a2a"}, False),
        ({"env": {"A": 1}}, False),
        ({"aliases": ["a", 1]}, False),
    ],
)
def test_both_say_the_same_of_known_cases(change: dict[str, Any], right: bool) -> None:
    file = {"contract_version": "1.1", "name": "x", "install_cmd": "true", "launch_cmd": "x", **change}

    assert (accepts("manifest", file), loads("manifest", file)) == (right, right)


def test_command_prints_both_schemas() -> None:
    printed = [json.loads(CliRunner().invoke(app, ["schema", *more]).stdout) for more in ([], ["--entry"])]

    assert printed == [SCHEMAS["manifest"], SCHEMAS["entry"]]
    assert printed[0]["properties"]["variants"]["description"].endswith("Since contract 1.1.")
