import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell
from uv import find_uv_bin

from benchflow.authoring.scaffold_agent import make_agent
from benchflow.errors import InputError
from benchflow.manifest import Manifest
from benchflow.registry import Registry

REGISTER = """\
from pathlib import Path
from benchflow.registry import register_agent
"""


def build_wheel(package: Path, wheels: Path, entry_point: str) -> Path:
    """Build a wheel of a folder of Python files, with an entry point of ours."""
    name, version = package.name, "1.0"
    info = f"{name}-{version}.dist-info"
    wheel = wheels / f"{name}-{version}-py3-none-any.whl"
    texts = {f"{name}/{file.name}": file.read_text() for file in package.iterdir()}
    texts[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    texts[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    texts[f"{info}/entry_points.txt"] = f"[benchflow.agents]\n{entry_point}\n"
    texts[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*texts, f"{info}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in texts.items():
            archive.writestr(path, text)
    return wheel


def install(wheel: Path, target: Path) -> None:
    """Install a wheel, as any user would, but into a folder."""
    command = [
        find_uv_bin(),
        "pip",
        "install",
        "--quiet",
        "--offline",
        "--no-deps",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(command, check=True)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


def test_agent_of_an_installed_package_is_listed_run_and_measured(shell: Shell) -> None:
    made = make_agent("packaged", "python", shell.folder / "src")
    package = made.rename(made.with_name("packaged_agent"))
    install(build_wheel(package, shell.folder, "packaged = packaged_agent.register"), shell.folder / "site")
    environ = {"PYTHONPATH": str(shell.folder / "site")}

    def ask(*words: str) -> Any:
        ended = shell.run(*words, "--json", environ=environ)
        assert ended.stdout, ended.stderr
        return json.loads(ended.stdout)

    before = [agent["tier"] for agent in ask("agents") if agent["name"] == "packaged"]
    (row,) = ask("run", "packaged", "./tiny")["rows"]
    measured = ask("register", "packaged")
    after = [agent["tier"] for agent in ask("agents") if agent["name"] == "packaged"]
    (measured_row,) = ask("run", "packaged", "./tiny")["rows"]

    assert (before, after, measured["tier"]) == (["unmeasured"], ["wired"], "wired")
    assert (row["success"], row["agent_version"]) == (True, "0.1.0")
    assert (measured_row["tier"], measured_row["agent_digest"]) == ("wired", row["agent_digest"])
    assert Path(measured["evidence_path"]).is_relative_to(shell.folder / "home" / "evidence")


def find(tmp_path: Path, text: str) -> Manifest:
    return Registry.open(environ={"BENCHFLOW_HOME": str(tmp_path / "home")}).find(text)


def write(folder: Path, code: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "register.py"
    file.write_text(REGISTER + code)
    return file


def test_documented_call_is_taken_by_path_with_its_files(tmp_path: Path) -> None:
    file = write(
        tmp_path / "mine",
        'register_agent("mine", install_cmd="true", launch_cmd="run", protocol="acp", requires_env=[],\n'
        '    api_protocol="openai-completions", env_mapping={"BENCHFLOW_PROVIDER_MODEL": "MODEL"},\n'
        '    acp_model_format="bare", files={"a/b.txt": "text", "c": Path(__file__)}, variants=["slow"])\n',
    )

    by_folder, by_file = find(tmp_path, str(file.parent)), find(tmp_path, str(file))
    by_folder.copy_into(tmp_path / "install")

    assert by_folder.digest == by_file.digest
    assert (by_folder.name, by_folder.api_protocol, by_folder.origin) == ("mine", "openai-completions", str(file))
    assert find(tmp_path, f"{file.parent}:slow").label == "mine:slow"
    assert (tmp_path / "install" / "a" / "b.txt").read_text() == "text"
    assert (tmp_path / "install" / "c").read_text() == file.read_text()


def test_code_of_a_path_is_known_by_no_name(tmp_path: Path) -> None:
    write(tmp_path / "mine", 'register_agent("mine", "true", "one")\n')
    write(tmp_path / "other", 'register_agent("mine", "true", "two")\n')

    launched = [find(tmp_path, str(tmp_path / folder)).launch_cmd for folder in ("mine", "other", "mine")]

    assert launched == ["one", "two", "one"]
    with pytest.raises(InputError, match="unknown agent 'mine'"):
        find(tmp_path, "mine")


def test_manifest_beside_code_is_what_counts(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", 'register_agent("coded", "true", "run")\n').parent
    (folder / "manifest.toml").write_text(
        'contract_version = "1.1"\nname = "data"\ninstall_cmd = "true"\nlaunch_cmd = "run"\n'
    )

    assert find(tmp_path, str(folder)).name == "data"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "should register one agent .* and registers none"),
        ('register_agent("a", "true", "run")\nregister_agent("b", "true", "run")\n', "registers a, b"),
        ("import nowhere_to_be_found\n", "ModuleNotFoundError: .*nowhere_to_be_found"),
        ('register_agent("a")\n', "TypeError: .*install_cmd"),
        ('register_agent("a", "true", "run", launch="x")\n', "unknown key `launch`"),
        ('register_agent("a", "true", "run", files={"../x": ""})\n', "outside of the agent's folder"),
        ('register_agent("a", "true", "run", files={"x": Path("/nowhere/at/all")})\n', "FileNotFoundError"),
        ("this is no Python\n", "SyntaxError"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ],
)
def test_code_that_is_wrong_is_an_error_that_names_the_file(tmp_path: Path, code: str, message: str) -> None:
    file = write(tmp_path / "mine", code)

    with pytest.raises(InputError, match=message) as caught:
        find(tmp_path, str(file))

    assert str(file) in str(caught.value)


def test_registering_code_keeps_all_that_it_says(shell: Shell) -> None:
    made = make_agent("whole", "python", shell.folder)
    text = (made / "register.py").read_text()
    fields = 'home_files={".rc": "a = 1\\n"}, env={"A-B": "x"}, quirks={"auxiliary": ["^title"]}, aliases=["entire"],\n'
    (made / "register.py").write_text(text.replace('version="0.1.0",', f'version="0.1.0", {fields}'))

    ended = shell.run("register", "./whole", "--json")
    stored = find(shell.folder, "entire")
    coded = find(shell.folder, str(made))

    assert ended.returncode == 0, ended.stderr
    assert stored.path == shell.folder / "home" / "agents" / "whole" / "manifest.toml"
    known = set(type(stored).model_fields) - {"digest", "path", "origin", "files", "local_evidence"}
    assert stored.model_dump(include=known) == coded.model_dump(include=known)
    assert stored.path
    assert (stored.path.parent / "server.py").read_text() == (made / "server.py").read_text()


def test_register_refuses_code_that_takes_anothers_name(shell: Shell) -> None:
    shell.write("taken/register.py", REGISTER + 'register_agent("mini", "true", "run")\n')

    ended = shell.run("register", "./taken")

    assert ended.returncode == 2
    assert "the name 'mini' is taken" in ended.stderr
