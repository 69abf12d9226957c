from pathlib import Path

import pytest

from benchflow.errors import InputError
from benchflow.manifests.levels import Entry
from benchflow.manifests.unregistered import manifest_of_command
from benchflow.registry import Registry, register_agent


def put(folder: Path, name: str, *lines: str, in_folder: str | None = None) -> Path:
    path = folder / (in_folder or name) / "manifest.toml"
    path.parent.mkdir(parents=True)
    commands = ['contract_version = "1.1"', f'name = "{name}"', 'install_cmd = "true"', 'launch_cmd = "run"']
    path.write_text("\n".join([*commands, *lines]))
    return path


def put_entry(folder: Path, name: str) -> Path:
    path = folder / name / "entry.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'name = "{name}"\nclaimed_tier = "vendor-locked"\nreason = "It logs in at its vendor alone."\n'
        'next_step = "Ask the vendor for a key."\n'
    )
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def open_registry(home: Path, agents_dir: Path | None = None, **environ: str) -> Registry:
    return Registry.open(agents_dir=agents_dir, environ={"BENCHFLOW_HOME": str(home), **environ})


def test_names_are_looked_up_in_order(tmp_path: Path, home: Path) -> None:
    first, second, third = tmp_path / "option", tmp_path / "environment", home / "agents"
    for folder, names in ((first, "a"), (second, "ab"), (third, "abc")):
        for name in names:
            put(folder, name)
    registry = open_registry(home, first, BENCHFLOW_AGENTS_DIR=str(second))

    found = {name: registry.find(name) for name in "abc"}

    assert {name: manifest.path for name, manifest in found.items()} == {
        "a": first / "a" / "manifest.toml",
        "b": second / "b" / "manifest.toml",
        "c": third / "c" / "manifest.toml",
    }
    assert [found[name].origin for name in "abc"] == ["--agents-dir", "$BENCHFLOW_AGENTS_DIR", "user"]


def test_built_in_agents_are_found(home: Path) -> None:
    manifest = open_registry(home).find("mini")

    assert (manifest.name, manifest.origin, manifest.warnings) == ("mini", "built-in", ())


def test_alias_version_variant_and_path(tmp_path: Path, home: Path) -> None:
    path = put(tmp_path, "agent", 'version = "1.2"', 'aliases = ["agent", "other"]', 'variants = ["slow"]')
    registry = open_registry(home, tmp_path)

    labels = [registry.find(text).label for text in ("agent", "other", "agent@1.2", "agent:slow", "other@1.2:slow")]
    by_path = [registry.find(text).label for text in (str(path), str(path.parent), f"{path.parent}:slow")]

    assert labels == ["agent", "agent", "agent", "agent:slow", "agent:slow"]
    assert by_path == ["agent", "agent", "agent:slow"]


def test_name_that_holds_the_separators_is_found_as_it_is(tmp_path: Path, home: Path) -> None:
    put(tmp_path, "odd@name:here", in_folder="odd")

    assert open_registry(home, tmp_path).find("odd@name:here").name == "odd@name:here"


def test_version_that_is_not_there_names_those_that_are(tmp_path: Path, home: Path) -> None:
    put(tmp_path, "agent", 'version = "1.2"')
    put(home / "agents", "agent", 'version = "1.3"')
    registry = open_registry(home, tmp_path)

    assert registry.find("agent@1.3").origin == "user"
    with pytest.raises(InputError, match=r"only 1\.2 .*1\.3"):
        registry.find("agent@2")


@pytest.mark.parametrize("lines", [(), ('aliases = ["agent"]',)])
def test_name_claimed_twice_is_an_error_that_shows_both(tmp_path: Path, home: Path, lines: tuple[str, ...]) -> None:
    one = put(tmp_path, "agent", in_folder="one")
    two = put(tmp_path, "other" if lines else "agent", *lines, in_folder="two")
    registry = open_registry(home, tmp_path)

    with pytest.raises(InputError) as caught:
        registry.find("agent")

    assert str(one) in str(caught.value)
    assert str(two) in str(caught.value)
    assert [problem for problem in registry.listing().problems if "claimed twice" in problem]


def test_unknown_name_is_an_error_with_the_nearest_names(tmp_path: Path, home: Path) -> None:
    put(tmp_path, "some-agent")
    registry = open_registry(home, tmp_path)

    with pytest.raises(InputError, match=r"unknown agent 'sme-agent'; did you mean some-agent"):
        registry.find("sme-agent")
    with pytest.raises(InputError, match="--command"):
        registry.find("python -c pass")
    with pytest.raises(InputError, match="no such manifest"):
        registry.find("./nowhere")


def test_named_folder_that_does_not_exist_is_an_error(tmp_path: Path, home: Path) -> None:
    with pytest.raises(InputError, match=r"--agents-dir: there is no folder"):
        open_registry(home, tmp_path / "nowhere")


