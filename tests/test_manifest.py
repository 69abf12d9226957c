import json
import re
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchflow.errors import InputError
from benchflow.manifest import Manifest, load_manifest, manifest_of_code

PUBLIC = sorted((Path(__file__).parent / "data" / "manifests").glob("*.toml"))
MINIMAL = {"contract_version": "1.0", "name": "x", "install_cmd": "true", "launch_cmd": "x --acp"}


def as_toml(value: Any) -> str:
    """Write a value of JSON's kinds as TOML."""
    match value:
        case dict():
            return "{" + ", ".join(f"{as_toml(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(as_toml(item) for item in value) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return json.dumps(value)


def write(folder: Path, fields: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "manifest.toml"
    path.write_text("".join(f"{key} = {as_toml(value)}\n" for key, value in fields.items()), encoding="utf-8")
    return path


def load(folder: Path, **fields: Any) -> Manifest:
    return load_manifest(write(folder, {**MINIMAL, **fields}))


@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.stem)
def test_public_manifest_loads_unchanged(path: Path) -> None:
    import tomllib

    data = tomllib.loads(path.read_text(encoding="utf-8"))

    loaded = load_manifest(path).model_dump(mode="json")

    assert {key: loaded[key] for key in data} == data
    assert loaded["warnings"] == []


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
names = st.text(string.ascii_uppercase + "_", min_size=1, max_size=10)
public_manifests = st.fixed_dictionaries(
    {
        "contract_version": st.from_regex(r"1\.[01](\.[0-9]{1,2})?", fullmatch=True),
        "name": texts,
        "install_cmd": texts,
        "launch_cmd": texts,
    },
    optional={
        "description": st.text(st.characters(codec="utf-8"), max_size=40),
        "protocol": st.just("acp"),
        "api_protocol": texts,
        "install_timeout": st.integers(1, 10**6) | st.integers(1, 10**6).map(float),
        "env_mapping": st.dictionaries(names, texts, max_size=4),
        "acp_model_format": st.sampled_from(["bare", "provider/model", "registered-provider/model"]),
        "supports_acp_set_model": st.booleans(),
        "default_model": texts,
        "skill_paths": st.lists(texts, max_size=3),
        "home_dirs": st.lists(texts, max_size=3),
        "requires_env": st.lists(names, max_size=3),
        "aliases": st.lists(texts, max_size=3),
    },
)


@given(public_manifests)
def test_every_valid_public_manifest_round_trips(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
) -> None:
    loaded = load_manifest(write(tmp_path_factory.mktemp("agent"), data)).model_dump(mode="json")

    assert {key: loaded[key] for key in data} == data


@given(st.dictionaries(names, st.integers() | st.text() | st.booleans() | st.lists(st.integers()), max_size=3))
def test_any_key_of_anything_is_an_input_error(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> None:
    folder = tmp_path_factory.mktemp("agent")
    write(folder, {**MINIMAL, **data})

    if data:
        with pytest.raises(InputError, match=re.escape(str(folder))):
            load_manifest(folder)
    else:
        assert load_manifest(folder).name == "x"


def test_defaults_of_a_minimal_manifest(tmp_path: Path) -> None:
    manifest = load(tmp_path)

    assert manifest.install_timeout == 900
    assert manifest.supports_acp_set_model
    assert (manifest.client.fs, manifest.client.terminal) == (False, False)
    assert manifest.quirks.sends_key
    assert manifest.permissions.auto_approve
    assert (manifest.label, manifest.tier, manifest.warnings) == ("x", "unmeasured", ())


def test_additions_are_read(tmp_path: Path) -> None:
    additions = {
        "contract_version": "1.1",
        "version": "2.0",
        "homepage": "https://example.org",
        "license": "MIT",
        "claimed_tier": "wired",
        "maintained_by": "benchflow",
        "env": {"A": "${BENCHFLOW_PROVIDER_MODEL}"},
        "home_files": {".x/config.json": "{}"},
        "prepare_cmd": "true",
        "client": {"fs": True},
        "permissions": {"allowed_tools": ["read"]},
        "quirks": {"auxiliary": ["^title"], "tools_in_text": True, "sends_key": False},
        "runtimes": {"python": "3.12", "node": ">=22"},
        "variants": ["slow"],
    }

    loaded = load(tmp_path, **additions).model_dump(mode="json", exclude_unset=True)

    assert {key: loaded[key] for key in additions} == additions
    assert loaded["warnings"] == []


def test_addition_in_an_older_contract_is_a_warning_that_says_what_to_write(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, version="1").warnings

    assert "`version`" in warning
    assert 'contract_version = "1.1"' in warning


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"launch_comand": "x"}, ["unknown key `launch_comand`", "`launch_cmd`"]),
        ({"quirks": {"auxilary": []}}, ["unknown key `quirks.auxilary`", "`auxiliary`"]),
        ({"digest": "0"}, ["unknown key `digest`"]),
        ({"install_timeout": 0.5}, ["install_timeout", "whole number", "0.5"]),
        ({"install_timeout": True}, ["install_timeout", "whole number"]),
        ({"install_timeout": "900"}, ["install_timeout", "whole number"]),
        ({"install_timeout": 0}, ["install_timeout"]),
        ({"name": ""}, ["name"]),
        ({"name": 3}, ["name", "text"]),
        ({"protocol": "a2a"}, ["protocol", "'acp'"]),
        ({"acp_model_format": "odd"}, ["acp_model_format", "'odd'"]),
        ({"supports_acp_set_model": 1}, ["supports_acp_set_model"]),
        ({"supports_acp_set_model": "yes"}, ["supports_acp_set_model"]),
        ({"env_mapping": {"A": 1}}, ["env_mapping.A", "text"]),
        ({"aliases": "x"}, ["aliases"]),
        ({"quirks": {"auxiliary": ["("]}}, ["quirks.auxiliary", "regular expression"]),
        ({"claimed_tier": "unmeasured"}, ["claimed_tier"]),
        ({"runtimes": {"node": "latest"}}, ["runtimes.node", "'latest'", ">=22"]),
        ({"home_files": {"../x": ""}}, ["home_files", "'../x'"]),
        ({"home_files": {"/etc/x": ""}}, ["home_files", "'/etc/x'"]),
        ({"source": "nowhere"}, ["source", "nowhere"]),
        ({"contract_version": "2.0"}, ["contract_version", "2.0", "upgrade"]),
        ({"contract_version": "0.9"}, ["contract_version", "0.9", "update the manifest"]),
        ({"contract_version": "1"}, ["contract_version", "'1'"]),
        ({"contract_version": 1.0}, ["contract_version", "1.0"]),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_wrong_manifest_is_an_error_that_names_file_and_key(
    tmp_path: Path, fields: dict[str, Any], said: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, **fields)

    for part in [str(tmp_path / "manifest.toml"), *said]:
        assert part in str(caught.value)


