import json
import re
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from benchflow import __version__
from benchflow.cli.agents import app
from benchflow.errors import InputError
from benchflow.evidence import Evidence, Machine, write_evidence
from benchflow.manifest import Manifest, load_manifest
from benchflow.manifests.levels import Entry, FolderLevel
from benchflow.manifests.shipped import shipped_agents
from benchflow.registry import Registry, built_in_folder

ENTRIES = sorted(built_in_folder().glob("*/entry.toml"))
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


def run(tmp_path: Path, *arguments: str, columns: int = 80) -> Result:
    environ = {"BENCHFLOW_HOME": str(tmp_path / "home"), "COLUMNS": str(columns), "NO_COLOR": "1"}
    return CliRunner().invoke(app, list(arguments), env=environ)


@pytest.mark.parametrize("path", BUILT_IN, ids=lambda path: path.parent.name)
def test_built_in_manifest_is_sound(path: Path) -> None:
    manifest = load_manifest(path)

    assert manifest.name == path.parent.name
    assert manifest.warnings == ()
    assert manifest.description
    assert manifest.maintained_by in ("benchflow", None)


def test_version_of_mini_is_ours() -> None:
    assert load_manifest(built_in_folder() / "mini").version == __version__


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: path.parent.name)
def test_built_in_entry_says_what_was_found_and_what_comes_next(path: Path) -> None:
    entry = Registry([FolderLevel(origin="test", folder=path.parent.parent)], path).look_up(path.parent.name)

    assert isinstance(entry, Entry)
    assert entry.name == path.parent.name
    assert all((entry.description, entry.homepage, entry.distribution))
    assert all(text.endswith(".") for text in (entry.reason, entry.next_step))


def test_agents_that_entries_name_instead_can_be_run() -> None:
    agents = {agent.name: agent for agent in shipped_agents()}

    named = {agent.instead for agent in agents.values() if isinstance(agent, Entry) and agent.instead}

    assert {name for name in named if not isinstance(agents.get(name), Manifest)} == set()


def test_no_two_built_in_agents_claim_a_name() -> None:
    claimed = Counter(name for agent in shipped_agents() for name in {agent.name, *agent.aliases})

    assert {name: times for name, times in claimed.items() if times > 1} == {}


def test_there_are_at_least_forty_agents() -> None:
    assert len(shipped_agents()) >= 40


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
    assert "No key." in result.stdout
    assert re.search(r"^[0-9]+ agents: ", result.stdout, re.MULTILINE)


def test_table_says_where_and_when_on_a_wide_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    (folder / "one").mkdir(parents=True)
    (folder / "one" / "manifest.toml").write_text(
        'contract_version = "1.1"\nname = "one"\ninstall_cmd = "true"\nlaunch_cmd = "run"\nclaimed_tier = "wired"\n'
    )
    manifest = load_manifest(folder / "one")
    machine = Machine(system="Linux x86_64", python="3.12", sandbox="process")
    evidence = Evidence(
        agent="one",
        manifest_digest=manifest.digest,
        agent_version="4.5.6",
        benchflow_version="0",
        measured="2026-11-05T12:00:00Z",
        machine=machine,
        network="gateway",
        steps=(),
    )
    write_evidence(folder / "one" / "evidence.json", evidence)

    fresh = run(tmp_path, "--agents-dir", str(folder), columns=130).stdout
    with (folder / "one" / "manifest.toml").open("a") as file:
        file.write('description = "Changed."\n')
    stale = run(tmp_path, "--agents-dir", str(folder), columns=130).stdout

    row = next(line.split() for line in fresh.splitlines() if line.startswith("one "))
    assert row[:8] == ["one", "unmeasured", "wired", "2026-11-05", "Linux", "x86_64,", "process", "4.5.6"]
    assert "stale: measured before" in next(line for line in stale.splitlines() if line.startswith("one "))


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