def test_broken_manifest_stops_only_who_asks_for_it(tmp_path: Path, home: Path) -> None:
    put(tmp_path, "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "manifest.toml").write_text("name = 'good'\nlaunch_cmd = \n")
    put(tmp_path, "wrong", "shiny = 1")
    registry = open_registry(home, tmp_path)

    assert registry.find("good").name == "good"
    with pytest.raises(InputError, match=r"bad/manifest\.toml.*line 2"):
        registry.find("bad")
    with pytest.raises(InputError, match=r"wrong/manifest\.toml.*`shiny`"):
        registry.find("wrong")
    listing = registry.listing()
    assert "good" in [agent.name for agent in listing.agents]
    assert len([problem for problem in listing.problems if str(tmp_path) in problem]) == 2


def test_broken_manifest_does_not_let_another_of_its_name_run_instead(tmp_path: Path, home: Path) -> None:
    (tmp_path / "mini").mkdir()
    (tmp_path / "mini" / "manifest.toml").write_text("name = 'mini\n")

    with pytest.raises(InputError, match=str(tmp_path)):
        open_registry(home, tmp_path).find("mini")


def test_entry_is_listed_but_not_run(tmp_path: Path, home: Path) -> None:
    put_entry(tmp_path, "locked")
    registry = open_registry(home, tmp_path)

    assert isinstance(registry.look_up("locked"), Entry)
    assert "locked" in [agent.name for agent in registry.listing().agents]
    with pytest.raises(InputError, match=r"It logs in at its vendor alone\. .*Ask the vendor for a key\."):
        registry.find("locked")


def test_entry_names_the_agent_to_use_instead(tmp_path: Path, home: Path) -> None:
    path = put_entry(tmp_path, "needs-port")
    path.write_text(
        'name = "needs-port"\nclaimed_tier = "catalog"\nreason = "It needs a port of its sandbox to be exposed."\n'
        'next_step = "Ask its makers for stdio."\ninstead = "mini"\n'
    )

    with pytest.raises(InputError, match=r"needs a port of its sandbox to be exposed\. Use mini instead\."):
        open_registry(home, tmp_path).find("needs-port")


def test_agent_registered_by_code_is_found_with_its_files(tmp_path: Path, home: Path) -> None:
    (tmp_path / "server.mjs").write_text("// server\n")

    made = register_agent(
        "by-code",
        install_cmd="true",
        launch_cmd="node server.mjs",
        protocol="acp",
        api_protocol="openai-completions",
        env_mapping={"BENCHFLOW_PROVIDER_BASE_URL": "OPENAI_BASE_URL"},
        acp_model_format="bare",
        requires_env=[],
        files={"server.mjs": tmp_path / "server.mjs", "lib/a.mjs": "1\n"},
        aliases=["coded"],
    )
    made.copy_into(tmp_path / "install")

    assert open_registry(home).find("coded").digest == made.digest
    assert (tmp_path / "install" / "server.mjs").read_text() == "// server\n"
    assert (tmp_path / "install" / "lib" / "a.mjs").read_text() == "1\n"


def test_code_that_registers_a_taken_name_is_refused() -> None:
    register_agent("taken", "true", "one")

    assert register_agent("taken", "true", "one").name == "taken"
    with pytest.raises(InputError, match="'taken' is claimed twice"):
        register_agent("taken", "true", "two")
    with pytest.raises(InputError, match="acp_model_format"):
        register_agent("odd", "true", "run", acp_model_format="odd")


def test_entry_points_bring_agents_and_a_broken_one_takes_none_away(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[benchflow.agents]\nmodule = plugged_module\ncallable = plugged_callable:register\nbroken = plugged_broken\n"
    )
    call = "register_agent({name!r}, install_cmd='true', launch_cmd='run')\n"
    load = "from benchflow.registry import register_agent\n"
    (tmp_path / "plugged_module.py").write_text(load + call.format(name="plugged-module"))
    (tmp_path / "plugged_callable.py").write_text(load + "def register():\n    " + call.format(name="plugged-callable"))
    (tmp_path / "plugged_broken.py").write_text("import nowhere_to_be_found\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = open_registry(home)

    assert registry.find("plugged-module").origin == "entry point module = plugged_module"
    assert registry.find("plugged-callable").name == "plugged-callable"
    assert registry.find("mini").name == "mini"
    with pytest.raises(InputError, match=r"unknown agent 'plugged'[\s\S]*nowhere_to_be_found"):
        registry.find("plugged")


def test_unregistered_command_names_its_files_absolutely(tmp_path: Path) -> None:
    (tmp_path / "my_agent.py").write_text("one")
    tool = tmp_path / "venv" / "bin" / "python"
    tool.parent.mkdir(parents=True)
    tool.touch(mode=0o755)
    environ = {"PATH": f"{tmp_path}/shims:{tool.parent}"}

    manifest = manifest_of_command("python my_agent.py --acp", cwd=tmp_path, environ=environ)
    (tmp_path / "my_agent.py").write_text("two")
    edited = manifest_of_command("python my_agent.py --acp", cwd=tmp_path, environ=environ)

    assert manifest.launch_cmd == f"python {tmp_path}/my_agent.py --acp"
    assert (manifest.name, manifest.origin) == ("my_agent", "--command")
    assert manifest.programs == (tool, tmp_path / "my_agent.py")
    assert manifest.digest != edited.digest


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python3.12 -m my_agent --acp", "my_agent"),
        ("FOO=1 npx some-agent acp", "some-agent"),
        ("/opt/x/agent.sh", "agent"),
        ("cd x && python -m 'a b'", "cd"),
    ],
)
def test_unregistered_command_has_a_short_name(tmp_path: Path, command: str, name: str) -> None:
    manifest = manifest_of_command(command, cwd=tmp_path, environ={})

    assert manifest.name == name
    if "&&" in command:
        assert manifest.launch_cmd == command


@pytest.mark.parametrize("command", ["", "python 'x"])
def test_unregistered_command_that_is_none_is_an_input_error(tmp_path: Path, command: str) -> None:
    with pytest.raises(InputError, match="--command"):
        manifest_of_command(command, cwd=tmp_path, environ={})