def test_missing_key_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, {key: value for key, value in MINIMAL.items() if key != "launch_cmd"})

    with pytest.raises(InputError, match=r"launch_cmd.* missing"):
        load_manifest(path)


def test_unknown_keys_of_a_newer_minor_are_warnings(tmp_path: Path) -> None:
    manifest = load(tmp_path, contract_version="1.9", shiny=1, client={"fs": True, "camera": True})

    assert manifest.client.fs
    assert [("`shiny`" in text, "`client.camera`" in text) for text in manifest.warnings] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize(
    ("content", "line"),
    [(b'name = "x"\nlaunch_cmd = \n', 2), (b'a = 1\nname = "x\n', 2), (b"a = '''\n\n", 1), (b"a = 1\nb = '\xff'\n", 2)],
)
def test_syntax_error_names_the_line(tmp_path: Path, content: bytes, line: int) -> None:
    path = tmp_path / "manifest.toml"
    path.write_bytes(content)

    with pytest.raises(InputError, match=rf"manifest\.toml: .*line {line}\b"):
        load_manifest(path)


def test_missing_manifest_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"manifest\.toml: there is no such manifest"):
        load_manifest(tmp_path)


def test_digest_changes_with_the_files_beside_but_not_with_notes_of_ours(tmp_path: Path) -> None:
    before = load(tmp_path).digest

    (tmp_path / "evidence.json").write_text("{}")
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "run.json").write_text("{}")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / ".gitignore").write_text("# made by a tool\n*\n")
    with_notes = load(tmp_path).digest
    (tmp_path / "server.py").write_text("print()")
    with_file = load(tmp_path).digest
    (tmp_path / "server.py").chmod(0o755)

    assert with_notes == before
    assert len({before, with_file, load(tmp_path).digest}) == 3


def test_manifest_in_a_huge_folder_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with (tmp_path / "model.bin").open("wb") as file:
        file.truncate(65 * 2**20)

    with pytest.raises(InputError, match="a folder of its own"):
        load(tmp_path)


def test_variant_is_chosen_by_name(tmp_path: Path) -> None:
    manifest = load(tmp_path, variants=["slow", "deaf"])

    assert manifest.with_variant("slow").label == "x:slow"
    with pytest.raises(InputError, match="did you mean `slow`"):
        manifest.with_variant("slwo")


def test_manifest_made_by_code_is_checked_like_a_file() -> None:
    fields = {"name": "made", "install_cmd": "true", "launch_cmd": "x"}

    made = manifest_of_code(fields, origin="here", files={"a/b.py": "1"})
    other = manifest_of_code(fields, origin="here", files={"a/b.py": "2"})

    assert made.digest != other.digest
    with pytest.raises(InputError, match="agent 'made' \\(here\\): unknown key `lunch`"):
        manifest_of_code({**fields, "lunch": 1}, origin="here")
    with pytest.raises(InputError, match="outside"):
        manifest_of_code(fields, origin="here", files={"../b.py": ""})
