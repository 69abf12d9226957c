import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from benchflow import __version__
from benchflow.cli.agents import app
from benchflow.errors import InputError
from benchflow.manifest import load_manifest
from benchflow.registry import built_in_folder

BUILT_IN = sorted(built_in_folder().glob("*/manifest.toml"))


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    for name in ("one", "two"):
        (folder / name).mkdir(parents=True)
        (folder / name / "manifest.toml").write_text(
            f'contract_version = "1.1"\nname = "{name}"\ninstall_cmd = "make {name}"\nlaunch_cmd = "run"\n'
            'description = "An agent\\u001b[31m."\nclaimed_tier = "wired"\nversion = "1.0"\n'
            'home_files = { ".one" = "text" }\n'
        )
    (folder / "locked").mkdir()
    (folder / "locked" / "entry.toml").write_text(
        'name = "locked"\nclaimed_tier = "vendor-locked"\nreason = "No key."\nnext_step = "Ask."\n'
    )
    (folder / "broken").mkdir()
    (folder / "broken" / "manifest.toml").write_text("name = \n")
    return folder


def run(tmp_path: Path, *arguments: str) -> Result:
    environ = {"BENCHFLOW_HOME": str(tmp_path / "home"), "COLUMNS": "80", "NO_COLOR": "1"}
    return CliRunner().invoke(app, list(arguments), env=environ)


@pytest.mark.parametrize("path", BUILT_IN, ids=lambda path: path.parent.name)
def test_built_in_manifest_is_sound(path: Path) -> None:
    manifest = load_manifest(path)

    assert manifest.name == path.parent.name
    assert manifest.warnings == ()
    assert manifest.description
    assert manifest.maintained_by == "benchflow"


def test_version_of_mini_is_ours() -> None:
    assert load_manifest(built_in_folder() / "mini").version == __version__


def test_no_agent_is_named_outside_of_the_agents_own_folders() -> None:
    names = {path.parent.name for path in BUILT_IN} - {"mini", "fake"}
    package = built_in_folder().parent / "benchflow"
    files = [path for path in package.rglob("*.py") if "agents" not in path.parent.parts]

    found = [(path.name, name) for path in files for name in names if f'"{name}' in path.read_text()]

    assert found == []


def test_list_shows_every_agent_and_reports_what_cannot_be_read(tmp_path: Path, agents: Path) -> None:
    result = run(tmp_path, "--agents-dir", str(agents), "--json")

    listed = {agent["name"]: agent for agent in json.loads(result.stdout)}
    assert {"one", "two", "locked", "mini"} <= listed.keys()
    assert {key: listed["one"][key] for key in ("tier", "claimed_tier", "measured", "agent_version", "version")} == {
        "tier": "unmeasured",
        "claimed_tier": "wired",
        "measured": None,
        "agent_version": None,
        "version": "1.0",
    }
    assert listed["one"]["path"] == str(agents / "one" / "manifest.toml")
    assert (listed["locked"]["runs"], listed["locked"]["next_step"]) == (False, "Ask.")
    assert f"warning: {agents}/broken/manifest.toml" in result.stderr
    assert result.exit_code == 0


def test_table_keeps_to_the_width_and_shows_no_escape(tmp_path: Path, agents: Path) -> None:
    result = run(tmp_path, "list", "--agents-dir", str(agents))

    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "\x1b" not in result.stdout
    assert "cannot be run: No key." in " ".join(result.stdout.split())


def test_show_tells_how_an_agent_is_installed_and_started(tmp_path: Path, agents: Path) -> None:
    result = run(tmp_path, "show", "one", "--agents-dir", str(agents))

    for part in ("An agent.", "make one", ".one = text", "tier: unmeasured (claims wired)", "installed: no"):
        assert part in result.stdout
    entry = run(tmp_path, "show", "locked", "--agents-dir", str(agents))
    assert "cannot be run: No key." in entry.stdout


def test_show_in_json_has_the_whole_manifest(tmp_path: Path, agents: Path) -> None:
    result = run(tmp_path, "show", "one@1.0", "--json", "--agents-dir", str(agents))

    shown = json.loads(result.stdout)
    assert shown["manifest"]["launch_cmd"] == "run"
    assert shown["installed"] is None


def test_unknown_agent_is_an_input_error(tmp_path: Path) -> None:
    assert isinstance(run(tmp_path, "show", "nobody").exception, InputError)
